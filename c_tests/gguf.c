/* GGUF with the functions for all files: keys, a vocabulary in one call, borrowed blocks, and parts of
 * them. */
#include "support.h"

static void keys(const zt_file *file)
{
    const zt_value *map = zt_file_attributes(file), *value;
    const char *text = NULL;
    const void *raw = NULL;
    size_t length = 0;
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    int truth = 0;
    CHECK(zt_value_get_kind(map) == ZT_VALUE_KIND_MAP && zt_value_count(map) > 20);
    CHECK_STATUS(zt_value_get_u64(zt_value_find(map, "amber.u64"), &u), ZT_OK);
    CHECK(u == UINT64_MAX);
    CHECK_STATUS(zt_value_get_i64(zt_value_find(map, "amber.i16"), &i), ZT_OK);
    CHECK(i == INT16_MIN);
    CHECK(zt_value_dtype(zt_value_find(map, "amber.i16")) == ZT_DTYPE_I16);
    CHECK(zt_value_dtype(zt_value_find(map, "amber.u8")) == ZT_DTYPE_U8);
    CHECK(zt_value_dtype(zt_value_find(map, "amber.f32")) == ZT_DTYPE_F32);
    CHECK(zt_value_dtype(zt_value_find(map, "arr.empty_u8")) == ZT_DTYPE_U8);
    CHECK_STATUS(zt_value_get_f64(zt_value_find(map, "amber.f64"), &d), ZT_OK);
    CHECK(d == 0.0);
    CHECK_STATUS(zt_value_get_bool(zt_value_find(map, "amber.bool_t"), &truth), ZT_OK);
    CHECK(truth == 1);
    CHECK_STATUS(zt_value_get_string(zt_value_find(map, "amber.str"), &text, &length), ZT_OK);
    CHECK(length == 10 && strncmp(text, "h\xc3\xa9llo", 6) == 0);
    value = zt_value_find(map, "str.not_utf8");
    CHECK(zt_value_get_kind(value) == ZT_VALUE_KIND_BYTES);
    CHECK_STATUS(zt_value_get_bytes(value, &raw, &length), ZT_OK);
    CHECK(length == 6 && memcmp(raw, "\xff\xfe\x80" "abc", 6) == 0);
    value = zt_value_find(map, "arr.empty_u8");
    CHECK(zt_value_get_kind(value) == ZT_VALUE_KIND_ARRAY && zt_value_count(value) == 0);
}

static void vocabulary(zt_mode mode)
{
    enum { COUNT_OF_TOKENS = 5000 };
    zt_file *file = open_data_mode("foreign/valid/amber-vocab.gguf", mode);
    const zt_value *map = zt_file_attributes(file), *tokens = zt_value_find(map, "tokenizer.ggml.tokens");
    const char **strings = (const char **)malloc(COUNT_OF_TOKENS * sizeof(*strings));
    size_t *lengths = (size_t *)malloc(COUNT_OF_TOKENS * sizeof(*lengths)), n;
    float *scores = (float *)malloc(COUNT_OF_TOKENS * sizeof(*scores));
    REQUIRE(strings && lengths && scores && zt_value_count(tokens) == COUNT_OF_TOKENS);
    CHECK_STATUS(zt_value_read_strings(tokens, strings, lengths, COUNT_OF_TOKENS), ZT_OK);
    for (n = 0; n < COUNT_OF_TOKENS; n++)
        CHECK(strings[n][lengths[n]] == '\0');
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "tokenizer.ggml.scores"), ZT_DTYPE_F32, scores, COUNT_OF_TOKENS),
                 ZT_OK);
    CHECK(zt_object_count(file) == 0);
    free((void *)strings);
    free(lengths);
    free(scores);
    zt_close(file);
}

static void blocks(zt_mode mode)
{
    zt_file *file = open_data_mode("foreign/valid/amber-all-types-hand.gguf", mode);
    const zt_object *object = zt_object_find(file, "Q4_1/amber"); /* 2 x 1 x 64: two blocks of 20 bytes a row */
    const zt_component *data = zt_component_find(object, "data");
    const uint64_t *shape = zt_object_shape(object), start[3] = {0, 0, 32}, count[3] = {2, 1, 32}, odd[3] = {0, 0, 16};
    unsigned char all[80], part[40];
    const void *bytes = NULL;
    size_t size = 0;
    REQUIRE(data != NULL);
    CHECK(zt_object_rank(object) == 3 && shape[0] == 2 && shape[1] == 1 && shape[2] == 64);
    CHECK(component_info(data).offset == 2464 && zt_component_type(data) != ZT_TYPE_NONE);
    CHECK_STATUS(zt_component_read(data, all, sizeof all), ZT_OK);
    if (mode == ZT_MODE_MAP) {
        CHECK_STATUS(zt_component_ptr(data, &bytes, &size), ZT_OK);
        CHECK(size == 80 && memcmp(bytes, all, size) == 0);
    }
    CHECK_STATUS(zt_object_read_slice(object, start, count, NULL, part, sizeof part), ZT_OK);
    CHECK(memcmp(part, all + 20, 20) == 0 && memcmp(part + 20, all + 60, 20) == 0);
    CHECK_STATUS(zt_object_read_slice(object, odd, count, NULL, part, sizeof part), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(file);
}

/* Elements are swapped to this machine's order, so they cannot be borrowed. */
static void big_endian(void)
{
    zt_file *little = open_data_mode("foreign/valid/amber-kv-all-le3.gguf", ZT_MODE_MAP);
    zt_file *big = open_data_mode("foreign/valid/amber-kv-all-be3.gguf", ZT_MODE_MAP);
    const zt_component *data = zt_component_find(zt_object_find(big, "enc.1.mlp.up.20"), "data");
    const void *bytes = NULL;
    size_t size = 0;
    float floats[2];
    keys(little);
    keys(big);
    REQUIRE(data != NULL);
    CHECK_STATUS(zt_component_ptr(data, &bytes, &size), is_big_endian() ? ZT_OK : ZT_ERROR_NOT_MAPPABLE);
    CHECK_STATUS(zt_component_read(data, floats, sizeof floats), ZT_OK);
    zt_close(little);
    zt_close(big);
}

static void refused(void)
{
    zt_file *file = NULL;
    CHECK_STATUS(zt_open(data_path("foreign/invalid/amber-gguf-key-duplicate.gguf"), NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(file == NULL && strcmp(zt_last_error_rule(), "key-duplicate") == 0);
    CHECK(strstr(zt_last_error(), "dup.k") != NULL);
}

int main(void)
{
    vocabulary(ZT_MODE_MAP);
    vocabulary(ZT_MODE_READ);
    blocks(ZT_MODE_MAP);
    blocks(ZT_MODE_READ);
    big_endian();
    refused();
    return check_done("gguf");
}
