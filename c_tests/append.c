/* Chapter "writer": adds objects to an existing file. */
#include "attributes.h"
#include "writing.h"

static const char *path;

static const uint64_t shape = 4;
static const float values[4] = {1, 2, 3, 4};

static void copy_of(const char *name)
{
    size_t size;
    unsigned char *bytes = read_file(data_path(name), &size);
    write_file(path, bytes, size);
    free(bytes);
}

/* Everything in `before` is at the same position in `after`. */
static void kept(const zt_file *before, const zt_file *after)
{
    size_t o, k;
    for (o = 0; o < zt_object_count(before); o++) {
        const zt_object *a = zt_object_at(before, o), *b = zt_object_at(after, o);
        CHECK(object_info(a).name_length == object_info(b).name_length);
        CHECK(memcmp(zt_object_name(a), zt_object_name(b), object_info(a).name_length) == 0);
        CHECK_U64(zt_component_count(b), zt_component_count(a));
        CHECK_U64(zt_value_count(zt_object_attributes(b)), zt_value_count(zt_object_attributes(a)));
        for (k = 0; k < zt_component_count(a); k++) {
            const zt_component *x = zt_component_at(a, k), *y = zt_component_at(b, k);
            size_t n, m;
            unsigned char *p, *q;
            CHECK_U64(component_info(y).offset, component_info(x).offset);
            CHECK_U64(component_info(y).stored_size, component_info(x).stored_size);
            CHECK(!zt_component_digest(x) == !zt_component_digest(y));
            if (zt_component_digest(x))
                CHECK_STR(zt_component_digest(y), zt_component_digest(x));
            p = read_component(x, &n);
            q = read_component(y, &m);
            CHECK(n == m && memcmp(p, q, n) == 0);
            free(p);
            free(q);
        }
    }
}

/* Adds 16 bytes, twice: as f32, or as a type that only 1.2 has. */
static void appended(const char *name, const char *version, zt_encoding encoding, zt_type type)
{
    zt_file *before = open_data(name), *after;
    size_t old = zt_object_count(before), i;
    zt_dtype dtype = type ? ZT_DTYPE_U8 : ZT_DTYPE_F32;
    uint64_t count = type ? 16 : 4;
    zt_write_options o;
    zt_write_summary summary;
    zt_writer *w = NULL;
    copy_of(name);
    for (i = 0; i < 2; i++) { /* and a second time */
        char added[16];
        snprintf(added, sizeof added, "added-%u", (unsigned)i);
        INIT(o);
        INIT(summary);
        o.encoding = encoding;
        o.digest = ZT_DIGEST_SHA256;
        o.durable = (uint32_t)i;
        CHECK_STATUS(zt_write_append(path, &o, &w), ZT_OK);
        REQUIRE(w != NULL);
        if (old)
            CHECK_STATUS(zt_write_dense(w, zt_object_name(zt_object_at(before, old - 1)), 0, dtype, type, &count, 1, values, 16),
                         ZT_ERROR_EXISTS);
        CHECK_STATUS(zt_write_dense(w, added, 0, dtype, type, &count, 1, values, 16), ZT_OK);
        CHECK_STATUS(set_i64(w, NULL, "appends", (int64_t)i), ZT_OK);
        CHECK_STATUS(zt_write_finish(w, &summary), ZT_OK);
        CHECK_U64(summary.objects, old + i + 1);
        CHECK_U64(summary.data_bytes, 16); /* what this writer wrote */
        after = open_path(path);
        CHECK_U64(summary.file_size, file_size(after));
        CHECK_U64(zt_object_count(after), old + i + 1);
        CHECK_STR(zt_file_version(after), version);
        kept(before, after);
        {
            int64_t n = 7;
            float got[4];
            CHECK(zt_value_get_i64(zt_value_find(zt_file_attributes(after), "appends"), &n) == ZT_OK && n == (int64_t)i);
            CHECK_STATUS(zt_component_read(component_of(after, added, "data"), got, sizeof got), ZT_OK);
            CHECK(memcmp(got, values, sizeof got) == 0);
            CHECK_STATUS(verify_component(after, component_of(after, added, "data")), ZT_OK);
        }
        CHECK_STATUS(zt_verify(after, NULL, NULL), ZT_OK);
        zt_close(after);
        check_padding(path); /* the old manifest's bytes are padding now */
    }
    zt_close(before);
}

static void nothing_lost(void)
{
    zt_file *file;
    const zt_value *map;
    zt_writer *w = NULL;
    size_t size, i, found = 0;
    unsigned char *bytes;
    int64_t n = 0;
    const char *text = NULL;
    /* Unknown fields are kept: the manifest still has their names. */
    copy_of("valid-odd/unknown-fields.zt");
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "more", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &shape, 1, values, sizeof values), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    bytes = read_file(path, &size);
    for (i = 0; i + 8 <= size; i++)
        found += memcmp(bytes + i, "x-object", 8) == 0 || memcmp(bytes + i, "x-root", 6) == 0 || memcmp(bytes + i, "x-comp", 6) == 0;
    CHECK_U64(found, 3);
    free(bytes);
    /* File attributes: set ones are replaced, the others stay. */
    copy_of("v1.1/oracle-object-attributes.zt"); /* {"n": 1, "text": "x", "list": [1, 2]} */
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK);
    CHECK_STATUS(set_i64(w, NULL, "n", 2), ZT_OK);
    CHECK_STATUS(set_i64(w, NULL, "new", 3), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    map = zt_file_attributes(file);
    CHECK_U64(zt_value_count(map), 4);
    CHECK(zt_value_get_i64(zt_value_find(map, "n"), &n) == ZT_OK && n == 2);
    CHECK(zt_value_get_i64(zt_value_find(map, "new"), &n) == ZT_OK && n == 3);
    CHECK(zt_value_get_string(zt_value_find(map, "text"), &text, NULL) == ZT_OK && strcmp(text, "x") == 0);
    CHECK_U64(zt_value_count(zt_object_attributes(zt_object_at(file, 0))), 13);
    zt_close(file);
}

static void left_as_it_was(void)
{
    zt_write_options o;
    zt_writer *w = NULL;
    zt_file *open_before;
    size_t size;
    unsigned char *bytes = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &size);
    unsigned char got[60];
    write_file(path, bytes, size);
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "more", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &shape, 1, values, sizeof values), ZT_OK);
    zt_write_abort(w);
    CHECK(file_is(path, bytes, size));
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK); /* finish fails with an object open */
    {
        zt_object_desc d;
        INIT(d);
        d.name = "half";
        d.format = ZT_FORMAT_DENSE;
        CHECK_STATUS(zt_write_begin(w, &d), ZT_OK);
    }
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_ERROR_STATE);
    CHECK(file_is(path, bytes, size));
    INIT(o); /* the version follows the file */
    o.spec = ZT_SPEC_1_2_0;
    w = (zt_writer *)bytes;
    CHECK_STATUS(zt_write_append(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL && file_is(path, bytes, size));
    /* A reader that has the file open can still read it. */
    open_before = open_path(path);
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "more", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &shape, 1, values, sizeof values), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK_U64(zt_object_count(open_before), 13);
    CHECK_STATUS(zt_component_read(component_of(open_before, "f32", "data"), got, sizeof got), ZT_OK);
    CHECK(are_elements(got, bytes + 192, 60, 4));
    zt_close(open_before);
    free(bytes);
}

static void refused(void)
{
    static const struct { const char *name; zt_status status; } rows[] = {
        {"v0.1/py-0.1.4-all-dtypes.zt", ZT_ERROR_UNSUPPORTED}, {"v1.0/py-1.0.1-shapes.zt", ZT_ERROR_UNSUPPORTED},
        {"invalid/truncated-one-short.zt", ZT_ERROR_CORRUPT},  {"invalid/dup-object-same.zt", ZT_ERROR_CORRUPT},
        {"invalid/version-2.zt", ZT_ERROR_UNSUPPORTED},        {"invalid/empty-file.zt", ZT_ERROR_UNKNOWN_CONTAINER}};
    size_t i, size;
    zt_writer *w;
    for (i = 0; i < COUNT(rows); i++) {
        unsigned char *bytes = read_file(data_path(rows[i].name), &size);
        write_file(path, bytes, size);
        w = (zt_writer *)bytes;
        CHECK_STATUS(zt_write_append(path, NULL, &w), rows[i].status);
        CHECK(w == NULL && file_is(path, bytes, size));
        free(bytes);
    }
    CHECK(remove(path) == 0);
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_ERROR_NO_FILE);
    CHECK(!file_exists(path));
    CHECK_STATUS(zt_write_append(data_path("v1.2"), NULL, &w), ZT_ERROR_IO);
}

int main(void)
{
    path = scratch_path("appended.zt");
    appended("v1.2/py-1.2.3-all-dtypes.zt", "1.2.0", ZT_ENCODING_RAW, ZT_TYPE_NONE);
    appended("v1.2/py-1.2.3-sparse.zt", "1.2.0", ZT_ENCODING_ZSTD, ZT_TYPE_NONE);
    appended("v1.2/py-1.2.3-empty.zt", "1.2.0", ZT_ENCODING_ZSTD, ZT_TYPE_F8_E4M3FNUZ);
    appended("v1.2/py-1.2.3-digests.zt", "1.2.0", ZT_ENCODING_RAW, ZT_TYPE_NONE);
    appended("v1.1/rs-1.1.1-attributes.zt", "1.1.0", ZT_ENCODING_RAW, ZT_TYPE_NONE);
    appended("v1.1/rs-1.1.1-attributes.zt", "1.2.0", ZT_ENCODING_RAW, ZT_TYPE_F8_E4M3FNUZ);
    /* narrow indices break a rule of 1.2 */
    appended("v1.1/oracle-index-dtypes.zt", "1.1.0", ZT_ENCODING_ZSTD, ZT_TYPE_F8_E5M2FNUZ);
    nothing_lost();
    left_as_it_was();
    refused();
    return check_done("append");
}
