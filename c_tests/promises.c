/* Guarantees in the header that no other test covers: callbacks that are closed even on failure, messages of
 * one line, structs that are filled on failure, limits. */
#include "writing.h"

#define INVALID ZT_ERROR_INVALID_ARGUMENT

typedef struct {
    unsigned char *bytes;
    size_t size;
    int sizes, closes;
} state;

static zt_status size_of(void *context, uint64_t *size)
{
    ((state *)context)->sizes++;
    *size = ((state *)context)->size;
    return ZT_OK;
}

static zt_status read_at(void *context, uint64_t offset, void *dst, size_t size)
{
    const state *s = (const state *)context;
    if (offset > s->size || size > s->size - offset)
        return ZT_ERROR_IO;
    memcpy(dst, s->bytes + offset, size);
    return ZT_OK;
}

static zt_status take(void *context, const void *data, size_t size)
{
    (void)context, (void)data, (void)size;
    return ZT_OK;
}

static void closed(void *context)
{
    ((state *)context)->closes++;
}

/* "Its close function is called once, also when this call fails", for every failure. */
static void callbacks_are_closed(void)
{
    state s;
    zt_source source;
    zt_sink sink;
    zt_file *file;
    zt_writer *w;
    zt_open_options open;
    zt_write_options writer;
    memset(&s, 0, sizeof s);
    s.bytes = read_file(data_path("v1.2/py-1.2.3-shapes.zt"), &s.size);
    INIT(source), INIT(sink), INIT(open), INIT(writer);
    source.context = &s, source.size = size_of, source.read_at = read_at, source.close = closed;
    sink.context = &s, sink.write = take, sink.close = closed;

    CHECK_STATUS(zt_open_source(&source, NULL, NULL), INVALID);
    CHECK(s.closes == 1 && s.sizes == 0);
    open.struct_size = 1;
    CHECK_STATUS(zt_open_source(&source, &open, &file), INVALID);
    CHECK(s.closes == 2);
    INIT(open);
    open.shards = 99;
    CHECK_STATUS(zt_open_source(&source, &open, &file), INVALID);
    CHECK(s.closes == 3);
    source.callers_thread = 2;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), INVALID);
    CHECK(s.closes == 4);
    source.callers_thread = 0;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK);
    CHECK(s.closes == 4);
    zt_close(file);
    CHECK(s.closes == 5);
    source.struct_size = 1; /* invalid, so its fields are unknown */
    CHECK_STATUS(zt_open_source(&source, NULL, &file), INVALID);
    CHECK(s.closes == 5);

    s.closes = 0;
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, NULL), INVALID);
    CHECK(s.closes == 1);
    writer.digest = 99;
    CHECK_STATUS(zt_write_create_sink(&sink, &writer, &w), INVALID);
    CHECK(s.closes == 2);
    sink.struct_size = 1;
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), INVALID);
    CHECK(s.closes == 2);
    free(s.bytes);
}

/* zt_last_error is one line of UTF-8, for any bytes in a path or a caller's text. */
static void one_line(void)
{
    static char text[4096];
    size_t i;
    zt_file *file;
    zt_open_options open;
    zt_status status = zt_open("no\nsuch\r\x1b\x7fpath", NULL, &file);
    CHECK(status == ZT_ERROR_NO_FILE || status == ZT_ERROR_IO); /* Windows does not have such names */
    CHECK(strncmp(zt_last_error(), "no such   path: ", 16) == 0);
    INIT(open);
    open.name = "two\nlines";
    CHECK_STATUS(zt_open(data_path("invalid/empty-file.zt"), &open, &file), ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK(strchr(zt_last_error(), '\n') == NULL);

    zt_set_last_error("first\nsecond");
    CHECK_STR(zt_last_error(), "first second");
    zt_set_last_error("");
    CHECK_STR(zt_last_error(), "first second");
    zt_set_last_error("\xff");
    CHECK_STR(zt_last_error(), "first second");
    zt_set_last_error("good\xff" "bad");
    CHECK_STR(zt_last_error(), "good");
    memset(text, 'a', sizeof text - 1);
    zt_set_last_error(text);
    CHECK_U64(strlen(zt_last_error()), 2048);
    for (i = 0; i + 3 < sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3); /* a euro sign is not cut */
    zt_set_last_error(text);
    CHECK_U64(strlen(zt_last_error()), 2046);
}

/* "Filled on success and on failure", also if an argument is rejected. */
static void filled_on_failure(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    zt_read_options read;
    zt_read_stats stats;
    zt_verify_options verify;
    zt_verify_report report;
    INIT(read), INIT(verify);
    read.direct = 99;
    verify.checks = 1u << 31;
    memset(&stats, 0xa5, sizeof stats), stats.struct_size = sizeof stats;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &read, &stats), INVALID);
    CHECK(stats.bytes == 0 && stats.requests == 0 && stats.threads == 0);
    CHECK_STR(stats.reason, "nothing was read");
    memset(&stats, 0xa5, sizeof stats), stats.struct_size = sizeof stats;
    CHECK_STATUS(zt_read_batch(NULL, NULL, 0, NULL, &stats), INVALID);
    CHECK(stats.bytes == 0 && stats.requests == 0 && stats.nanoseconds == 0);
    CHECK_STATUS(zt_read_batch(file, NULL, 0, NULL, &stats), ZT_OK);
    CHECK_STR(stats.reason, "nothing was read");
    memset(&stats, 0, sizeof stats), stats.struct_size = sizeof stats;
    CHECK_STATUS(zt_load_finish(NULL, &stats), ZT_OK);
    CHECK_STR(stats.reason, "nothing was read");
    memset(&report, 0xa5, sizeof report), report.struct_size = sizeof report;
    CHECK_STATUS(zt_verify(file, &verify, &report), INVALID);
    CHECK(report.objects == 0 && report.components == 0 && report.padding_nonzero == 0);
    memset(&report, 0xa5, sizeof report), report.struct_size = sizeof report;
    CHECK_STATUS(zt_verify(NULL, NULL, &report), INVALID);
    CHECK(report.objects == 0 && report.bytes == 0 && report.digests_absent == 0);
    zt_close(file);
}

/* A slot that is larger than any budget exceeds a limit; it is not an allocation failure. */
static void slots_without_a_place(void)
{
    zt_cache_options o;
    zt_cache *cache;
    static const uint64_t sizes[] = {(1 << 20) + 1, UINT64_C(1) << 40, UINT64_MAX - 63, UINT64_MAX};
    size_t i;
    for (i = 0; i < COUNT(sizes); i++) {
        INIT(o);
        o.budget = 1 << 20, o.slot_size = sizes[i];
        cache = (zt_cache *)&o;
        CHECK_STATUS(zt_cache_create(&o, &cache), ZT_ERROR_LIMIT);
        CHECK(cache == NULL);
    }
}

static void attributes(void)
{
    const char *path = scratch_path("promises.zt");
    zt_writer *w;
    zt_file *file;
    zt_attribute a;
    const zt_value *v;
    char text[16];
    size_t needed, size;
    int64_t number = 5;
    uint8_t small = 5;
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    INIT(a);
    a.kind = ZT_ATTRIBUTE_KIND_I64, a.i64 = -3;
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "number", &a), ZT_OK);
    a.dtype = ZT_DTYPE_U8;
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "number", &a), INVALID);
    CHECK_STR(zt_last_error(), "u8 cannot hold -3 exactly");
    INIT(a);
    a.kind = ZT_ATTRIBUTE_KIND_STRING, a.data = "\xe2\x82\xac\xe2\x82\xac";
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "text", &a), ZT_OK);
    for (size = 64; size < 66; size++) {
        char deep[2 * 66];
        memset(deep, '[', size), memset(deep + size, ']', size);
        a.kind = ZT_ATTRIBUTE_KIND_JSON, a.data = deep, a.size = 2 * size;
        CHECK_STATUS(zt_write_attribute(w, NULL, 0, "deep", &a), size == 64 ? ZT_OK : INVALID);
    }
    REQUIRE(zt_write_finish(w, NULL) == ZT_OK);

    file = open_path(path);
    v = zt_value_find(zt_file_attributes(file), "number");
    CHECK_U64(zt_value_count(v), 0); /* but it is read as an array of one */
    CHECK_STATUS(zt_value_read_numbers(v, ZT_DTYPE_I64, NULL, 0), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_value_read_numbers(v, ZT_DTYPE_I64, &number, 0), ZT_ERROR_BUFFER_SIZE);
    CHECK(number == 5);
    CHECK_STATUS(zt_value_read_numbers(v, ZT_DTYPE_U8, &small, 1), INVALID);
    CHECK_STR(zt_last_error(), "element 0 is -3, which u8 cannot hold exactly");
    CHECK_STATUS(zt_value_read_numbers(v, ZT_DTYPE_I64, &number, 1), ZT_OK);
    CHECK(number == -3 && small == 5);
    v = zt_value_find(zt_file_attributes(file), "text");
    for (size = 1; size < 9; size++) { /* truncated text ends with a complete character */
        memset(text, 'x', sizeof text);
        CHECK_STATUS(zt_value_to_json(v, text, size, &needed), ZT_ERROR_BUFFER_SIZE);
        CHECK(needed == 9 && strlen(text) == (size == 1 ? 0 : size < 5 ? 1 : size < 8 ? 4 : 7));
    }
    CHECK_STATUS(zt_value_to_json(v, text, 9, &needed), ZT_OK);
    CHECK_STR(text, "\"\xe2\x82\xac\xe2\x82\xac\"");
    zt_close(file);
    remove(path);
}

static zt_status create(const zt_write_options *o)
{
    zt_writer *w = (zt_writer *)(uintptr_t)o;
    zt_status status = zt_write_create(scratch_path("promises.zt"), o, &w);
    CHECK((w == NULL) == (status != ZT_OK));
    zt_write_abort(w);
    return status;
}

/* The least and greatest values of options. */
static void bounds_of_options(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    zt_write_options w;
    zt_read_options r;
    zt_load_options l;
    zt_load *load;
    INIT(w);
    w.alignment = UINT64_C(1) << 40;
    CHECK_STATUS(create(&w), ZT_OK);
    w.alignment <<= 1;
    CHECK_STATUS(create(&w), INVALID);
    INIT(w);
    w.spec = ZT_SPEC_0_1_0, w.canonical = 1;
    CHECK_STATUS(create(&w), ZT_ERROR_UNSUPPORTED);
    INIT(r), INIT(l);
    r.chunk_size = l.chunk_size = 4096;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &r, NULL), ZT_OK);
    CHECK_STATUS(zt_load_start(NULL, 0, &l, &load), ZT_OK);
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
    r.chunk_size = l.chunk_size = 4095;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &r, NULL), INVALID);
    CHECK_STATUS(zt_load_start(NULL, 0, &l, &load), INVALID);
    CHECK(load == NULL);
    zt_close(file);
}

/* Rows with gaps in the component and in memory; a cache stores them without gaps. */
static void rows_are_apart(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    zt_cache_options o;
    zt_cache *cache;
    zt_cache_pin slice;
    zt_read_request r;
    unsigned char bytes[64];
    INIT(r), INIT(o), INIT(slice);
    r.component = component_of(file, "u8", "data"), r.dst = bytes, r.dst_size = sizeof bytes;
    r.rows = 2, r.row_length = 4;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    r.row_stride = 3;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), INVALID);
    r.row_stride = 4, r.dst_stride = 3;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), INVALID);
    r.dst_stride = 4;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    o.budget = 1 << 20, o.slot_size = 64;
    REQUIRE(zt_cache_create(&o, &cache) == ZT_OK);
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &slice), INVALID);
    r.dst_stride = 0;
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &slice), ZT_OK);
    CHECK(slice.size == 8);
    CHECK_STATUS(zt_cache_unpin(cache, &slice), ZT_OK);
    r.offset = UINT64_MAX;
    CHECK_STATUS(zt_cache_drop(cache, &r, 1), ZT_OK);
    zt_cache_free(cache);
    zt_close(file);
}

/* A source for the caller's thread is read by it, with any timeout. */
static void callers_thread_has_no_timeout(void)
{
    state s;
    zt_source source;
    zt_file *file;
    zt_cache_options o;
    zt_cache *cache;
    zt_cache_pin slice;
    zt_read_request r;
    memset(&s, 0, sizeof s);
    s.bytes = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &s.size);
    INIT(source), INIT(r), INIT(o), INIT(slice);
    source.context = &s, source.size = size_of, source.read_at = read_at, source.callers_thread = 1;
    REQUIRE(zt_open_source(&source, NULL, &file) == ZT_OK);
    r.component = component_of(file, "u8", "data"), r.length = ZT_WHOLE;
    o.budget = 1 << 20, o.slot_size = 64;
    REQUIRE(zt_cache_create(&o, &cache) == ZT_OK);
    CHECK_STATUS(zt_cache_get(cache, &r, 0, &slice), ZT_OK);
    CHECK_U64(slice.size, zt_component_size(r.component));
    zt_cache_free(cache);
    zt_close(file);
    free(s.bytes);
}

/* Digests are of stored bytes, in zTensor 2 of decoded bytes. Both detect damage. */
static void what_digests_are_of(void)
{
    static const zt_spec versions[] = {ZT_SPEC_1_2_0, ZT_SPEC_2};
    const char *path = scratch_path("promises.zt");
    static unsigned char data[65536];
    const uint64_t shape = sizeof data;
    size_t i, size;
    fill(data, sizeof data, 7);
    for (i = 0; i < COUNT(versions); i++) {
        char stored[80] = "sha256:", decoded[80] = "sha256:";
        unsigned char *bytes;
        zt_write_options o;
        zt_writer *w;
        zt_file *file;
        const zt_component *c;
        zt_status status;
        INIT(o);
        o.spec = versions[i], o.encoding = ZT_ENCODING_ZSTD, o.digest = ZT_DIGEST_SHA256;
        REQUIRE(zt_write_create(path, &o, &w) == ZT_OK);
        CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data), ZT_OK);
        REQUIRE(zt_write_finish(w, NULL) == ZT_OK);
        bytes = read_file(path, &size);
        file = open_path(path);
        c = component_of(file, "a", "data");
        CHECK_STATUS(verify_component(file, c), ZT_OK);
        sha256_hex(bytes + component_info(c).offset, (size_t)component_info(c).stored_size, stored + 7);
        sha256_hex(data, sizeof data, decoded + 7);
        CHECK_STR(zt_component_digest(c), versions[i] == ZT_SPEC_2 ? decoded : stored);
        bytes[component_info(c).offset + component_info(c).stored_size / 2] ^= 0x10;
        zt_close(file);
        write_file(path, bytes, size);
        file = open_path(path);
        status = verify_component(file, component_of(file, "a", "data"));
        CHECK(status == ZT_ERROR_DIGEST_MISMATCH || (status == ZT_ERROR_CORRUPT && versions[i] == ZT_SPEC_2));
        zt_close(file);
        free(bytes);
    }
    remove(path);
}

/* The CRC-32 of an archive is not a digest of the file, but is checked like one. */
static void sums_of_archives(void)
{
    zt_file *file = open_data("foreign/valid/amber-all-stored.npz");
    const zt_component *c = zt_component_at(zt_object_at(file, 0), 0);
    zt_verify_report report;
    INIT(report);
    CHECK(zt_component_digest(c) == NULL && (zt_component_caps(c) & ZT_CAP_VERIFY));
    CHECK_STATUS(verify_component(file, c), ZT_OK);
    CHECK_STATUS(zt_verify(file, NULL, &report), ZT_OK);
    CHECK(report.components > 0 && report.digests_verified == report.components && report.digests_absent == 0);
    zt_close(file);
}

/* Blocks are read and copied, but cannot be described for writing. */
static void blocks_are_only_read(void)
{
    zt_writer *w;
    zt_object_desc o;
    REQUIRE(zt_write_create(scratch_path("promises.zt"), NULL, &w) == ZT_OK);
    INIT(o);
    o.name = "b", o.format = ZT_FORMAT_BLOCKS;
    CHECK_STATUS(zt_write_begin(w, &o), INVALID);
    CHECK_STR(zt_last_error(), "5 is not a zt_format that can be written");
    zt_write_abort(w);
}

int main(void)
{
    callbacks_are_closed();
    one_line();
    filled_on_failure();
    slots_without_a_place();
    attributes();
    bounds_of_options();
    rows_are_apart();
    callers_thread_has_no_timeout();
    what_digests_are_of();
    sums_of_archives();
    blocks_are_only_read();
    return check_done("promises");
}
