/* Chapter "writer": the destination after finish and abort, links and permissions, and the caller's sink. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <sys/stat.h>

#include "attributes.h"
#include "writing.h"

static const uint64_t shape = 1000;
static unsigned char data[1000];

static size_t files_in(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    REQUIRE(d != NULL);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static zt_writer *begun(const char *path, uint32_t durable)
{
    zt_write_options o;
    zt_writer *w = NULL;
    INIT(o);
    o.durable = durable;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    REQUIRE(w != NULL);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data), ZT_OK);
    return w;
}

static void good_file_at(const char *path)
{
    zt_file *file = open_path(path);
    size_t size;
    unsigned char *got = read_component(component_of(file, "x", "data"), &size);
    CHECK(size == sizeof data && memcmp(got, data, size) == 0);
    free(got);
    zt_close(file);
}

static void destination(const char *folder)
{
    const char *path = scratch_path("folder/out.zt"), *link = scratch_path("folder/link.zt");
    zt_writer *w;
    zt_file *old;
    struct stat st;
    uint32_t durable;
    for (durable = 0; durable < 2; durable++) {
        /* A new file appears when it is finished, and no other file is left. */
        w = begun(path, durable);
        CHECK(!file_exists(path));
        zt_write_abort(w);
        CHECK_U64(files_in(folder), 0);
        w = begun(path, durable);
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
        good_file_at(path);
        CHECK_U64(files_in(folder), 1);
        CHECK(remove(path) == 0);
    }
    /* The old file stays until then; readers that have it open keep it. */
    write_file(path, "the old content", 15);
    w = begun(path, 0);
    CHECK(file_is(path, "the old content", 15));
    zt_write_abort(w);
    CHECK(file_is(path, "the old content", 15));
    w = begun(path, 0);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, 1000), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    good_file_at(path);
    old = open_path(path);
    w = begun(path, 0);
    CHECK_STATUS(set_i64(w, NULL, "second", 2), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK(zt_file_attributes(old) == NULL);
    CHECK_STATUS(zt_verify(old, NULL, NULL), ZT_OK);
    zt_close(old);
    old = open_path(path);
    CHECK(zt_file_attributes(old) != NULL);
    zt_close(old);
    /* Permissions are kept. */
    REQUIRE(chmod(path, 0640) == 0);
    w = begun(path, 0);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
    /* A link's target is replaced, and the link stays. */
    REQUIRE(symlink(strrchr(path, '/') + 1, link) == 0);
    w = begun(link, 0);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0640);
    good_file_at(path);
    CHECK_U64(files_in(folder), 2);
    /* A read-only file is rejected, at the start or at the end, and stays. */
    REQUIRE(chmod(path, 0440) == 0);
    w = (zt_writer *)data;
    {
        zt_status status = zt_write_create(path, NULL, &w);
        if (status == ZT_OK)
            status = zt_write_finish(w, NULL);
        else
            CHECK(w == NULL);
        CHECK_STATUS(status, ZT_ERROR_IO);
    }
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0440);
    good_file_at(path);
    CHECK(remove(link) == 0 && remove(path) == 0);
    CHECK_U64(files_in(folder), 0);
}

static void impossible(const char *folder)
{
    zt_writer *w = (zt_writer *)data;
    CHECK_STATUS(zt_write_create(scratch_path("no/such/folder/x.zt"), NULL, &w), ZT_ERROR_NO_FILE);
    CHECK(w == NULL);
    w = (zt_writer *)data;
    CHECK_STATUS(zt_write_create(folder, NULL, &w), ZT_ERROR_IO);
    CHECK(w == NULL);
    CHECK(zt_write_create("", NULL, &w) != ZT_OK && w == NULL);
    CHECK_STATUS(zt_write_finish(NULL, NULL), ZT_OK);
    zt_write_abort(NULL);
    CHECK_U64(files_in(folder), 0);
}

/* A sink into memory that fails when a test asks. */
typedef struct sink_state {
    unsigned char *bytes;
    size_t size, fail_at; /* fails at that many bytes */
    int writes, finishes, closes, after;
    zt_status status, finish_status;
} sink_state;

static zt_status sink_write(void *context, const void *bytes, size_t n)
{
    sink_state *s = (sink_state *)context;
    s->writes++;
    s->after |= s->finishes || s->closes;
    if (s->fail_at && s->size + n >= s->fail_at)
        return s->status;
    s->bytes = (unsigned char *)realloc(s->bytes, s->size + n + 1);
    if (!s->bytes)
        return ZT_ERROR_OUT_OF_MEMORY;
    if (n)
        memcpy(s->bytes + s->size, bytes, n);
    s->size += n;
    return ZT_OK;
}

static zt_status sink_finish(void *context)
{
    sink_state *s = (sink_state *)context;
    s->after |= s->closes;
    s->finishes++;
    return s->finish_status;
}

static void sink_close(void *context)
{
    ((sink_state *)context)->closes++;
}

static zt_sink make_sink(sink_state *state)
{
    zt_sink sink;
    memset(state, 0, sizeof *state);
    INIT(sink);
    sink.context = state;
    sink.write = sink_write;
    sink.finish = sink_finish;
    sink.close = sink_close;
    return sink;
}

static void good_sink(zt_spec version)
{
    const char *path = scratch_path("folder/same.zt");
    sink_state s;
    zt_sink sink = make_sink(&s);
    zt_write_options o;
    zt_write_summary summary;
    zt_writer *w = NULL;
    zt_file *file = NULL;
    INIT(o);
    INIT(summary);
    o.spec = version;
    o.digest = ZT_DIGEST_CRC32C;
    o.durable = 1; /* ignored */
    CHECK_STATUS(zt_write_create_sink(&sink, &o, &w), ZT_OK);
    memset(&sink, 0xff, sizeof sink); /* the library copied it */
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "z", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 0, data, 1), ZT_OK);
    CHECK(s.finishes == 0 && s.closes == 0);
    CHECK_STATUS(zt_write_finish(w, &summary), ZT_OK);
    CHECK(s.finishes == 1 && s.closes == 1 && !s.after);
    CHECK(summary.file_size == s.size && summary.objects == 2);
    CHECK_STATUS(zt_open_memory(s.bytes, s.size, NULL, &file), ZT_OK);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
    /* The same calls for a file give the same bytes. */
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "z", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 0, data, 1), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK(file_is(path, s.bytes, s.size));
    CHECK(remove(path) == 0);
    free(s.bytes);
}

static void aborted_and_refused_sinks(void)
{
    sink_state s;
    zt_sink sink = make_sink(&s);
    zt_write_options o;
    zt_writer *w = NULL;
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data), ZT_OK);
    zt_write_abort(w);
    CHECK(s.finishes == 0 && s.closes == 1);
    free(s.bytes);
    sink = make_sink(&s); /* owned by the library, even if the call fails */
    INIT(o);
    o.alignment = 3;
    w = (zt_writer *)data;
    CHECK_STATUS(zt_write_create_sink(&sink, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL && s.closes == 1 && s.finishes == 0 && s.writes == 0);
    sink = make_sink(&s);
    sink.write = NULL;
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL && s.closes == 1);
    CHECK_STATUS(zt_write_create_sink(NULL, NULL, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL);
    sink = make_sink(&s); /* only write is required */
    sink.finish = NULL;
    sink.close = NULL;
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK(s.finishes == 0 && s.closes == 0 && s.size > 0);
    free(s.bytes);
}

/* After a failure of the sink the writer is unusable, its calls fail, and it closes the sink once. */
static void failing_sinks(void)
{
    static const size_t ats[] = {1, 64, 100, 1100};
    static const zt_status statuses[] = {ZT_ERROR_IO,       ZT_ERROR_CANCELLED,       ZT_ERROR_OUT_OF_MEMORY,
                                         ZT_ERROR_UNKNOWN_CONTAINER, ZT_ERROR_CORRUPT, ZT_ERROR_DIGEST_MISMATCH};
    size_t i, k;
    for (i = 0; i < COUNT(ats); i++) {
        for (k = 0; k < COUNT(statuses) * 2; k++) {
            sink_state s;
            zt_sink sink = make_sink(&s);
            zt_write_summary summary;
            zt_writer *w = NULL;
            zt_status status;
            int writes;
            s.fail_at = ats[i];
            s.status = statuses[k / 2];
            INIT(summary);
            summary.file_size = 77;
            status = zt_write_create_sink(&sink, NULL, &w);
            if (status == ZT_OK)
                status = zt_write_dense(w, "x", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data);
            if (status == ZT_OK) { /* buffered: the end fails */
                CHECK_STATUS(zt_write_finish(w, &summary), statuses[k / 2]);
            } else {
                CHECK_STATUS(status, statuses[k / 2]);
                writes = s.writes;
                if (w) {
                    CHECK_STATUS(zt_write_dense(w, "y", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, 1000), ZT_ERROR_STATE);
                    CHECK_STATUS(set_i64(w, NULL, "k", 1), ZT_ERROR_STATE);
                    CHECK_STATUS(zt_write_end(w), ZT_ERROR_STATE);
                    if (k % 2)
                        zt_write_abort(w);
                    else
                        CHECK_STATUS(zt_write_finish(w, &summary), ZT_ERROR_STATE);
                }
                CHECK_U64(s.writes, writes); /* after a failure nothing more is written */
            }
            CHECK(summary.file_size == 77); /* untouched */
            CHECK(s.finishes == 0 && s.closes == 1);
            free(s.bytes);
        }
    }
    {
        sink_state s;
        zt_sink sink = make_sink(&s);
        zt_writer *w = NULL;
        s.finish_status = ZT_ERROR_CANCELLED;
        CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), ZT_OK);
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_ERROR_CANCELLED);
        CHECK(s.finishes == 1 && s.closes == 1);
        free(s.bytes);
    }
}

int main(void)
{
    const char *folder = scratch_path("folder");
    fill_any(data, sizeof data, 11);
    REQUIRE(mkdir(folder, 0700) == 0);
    destination(folder);
    impossible(folder);
    good_sink(ZT_SPEC_DEFAULT);
    good_sink(ZT_SPEC_1_1_0);
    good_sink(ZT_SPEC_0_1_0);
    aborted_and_refused_sinks();
    failing_sinks();
    CHECK(rmdir(folder) == 0);
    return check_done("writer_publish");
}
