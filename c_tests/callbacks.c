/* Callbacks that call the library: calls on the writer that they serve are rejected, all others work. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include <unistd.h>

#include "attributes.h"
#include "writing.h"

/* A sink that keeps the bytes, and first makes forbidden calls. */
typedef struct {
    zt_writer *writer; /* the writer that it serves */
    unsigned char bytes[65536];
    size_t size, calls, refused;
    zt_writer *other; /* another writer that it feeds */
} sink_state;

static zt_status take(void *context, const void *data, size_t n)
{
    sink_state *s = (sink_state *)context;
    const uint64_t one = 1;
    const float x = 1;
    if (s->writer != NULL) { /* not while it is created */
        s->calls++;
        s->refused += zt_write_dense(s->writer, "b", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &one, 1, &x, sizeof x) == ZT_ERROR_STATE;
        s->refused += zt_write_data(s->writer, &x, sizeof x) == ZT_ERROR_STATE;
        s->refused += set_bool(s->writer, NULL, "k", 1) == ZT_ERROR_STATE;
        s->refused += zt_write_finish(s->writer, NULL) == ZT_ERROR_STATE;
        zt_write_abort(s->writer);
    }
    if (s->other != NULL && zt_write_data(s->other, data, n) != ZT_OK)
        return ZT_ERROR_IO;
    if (n > sizeof s->bytes - s->size)
        return ZT_ERROR_IO;
    memcpy(s->bytes + s->size, data, n);
    s->size += n;
    return ZT_OK;
}

static const void *borrowed(const zt_component *c)
{
    const void *bytes = NULL;
    REQUIRE(CHECK_STATUS(zt_component_ptr(c, &bytes, NULL), ZT_OK));
    return bytes;
}

static zt_writer *to_sink(sink_state *s)
{
    zt_sink sink;
    zt_writer *w = NULL;
    memset(s, 0, sizeof *s);
    INIT(sink);
    sink.context = s;
    sink.write = take;
    REQUIRE(CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), ZT_OK));
    return w;
}

static void a_sink_that_uses_its_own_writer(void)
{
    static sink_state s;
    static unsigned char data[20000];
    const uint64_t n = sizeof data;
    zt_file *file = NULL;
    s.writer = NULL;
    {
        zt_writer *w = to_sink(&s);
        s.writer = w;
        fill_any(data, sizeof data, 4);
        CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &n, 1, data, sizeof data), ZT_OK);
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    }
    CHECK(s.calls > 0);
    CHECK_U64(s.refused, 4 * s.calls);
    REQUIRE(CHECK_STATUS(zt_open_memory(s.bytes, s.size, NULL, &file), ZT_OK));
    CHECK_U64(zt_object_count(file), 1);
    CHECK(memcmp(borrowed(component_of(file, "a", "data")), data, sizeof data) == 0);
    zt_close(file);
}

static void a_sink_that_feeds_another_writer(void)
{
    static sink_state inner, outer;
    zt_object_desc object;
    zt_component_desc part;
    const uint64_t four = 4;
    zt_writer *w, *around;
    around = to_sink(&outer);
    w = to_sink(&inner);
    INIT(object);
    object.name = "a file in a file";
    object.format = ZT_FORMAT_OTHER;
    object.format_name = "blob";
    CHECK_STATUS(zt_write_begin(around, &object), ZT_OK);
    INIT(part);
    part.role = "bytes";
    part.dtype = ZT_DTYPE_U8;
    CHECK_STATUS(zt_write_component(around, &part), ZT_OK);
    inner.other = around;
    /* bytes that came before it was set */
    CHECK_STATUS(zt_write_data(around, inner.bytes, inner.size), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &four, 1, "abcd", 4), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK_STATUS(zt_write_end(around), ZT_OK);
    CHECK_STATUS(zt_write_finish(around, NULL), ZT_OK);
    {
        zt_file *file = NULL, *within = NULL;
        const zt_component *c;
        REQUIRE(CHECK_STATUS(zt_open_memory(outer.bytes, outer.size, NULL, &file), ZT_OK));
        c = component_of(file, "a file in a file", "bytes");
        CHECK_U64(measured_size(c), inner.size);
        REQUIRE(CHECK_STATUS(zt_open_memory(borrowed(c), inner.size, NULL, &within), ZT_OK));
        CHECK(zt_object_find(within, "a") != NULL);
        zt_close(within);
        zt_close(file);
    }
}

/* A file. Every function on it may be called from a callback of another function on it. */
typedef struct {
    zt_file *file;
    unsigned long calls, good;
} reader_state;

static void use(reader_state *s)
{
    zt_buffer *buffer = NULL;
    zt_tensor t;
    const zt_object *object = zt_object_find(s->file, "zstd-sha256");
    s->calls++;
    INIT(t);
    if (object != NULL && zt_component_load(zt_component_find(object, "data"), NULL, &buffer) == ZT_OK &&
        zt_tensor_find(s->file, "zstd-sha256", &t) == ZT_OK && verify_component(s->file, zt_component_find(object, "data")) == ZT_OK)
        s->good++;
    zt_buffer_free(buffer);
    zt_close(zt_retain(s->file));
}

static int32_t slow_progress(void *context, uint64_t done, uint64_t total)
{
    const struct timespec millisecond = {0, 1000000};
    (void)done, (void)total;
    nanosleep(&millisecond, NULL);
    use((reader_state *)context);
    return 0;
}

static int32_t verify_again(void *context, uint64_t done, uint64_t total)
{
    reader_state *s = (reader_state *)context;
    (void)done, (void)total;
    s->calls++;
    s->good += zt_verify(s->file, NULL, NULL) == ZT_OK;
    return 0;
}

static void on_done(void *context, uint64_t tag, zt_status status, const char *message)
{
    (void)tag, (void)message;
    if (status == ZT_OK)
        use((reader_state *)context);
}

static void progress_that_reads(void)
{
    reader_state s;
    zt_verify_options v;
    zt_read_options o;
    zt_read_request requests[64];
    static unsigned char buffer[64][4096];
    size_t i, n = 0;
    s.file = open_data("v1.2/py-1.2.3-digests.zt");
    s.calls = s.good = 0;
    INIT(v);
    v.context = &s;
    v.progress = slow_progress;
    CHECK_STATUS(zt_verify(s.file, &v, NULL), ZT_OK);
    v.progress = verify_again;
    v.threads = 2;
    CHECK_STATUS(zt_verify(s.file, &v, NULL), ZT_OK);
    INIT(o);
    o.context = &s;
    o.threads = 2;
    o.progress = slow_progress;
    o.on_done = on_done;
    for (i = 0; i < zt_object_count(s.file) && n < 64; i++) {
        const zt_component *c = zt_component_at(zt_object_at(s.file, i), 0);
        INIT(requests[n]);
        requests[n].component = c;
        requests[n].dst = buffer[n];
        requests[n].dst_size = sizeof buffer[n];
        n++;
    }
    CHECK_STATUS(zt_read_batch(s.file, requests, n, &o, NULL), ZT_OK);
    CHECK(s.calls > 4);
    CHECK_U64(s.good, s.calls);
    zt_close(s.file);
}

/* A source that reads the file that it serves. */
typedef struct {
    unsigned char *bytes;
    size_t size;
    zt_file *file;
    unsigned long depth, calls;
} source_state;

static zt_status source_size(void *context, uint64_t *size)
{
    *size = ((source_state *)context)->size;
    return ZT_OK;
}

static zt_status source_read(void *context, uint64_t offset, void *dst, size_t n)
{
    source_state *s = (source_state *)context;
    if (s->file != NULL && s->depth == 0) {
        zt_tensor t;
        zt_buffer *buffer = NULL;
        s->depth = 1; /* its own reads do not nest deeper */
        s->calls++;
        INIT(t);
        CHECK_STATUS(zt_tensor_find(s->file, "zstd-sha256", &t), ZT_OK);
        CHECK_STATUS(zt_component_load(component_of(s->file, "raw-crc32c", "data"), NULL, &buffer), ZT_OK);
        zt_buffer_free(buffer);
        s->depth = 0;
    }
    memcpy(dst, s->bytes + offset, n);
    return ZT_OK;
}

static void a_source_that_uses_its_own_file(void)
{
    source_state s;
    zt_source source;
    zt_tensor t;
    zt_verify_options v;
    zt_file *file = NULL;
    memset(&s, 0, sizeof s);
    s.bytes = read_file(data_path("v1.2/py-1.2.3-digests.zt"), &s.size);
    INIT(source);
    source.context = &s;
    source.size = source_size;
    source.read_at = source_read;
    REQUIRE(CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK));
    s.file = file;
    INIT(t);
    CHECK_STATUS(zt_tensor_find(file, "zstd-sha256", &t), ZT_OK);
    CHECK_STATUS(zt_tensor_find(file, "raw-crc32c", &t), ZT_OK);
    INIT(v);
    v.threads = 1; /* what the source records is for one thread */
    CHECK_STATUS(zt_verify(file, &v, NULL), ZT_OK);
    CHECK(s.calls > 2);
    zt_close(file);
    free(s.bytes);
}

int main(void)
{
    alarm(60); /* a deadlock would never end */
    a_sink_that_uses_its_own_writer();
    a_sink_that_feeds_another_writer();
    progress_that_reads();
    a_source_that_uses_its_own_file();
    return check_done("callbacks");
}
