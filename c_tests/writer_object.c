/* Chapter "writer": objects of any format with any components, and unchanged copies. */
#include "writing.h"
#include <math.h>

static const char *path;

static void any_format(void)
{
    static const uint64_t shape[2] = {3, UINT64_MAX};
    static const uint16_t exponents[5] = {1, 2, 3, 4, 5};
    zt_component_desc c[4];
    zt_object_desc o;
    zt_writer *w = NULL;
    zt_file *file;
    const zt_object *object;
    const zt_component *got;
    int64_t k = 0;
    size_t i;
    for (i = 0; i < 4; i++)
        INIT(c[i]);
    c[0].role = "mantissa";
    c[0].dtype = ZT_DTYPE_U8;
    c[0].data = "abcdefg";
    c[0].size = 7;
    c[1].role = "expo\0nent"; /* a role may contain a NUL, too */
    c[1].role_length = 9;
    c[1].dtype = ZT_DTYPE_U16;
    c[1].data = exponents;
    c[1].size = sizeof exponents;
    c[1].encoding = ZT_ENCODING_ZSTD;
    c[1].digest = ZT_DIGEST_SHA256;
    c[2].role = "nothing";
    c[2].dtype = ZT_DTYPE_F64;
    c[3].role = "vendor";
    c[3].dtype = ZT_DTYPE_U8;
    c[3].type = ZT_TYPE_OTHER;
    c[3].type_name = "vendor.int4x2";
    c[3].data = "xyz";
    c[3].size = 3;
    INIT(o);
    o.name = "block\0s and more";
    o.name_length = 7;
    o.format = ZT_FORMAT_OTHER;
    o.format_name = "block_mx";
    o.shape = shape;
    o.rank = 2;
    o.components = c;
    o.component_count = 4;
    o.attributes_json = "{\"block\": 32, \"name\": \"\\u00e9\"}";
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_object(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_EXISTS);
    o.name = "bare";
    o.name_length = 0;
    o.components = NULL;
    o.component_count = 0;
    o.attributes_json = NULL;
    o.format_name = "constant";
    CHECK_STATUS(zt_write_object(w, &o), ZT_OK); /* unknown formats have no requirements */
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);

    file = open_path(path);
    object = zt_object_find_n(file, "block\0s", 7);
    REQUIRE(object != NULL);
    CHECK(zt_object_format(object) == ZT_FORMAT_OTHER);
    CHECK_STR(format_name(object), "block_mx");
    CHECK_U64(zt_component_count(object), 4);
    CHECK_U64(zt_object_element_count(object), UINT64_MAX);
    got = zt_component_at(object, 0);
    CHECK_STR(zt_component_role(got), "mantissa");
    got = zt_component_at(object, 1);
    CHECK(component_info(got).role_length == 9 && memcmp(zt_component_role(got), "expo\0nent", 10) == 0);
    CHECK(zt_component_encoding(got) == ZT_ENCODING_ZSTD);
    CHECK_STATUS(verify_component(file, got), ZT_OK);
    CHECK_U64(zt_component_size(zt_component_at(object, 2)), 0);
    got = zt_component_at(object, 3);
    CHECK(zt_component_type(got) == ZT_TYPE_OTHER);
    CHECK_STR(type_name(got), "vendor.int4x2");
    CHECK_STATUS(zt_value_get_i64(zt_value_find(zt_object_attributes(object), "block"), &k), ZT_OK);
    CHECK(k == 32 && zt_value_count(zt_object_attributes(object)) == 2);
    CHECK_U64(zt_component_count(zt_object_find(file, "bare")), 0);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

/* Each call is rejected, and does not change the writer. */
static void refused(void)
{
    static const uint64_t shape[2] = {1, 1}, too_much[2] = {UINT64_MAX, UINT64_MAX};
    char *name = (char *)malloc(65538);
    zt_component_desc c[2];
    zt_object_desc o, good;
    zt_writer *w = NULL;
    zt_file *file;
    REQUIRE(name != NULL);
    memset(name, 'n', 65537);
    name[65537] = 0;
    INIT(c[0]);
    c[0].role = "data";
    c[0].dtype = ZT_DTYPE_U8;
    c[0].data = "a";
    c[0].size = 1;
    c[1] = c[0];
    INIT(good);
    good.name = "good";
    good.format = ZT_FORMAT_DENSE;
    good.shape = shape;
    good.rank = 2;
    good.components = c;
    good.component_count = 1;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    o = good;
    o.component_count = 2;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_EXISTS); /* the role twice */
    o = good;
    o.component_count = 0;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT); /* dense needs "data" */
    o = good;
    o.components = NULL;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o = good;
    o.name = NULL;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o.name = "\xc3";
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o.name = name;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_LIMIT);
    o.name_length = 65537;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_LIMIT);
    o = good;
    o.format = 5;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o.format = ZT_FORMAT_OTHER; /* needs a name */
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o = good;
    o.reserved = 1;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o = good;
    o.shape = NULL;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o.shape = too_much; /* the product overflows 64 bits */
    CHECK(zt_write_object(w, &o) != ZT_OK);
    o = good;
    o.attributes_json = "[1]";
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o.attributes_json = "{\"a\": ";
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    o = good;
    c[0].data = NULL;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT); /* of one byte */
    c[0].data = "a";
    CHECK_STATUS(zt_write_object(w, NULL), ZT_ERROR_INVALID_ARGUMENT);
    memset(name + 65536, 0, 1);
    o.name = name; /* 64 KiB, the limit */
    CHECK_STATUS(zt_write_object(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_object(w, &good), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    CHECK_U64(zt_object_count(file), 2);
    CHECK(zt_object_find(file, "good") != NULL && zt_object_find(file, name) != NULL);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
    free(name);
}

static void same_component(const zt_file *file, const zt_component *a, const zt_component *b)
{
    size_t n, m;
    unsigned char *x, *y;
    CHECK_STR(zt_component_role(b), zt_component_role(a));
    CHECK_U64(zt_component_dtype(b), zt_component_dtype(a));
    CHECK_U64(zt_component_type(b), zt_component_type(a));
    CHECK_U64(zt_component_encoding(b), zt_component_encoding(a));
    CHECK_U64(component_info(b).stored_size, component_info(a).stored_size);
    if (zt_component_digest(a))
        CHECK_STR(zt_component_digest(b), zt_component_digest(a));
    else /* the writer's default */
        CHECK_STATUS(verify_component(file, b), ZT_OK);
    if (!(zt_component_caps(a) & ZT_CAP_READ))
        return;
    x = read_component(a, &n);
    y = read_component(b, &m);
    CHECK(n == m && memcmp(x, y, n) == 0);
    free(x);
    free(y);
}

/* Complete files, object by object, to 1.2. */
static void copies(void)
{
    static const char *const names[] = {
        "v0.1/py-0.1.4-all-dtypes.zt", "v0.1/rs-0.1.0-zstd.zt", "v0.1/rs-0.1.0-crc32c.zt", "v0.1/rs-0.1.0-custom-fields.zt",
        "v1.0/py-1.0.1-sparse.zt", "v1.1/rs-1.1.1-digests.zt", "v1.1/oracle-f8-complex.zt",
        "v1.2/py-1.2.3-digests.zt", "v1.2/py-1.2.3-sparse.zt", "v1.2/py-1.2.3-quantized.zt", "v1.2/py-1.2.3-logical.zt",
        "v1.2/py-1.2.3-unknown-format.zt", "v1.2/py-1.2.3-unknown-type.zt", "v1.2/py-1.2.3-nul-and-empty-names.zt",
        "v1.2/rs-1.2.3-1m.zt", "valid-odd/attributes-everything.zt", "valid-odd/coo-huge-shape.zt",
        "valid-odd/zstd-two-frames.zt"};
    size_t i, o, k, mode;
    for (i = 0; i < COUNT(names); i++) {
        for (mode = 0; mode < 2; mode++) {
            zt_file *from = open_data_mode(names[i], (zt_mode)mode), *to;
            zt_writer *w = NULL;
            CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
            for (o = 0; o < zt_object_count(from); o++)
                if (!CHECK_STATUS(zt_write_copy(w, zt_object_at(from, o), NULL), ZT_OK))
                    fprintf(stderr, "    of %s\n", names[i]);
            CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
            to = open_path(path);
            CHECK_U64(zt_object_count(to), zt_object_count(from));
            for (o = 0; o < zt_object_count(from) && o < zt_object_count(to); o++) {
                const zt_object *a = zt_object_at(from, o), *b = zt_object_at(to, o);
                size_t len = object_info(a).name_length, rank = zt_object_rank(a);
                CHECK(object_info(b).name_length == len && memcmp(zt_object_name(a), zt_object_name(b), len) == 0);
                CHECK(zt_object_rank(b) == rank && memcmp(zt_object_shape(a), zt_object_shape(b), rank * 8) == 0);
                CHECK_STR(format_name(b), format_name(a));
                CHECK_U64(zt_value_count(zt_object_attributes(b)), zt_value_count(zt_object_attributes(a)));
                if (zt_value_count(zt_object_attributes(a))) {
                    char one[4096] = "", two[4096] = "";
                    CHECK_STATUS(zt_value_to_json(zt_object_attributes(a), one, sizeof one, NULL), ZT_OK);
                    CHECK_STATUS(zt_value_to_json(zt_object_attributes(b), two, sizeof two, NULL), ZT_OK);
                    CHECK_STR(two, one);
                }
                CHECK_U64(zt_component_count(b), zt_component_count(a));
                for (k = 0; k < zt_component_count(a); k++)
                    same_component(to, zt_component_at(a, k), zt_component_at(b, k));
            }
            CHECK_STATUS(zt_verify(to, NULL, NULL), ZT_OK);
            zt_close(to);
            zt_close(from);
        }
    }
}

static void copies_between_versions(void)
{
    zt_file *from = open_data("v1.2/py-1.2.3-logical.zt"), *to;
    zt_file *lz4 = open_data("invalid/encoding-lz4.zt"), *big = open_data("v0.1/rs-0.1.0-big-endian.zt");
    zt_write_options o;
    zt_writer *w = NULL;
    size_t n, m;
    unsigned char *x, *y;
    INIT(o);
    o.spec = ZT_SPEC_0_1_0;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    CHECK_STATUS(zt_write_copy(w, zt_object_find(from, "complex64"), NULL), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_write_copy(w, zt_object_find(lz4, "a"), NULL), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(copy_named(w, zt_object_find(big, "i8"), "one"), ZT_OK);
    CHECK_STATUS(copy_named(w, zt_object_find(big, "i8"), "one"), ZT_ERROR_EXISTS);
    CHECK_STR(zt_last_error(), "object \"i8\": as \"one\": an object of that name exists already");
    CHECK_STATUS(copy_named(w, zt_object_find(big, "i8"), "two"), ZT_OK);
    CHECK_STATUS(copy_named(w, NULL, "three"), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(copy_named(w, zt_object_find(big, "i8"), "\xff"), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    to = open_path(path);
    CHECK_STR(zt_file_version(to), "0.1.0");
    CHECK(zt_object_count(to) == 2 && zt_object_find(to, "two") != NULL);
    zt_close(to);
    /* 1.2 cannot store big-endian elements, so they are swapped; their values must be the same. */
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    if (zt_write_copy(w, zt_object_find(big, "f64"), NULL) == ZT_OK) {
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
        to = open_path(path);
        x = read_component(component_of(big, "f64", "data"), &n);
        y = read_component(component_of(to, "f64", "data"), &m);
        CHECK(n == m && memcmp(x, y, n) == 0);
        free(x);
        free(y);
        zt_close(to);
    } else {
        CHECK(strstr(zt_last_error(), "f64") != NULL);
        zt_write_abort(w);
    }
    zt_close(big);
    zt_close(lz4);
    zt_close(from);
}

/* A copy turns floats into blocks, and blocks are written unchanged. */
static void blocks(void)
{
    const char *plain = scratch_path("blocks.zt"), *copy = scratch_path("blocks-copy.zt");
    static const uint64_t shape[2] = {2, 32};
    float numbers[64], back[64];
    unsigned char *data;
    zt_copy_options o;
    zt_writer *w = NULL;
    zt_file *from, *to;
    const zt_object *object, *quantized;
    size_t n, written = 0, i;
    for (i = 0; i < 64; i++)
        numbers[i] = (float)i - 20.0f;
    REQUIRE(zt_write_create(plain, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "w", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, numbers, sizeof numbers), ZT_OK);
    numbers[33] = HUGE_VALF;
    CHECK_STATUS(zt_write_dense(w, "infinite", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, numbers, sizeof numbers), ZT_OK);
    numbers[33] = 13.0f;
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    from = open_path(plain);
    object = zt_object_find(from, "w");
    REQUIRE(zt_write_create(copy, NULL, &w) == ZT_OK);
    INIT(o);
    o.type = ZT_TYPE_GGUF_Q8_0, o.dtype = ZT_DTYPE_F16;
    CHECK_STATUS(zt_write_copy(w, object, &o), ZT_ERROR_INVALID_ARGUMENT);
    o.dtype = 0, o.type = ZT_TYPE_GGUF_Q4_K;
    CHECK_STATUS(zt_write_copy(w, object, &o), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "llama-quantize") != NULL);
    o.type = ZT_TYPE_GGUF_TQ2_0; /* blocks of 256 numbers */
    CHECK_STATUS(zt_write_copy(w, object, &o), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "rows have 32 elements") != NULL);
    o.type = ZT_TYPE_GGUF_Q8_0;
    CHECK_STATUS(zt_write_copy(w, zt_object_find(from, "infinite"), &o), ZT_ERROR_LIMIT);
    CHECK(strstr(zt_last_error(), "\"infinite\"") != NULL && strstr(zt_last_error(), "element 33 ") != NULL);
    CHECK_STATUS(zt_write_copy(w, object, &o), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    to = open_path(copy);
    quantized = zt_object_find(to, "w");
    CHECK(zt_object_format(quantized) == ZT_FORMAT_BLOCKS && zt_object_element_count(quantized) == 64);
    CHECK_STATUS(zt_object_read_as(quantized, ZT_DTYPE_F32, back, sizeof back, &written), ZT_OK);
    CHECK(written == sizeof back);
    for (i = 0; i < 64; i++)
        CHECK(back[i] - numbers[i] < 0.2f && numbers[i] - back[i] < 0.2f);
    data = read_component(component_of(to, "w", "data"), &n);
    CHECK(n == 68);
    REQUIRE(zt_write_create(plain, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "w", 0, ZT_DTYPE_U8, ZT_TYPE_GGUF_Q8_0, shape, 2, data, n - 1), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_dense(w, "w", 0, ZT_DTYPE_F16, ZT_TYPE_GGUF_Q8_0, shape, 2, data, n), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_dense(w, "w", 0, ZT_DTYPE_U8, ZT_TYPE_GGUF_Q8_0, shape, 2, data, n), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    zt_close(from);
    from = open_path(plain);
    CHECK(zt_object_format(zt_object_find(from, "w")) == ZT_FORMAT_BLOCKS);
    CHECK_STATUS(zt_object_read_as(zt_object_find(from, "w"), ZT_DTYPE_F32, numbers, sizeof numbers, &written), ZT_OK);
    CHECK(written == sizeof back && memcmp(numbers, back, sizeof back) == 0);
    free(data);
    zt_close(from);
    zt_close(to);
    CHECK(remove(plain) == 0 && remove(copy) == 0);
}

int main(void)
{
    path = scratch_path("objects.zt");
    any_format();
    refused();
    copies();
    copies_between_versions();
    blocks();
    CHECK(remove(path) == 0);
    return check_done("writer_object");
}
