/* Chapter "attributes": complete arrays, and the dtypes that a container declares for numbers. */
#include <math.h>

#include "attributes.h"

static const char *path;

/* An open file with an attribute "all" that has this JSON text. */
static zt_file *with_attribute(const char *json)
{
    zt_writer *w = NULL;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(set_json(w, NULL, "all", json), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    return open_path(path);
}

/* Complete arrays: exact, or an error that names the element; then nothing is written. */
static void numbers(void)
{
    static const char text[] = "{\"ints\":[0,255,-1],\"small\":[0,1,255],\"large\":[9007199254740992,9007199254740993],"
                               "\"floats\":[0.5,2,{\"$float\":\"nan\"},{\"$float\":\"-inf\"}],\"tenth\":[1.0,0.1],\"mixed\":[1,\"a\"],"
                               "\"bools\":[true,false],\"none\":[],\"one\":7}";
    zt_file *file = with_attribute(text);
    const zt_value *map;
    int16_t i16[4] = {77, 77, 77, 77};
    uint8_t u8[4] = {77, 77, 77, 77};
    uint16_t halves[4];
    int64_t i64[2];
    float f32[4] = {77, 77, 77, 77};
    double f64[4];
    char odd[1 + 3 * sizeof(int32_t)];
    map = zt_value_find(zt_file_attributes(file), "all");
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_I16, i16, 4), ZT_OK); /* more than needed */
    CHECK(i16[0] == 0 && i16[1] == 255 && i16[2] == -1 && i16[3] == 77);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_U8, u8, 3), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "element 2") != NULL && u8[0] == 77);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_I8, u8, 3), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_BOOL, u8, 3), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_I16, i16, 2), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_I16, NULL, 3), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_OTHER, i16, 3), ZT_ERROR_INVALID_ARGUMENT);
    /* unaligned */
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "ints"), ZT_DTYPE_I32, odd + 1, 3), ZT_OK);
    CHECK(memcmp(odd + 1 + 2 * sizeof(int32_t), "\xff\xff\xff\xff", 4) == 0);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "small"), ZT_DTYPE_U8, u8, 3), ZT_OK);
    CHECK(u8[0] == 0 && u8[1] == 1 && u8[2] == 255 && u8[3] == 77);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "large"), ZT_DTYPE_I64, i64, 2), ZT_OK);
    CHECK(i64[1] == 9007199254740993);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "large"), ZT_DTYPE_F64, f64, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "element 1") != NULL);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "floats"), ZT_DTYPE_F32, f32, 4), ZT_OK);
    CHECK(f32[0] == 0.5f && f32[1] == 2 && isnan(f32[2]) && isinf(f32[3]) && f32[3] < 0);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "floats"), ZT_DTYPE_F16, halves, 4), ZT_OK);
    CHECK(halves[0] == 0x3800 && halves[1] == 0x4000 && halves[3] == 0xfc00);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "floats"), ZT_DTYPE_BF16, halves, 4), ZT_OK);
    CHECK(halves[0] == 0x3f00 && halves[1] == 0x4000 && halves[3] == 0xff80);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "floats"), ZT_DTYPE_I64, i64, 4), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "tenth"), ZT_DTYPE_F64, f64, 2), ZT_OK);
    CHECK(is_double(f64[1], 0.1));
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "tenth"), ZT_DTYPE_F32, f32, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(f32[0] == 0.5f);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "mixed"), ZT_DTYPE_U8, u8, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "bools"), ZT_DTYPE_BOOL, u8, 2), ZT_OK);
    CHECK(u8[0] == 1 && u8[1] == 0);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "bools"), ZT_DTYPE_U8, u8, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "none"), ZT_DTYPE_U8, NULL, 0), ZT_OK);
    /* a single number */
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "one"), ZT_DTYPE_U8, u8, 1), ZT_OK);
    CHECK(u8[0] == 7 && u8[1] == 0);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "one"), ZT_DTYPE_U8, NULL, 0), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_value_read_numbers(zt_value_find(map, "one"), ZT_DTYPE_BOOL, u8, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_numbers(map, ZT_DTYPE_U8, u8, 4), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(file);
}

/* The bytes of each text, even if they are not UTF-8: a token in a vocabulary can be part of a character. */
static void strings(void)
{
    static const char text[] = "{\"words\":[\"one\",\"\",\"a\\u0000b\"],\"none\":[],\"one\":\"x\",\"mixed\":[1,\"a\"],"
                               "\"tokens\":[\"\u00e9\",{\"$bytes\":\"c3\"},{\"$bytes\":\"\"},{\"$bytes\":\"00ff\"},\"z\"]}";
    zt_file *file = with_attribute(text);
    const zt_value *map = zt_value_find(zt_file_attributes(file), "all"), *tokens = zt_value_find(map, "tokens");
    const char *words[5] = {NULL, NULL, NULL, "77", NULL}, *whole;
    size_t lengths[5] = {77, 77, 77, 77, 77}, k, size;
    CHECK_STATUS(zt_value_read_strings(zt_value_find(map, "words"), words, lengths, 5), ZT_OK);
    CHECK(strcmp(words[0], "one") == 0 && strcmp(words[1], "") == 0 && memcmp(words[2], "a\0b", 4) == 0);
    CHECK(lengths[0] == 3 && lengths[1] == 0 && lengths[2] == 3 && lengths[3] == 77 && strcmp(words[3], "77") == 0);
    for (k = 0; k < 3; k++) /* borrowed: the same addresses every time */
        CHECK(words[k] != NULL && zt_value_get_kind(zt_value_at(zt_value_find(map, "words"), k)) == ZT_VALUE_KIND_STRING);
    words[0] = NULL;
    CHECK_STATUS(zt_value_read_strings(zt_value_find(map, "words"), words, NULL, 3), ZT_OK);
    CHECK(words[0] != NULL);
    words[0] = "77";
    CHECK_STATUS(zt_value_read_strings(zt_value_find(map, "words"), words, lengths, 2), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_value_read_strings(zt_value_find(map, "words"), NULL, lengths, 3), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_strings(zt_value_find(map, "mixed"), words, lengths, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "element 0") != NULL && strcmp(words[0], "77") == 0);
    CHECK_STATUS(zt_value_read_strings(zt_value_find(map, "none"), NULL, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_value_read_strings(zt_value_find(map, "one"), words, lengths, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_value_read_strings(tokens, words, lengths, 5), ZT_OK);
    CHECK(lengths[0] == 2 && lengths[1] == 1 && lengths[2] == 0 && lengths[3] == 2 && lengths[4] == 1);
    CHECK(memcmp(words[1], "\xc3", 2) == 0 && words[2][0] == '\0' && memcmp(words[3], "\0\xff", 3) == 0);
    for (k = 0; k < 5; k++) { /* like the getters of single values */
        const zt_value *token = zt_value_at(tokens, k);
        const void *bytes = NULL;
        if (zt_value_get_kind(token) == ZT_VALUE_KIND_BYTES) {
            CHECK_STATUS(zt_value_get_bytes(token, &bytes, &size), ZT_OK);
            whole = (const char *)bytes;
        } else
            CHECK_STATUS(zt_value_get_string(token, &whole, &size), ZT_OK);
        CHECK(words[k] == whole && lengths[k] == size);
    }
    zt_close(file);
}

/* Numbers inside a value do not have a dtype, a bool has one. Also the number of values. */
static size_t nothing_is_stated(const zt_value *value, unsigned depth)
{
    size_t i, found = value != NULL;
    const zt_value_kind kind = zt_value_get_kind(value);
    CHECK(depth < 16);
    CHECK_U64(zt_value_dtype(value), kind == ZT_VALUE_KIND_BOOL ? ZT_DTYPE_BOOL : ZT_DTYPE_OTHER);
    for (i = 0; i < zt_value_count(value); i++)
        found += nothing_is_stated(zt_value_at(value, i), depth + 1);
    return found;
}

/* Only GGUF declares dtypes (gguf.c). Values of .zt, safetensors, npz and PyTorch do not have one. */
static void dtypes(void)
{
    static const struct { const char *name; int has_attributes; } files[] = {
        {"foreign/valid/amber-all-dtypes-python.safetensors", 0}, {"foreign/valid/amber-metadata-last.safetensors", 1},
        {"foreign/valid/amber-all-stored.npz", 0}, {"foreign/valid/amber-all-deflated.npz", 0},
        {"foreign/valid/amber-checkpoint-nested.pt", 1}};
    zt_file *file = with_attribute("{\"n\":[1,2.5,-3],\"one\":7,\"yes\":true,\"no\":null,\"text\":\"t\",\"empty\":[]}");
    size_t i;
    CHECK(nothing_is_stated(zt_file_attributes(file), 0) == 11);
    CHECK(zt_value_dtype(zt_value_find(zt_value_find(zt_file_attributes(file), "all"), "yes")) == ZT_DTYPE_BOOL);
    zt_close(file);
    for (i = 0; i < COUNT(files); i++) {
        size_t at, found;
        file = open_data(files[i].name);
        found = nothing_is_stated(zt_file_attributes(file), 0);
        for (at = 0; at < zt_object_count(file); at++)
            (void)nothing_is_stated(zt_object_attributes(zt_object_at(file, at)), 0);
        CHECK(!files[i].has_attributes || found > 1);
        zt_close(file);
    }
}

int main(void)
{
    path = scratch_path("value_arrays.zt");
    numbers();
    strings();
    dtypes();
    CHECK(remove(path) == 0);
    return check_done("value_arrays");
}
