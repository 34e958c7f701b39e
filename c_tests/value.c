/* Chapter "value": attributes of every kind, getters with matching and other kinds, JSON text. */
#include <math.h>

#include "support.h"

/* The map of the corpus file with all kinds; manifest.json lists the values. */
static const zt_value *everything(const zt_file *file)
{
    const zt_value *map = zt_object_attributes(zt_object_find(file, "x"));
    REQUIRE(zt_value_get_kind(map) == ZT_VALUE_KIND_MAP);
    return map;
}

static const zt_value *under(const zt_value *map, const char *key)
{
    const zt_value *value = zt_value_find(map, key);
    if (!value)
        fprintf(stderr, "no key %s\n", key);
    REQUIRE(value != NULL);
    return value;
}

static int is_text(const zt_value *value, const char *want)
{
    const char *text = NULL;
    size_t length = 0;
    return zt_value_get_string(value, &text, &length) == ZT_OK && length == strlen(want) && strcmp(text, want) == 0;
}

/* Every getter of another kind fails and does not write its output. */
static void getters_of(const zt_value *value, zt_value_kind kind, int fits_i64, int fits_u64)
{
    static const zt_status no = ZT_ERROR_INVALID_ARGUMENT;
    int32_t b = 77;
    int64_t i = 77;
    uint64_t u = 77, t = 77;
    double f = 77;
    const char *s = "77";
    const void *p = "77";
    size_t n = 77;
    CHECK_U64(zt_value_get_kind(value), kind);
    CHECK_STATUS(zt_value_get_bool(value, &b), kind == ZT_VALUE_KIND_BOOL ? ZT_OK : no);
    CHECK((b == 77) == (kind != ZT_VALUE_KIND_BOOL));
    CHECK_STATUS(zt_value_get_i64(value, &i), fits_i64 ? ZT_OK : no);
    CHECK(fits_i64 || i == 77);
    CHECK_STATUS(zt_value_get_u64(value, &u), fits_u64 ? ZT_OK : no);
    CHECK(fits_u64 || u == 77);
    CHECK_STATUS(zt_value_get_f64(value, &f), kind == ZT_VALUE_KIND_FLOAT || kind == ZT_VALUE_KIND_INT ? ZT_OK : no);
    CHECK(kind == ZT_VALUE_KIND_FLOAT || kind == ZT_VALUE_KIND_INT || f == 77);
    CHECK_STATUS(zt_value_get_string(value, &s, &n), kind == ZT_VALUE_KIND_STRING ? ZT_OK : no);
    CHECK(kind == ZT_VALUE_KIND_STRING || (strcmp(s, "77") == 0 && n == 77));
    n = 77;
    CHECK_STATUS(zt_value_get_bytes(value, &p, &n), kind == ZT_VALUE_KIND_BYTES ? ZT_OK : no);
    CHECK(kind == ZT_VALUE_KIND_BYTES || n == 77);
    CHECK_STATUS(zt_value_get_tag(value, &t), kind == ZT_VALUE_KIND_TAG ? ZT_OK : no);
    CHECK(kind == ZT_VALUE_KIND_TAG || t == 77);
    CHECK(kind == ZT_VALUE_KIND_MAP || zt_value_key_at(value, 0) == NULL);
    CHECK(kind == ZT_VALUE_KIND_MAP || zt_value_find(value, "a") == NULL);
    CHECK(kind == ZT_VALUE_KIND_MAP || kind == ZT_VALUE_KIND_ARRAY || kind == ZT_VALUE_KIND_TAG ||
          (zt_value_count(value) == 0 && zt_value_at(value, 0) == NULL));
    CHECK(zt_value_at(value, zt_value_count(value)) == NULL && zt_value_at(value, SIZE_MAX) == NULL);
    CHECK(zt_value_key_at(value, zt_value_count(value)) == NULL);
    /* NULL outputs. */
    CHECK_STATUS(zt_value_get_bool(value, NULL), no);
    CHECK_STATUS(zt_value_get_i64(value, NULL), no);
    CHECK_STATUS(zt_value_get_u64(value, NULL), no);
    CHECK_STATUS(zt_value_get_f64(value, NULL), no);
    CHECK_STATUS(zt_value_get_string(value, NULL, &n), no);
    CHECK_STATUS(zt_value_get_bytes(value, NULL, &n), no);
    CHECK_STATUS(zt_value_get_tag(value, NULL), no);
}

static void kinds(void)
{
    zt_file *file = open_data("valid-odd/attributes-everything.zt");
    zt_file *custom = open_data("v0.1/rs-0.1.0-custom-fields.zt");
    zt_file *simple = open_data("valid-odd/attributes-simple.zt");
    const zt_value *map = everything(file), *fields = zt_object_attributes(zt_object_find(custom, "t"));
    getters_of(NULL, ZT_VALUE_KIND_NULL, 0, 0);
    getters_of(under(fields, "nil"), ZT_VALUE_KIND_NULL, 0, 0);
    getters_of(under(fields, "t"), ZT_VALUE_KIND_BOOL, 0, 0);
    getters_of(under(fields, "int"), ZT_VALUE_KIND_INT, 1, 1);
    getters_of(under(fields, "neg"), ZT_VALUE_KIND_INT, 1, 0);
    getters_of(under(map, "max"), ZT_VALUE_KIND_INT, 0, 1);
    getters_of(under(map, "min"), ZT_VALUE_KIND_INT, 0, 0);
    getters_of(under(fields, "pi"), ZT_VALUE_KIND_FLOAT, 0, 0);
    getters_of(under(map, "half"), ZT_VALUE_KIND_FLOAT, 0, 0); /* 1.0, but not an integer */
    getters_of(under(fields, "text"), ZT_VALUE_KIND_STRING, 0, 0);
    getters_of(under(fields, "bytes"), ZT_VALUE_KIND_BYTES, 0, 0);
    getters_of(under(fields, "list"), ZT_VALUE_KIND_ARRAY, 0, 0);
    getters_of(under(fields, "map"), ZT_VALUE_KIND_MAP, 0, 0);
    getters_of(under(map, "datetime"), ZT_VALUE_KIND_TAG, 0, 0);
    getters_of(under(map, "big"), ZT_VALUE_KIND_TAG, 0, 0); /* a bignum is a tag of bytes */
    getters_of(under(map, "undefined"), ZT_VALUE_KIND_OTHER, 0, 0);
    getters_of(under(zt_file_attributes(simple), "k"), ZT_VALUE_KIND_OTHER, 0, 0);
    zt_close(simple);
    zt_close(custom);
    zt_close(file);
}

static void scalars(void)
{
    zt_file *file = open_data("valid-odd/attributes-everything.zt");
    zt_file *custom = open_data("v0.1/rs-0.1.0-custom-fields.zt");
    const zt_value *map = everything(file), *fields = zt_object_attributes(zt_object_find(custom, "t"));
    int32_t b = 77;
    int64_t i = 0;
    uint64_t u = 0;
    double f = 0;
    const void *bytes = NULL;
    const char *text = NULL;
    size_t n = 0;
    CHECK(zt_value_get_bool(under(fields, "t"), &b) == ZT_OK && b == 1);
    CHECK(zt_value_get_bool(under(fields, "f"), &b) == ZT_OK && b == 0);
    CHECK(zt_value_get_i64(under(fields, "int"), &i) == ZT_OK && i == 7);
    CHECK(zt_value_get_u64(under(fields, "int"), &u) == ZT_OK && u == 7);
    CHECK(zt_value_get_f64(under(fields, "int"), &f) == ZT_OK && f == 7.0);
    CHECK(zt_value_get_i64(under(fields, "neg"), &i) == ZT_OK && i == -3);
    CHECK(zt_value_get_f64(under(fields, "neg"), &f) == ZT_OK && f == -3.0);
    CHECK(zt_value_get_i64(under(fields, "big"), &i) == ZT_OK && i == INT64_C(9007199254740993));
    CHECK(zt_value_get_f64(under(fields, "big"), &f) == ZT_OK && f == 9007199254740992.0); /* rounded, ties to even */
    CHECK(zt_value_get_u64(under(map, "max"), &u) == ZT_OK && u == UINT64_MAX);
    CHECK(zt_value_get_f64(under(map, "max"), &f) == ZT_OK && f == 18446744073709551616.0);
    CHECK(zt_value_get_f64(under(map, "min"), &f) == ZT_OK && f == -18446744073709551616.0);
    CHECK(zt_value_get_f64(under(fields, "pi"), &f) == ZT_OK && is_double(f, 3.141592653589793));
    CHECK(zt_value_get_f64(under(fields, "float"), &f) == ZT_OK && f == 0.5);
    CHECK(zt_value_get_f64(under(map, "half"), &f) == ZT_OK && f == 1.0);
    CHECK(zt_value_get_f64(under(map, "single"), &f) == ZT_OK && f == 1.0);
    CHECK(zt_value_get_f64(under(map, "inf"), &f) == ZT_OK && isinf(f) && f < 0);
    CHECK(zt_value_get_f64(under(map, "nan"), &f) == ZT_OK && isnan(f));
    CHECK(zt_value_get_f64(under(zt_file_attributes(file), "half-nan"), &f) == ZT_OK && isnan(f));
    CHECK(is_text(under(fields, "text"), "h\xc3\xa9llo"));
    CHECK(is_text(under(fields, "units"), "m/s"));
    CHECK(is_text(under(map, "text"), ""));
    CHECK(zt_value_get_string(under(fields, "text"), &text, NULL) == ZT_OK && strlen(text) == 6);
    CHECK(zt_value_get_bytes(under(fields, "bytes"), &bytes, &n) == ZT_OK && n == 3 && memcmp(bytes, "\0\xff\x10", 3) == 0);
    bytes = NULL;
    CHECK(zt_value_get_bytes(under(fields, "bytes"), &bytes, NULL) == ZT_OK && bytes != NULL);
    zt_close(custom);
    zt_close(file);
}

static void collections(void)
{
    static const char *const order[] = {"datetime", "epoch", "big", "negbig", "self", "nested", "undefined", "nan", "inf", "half",
                                        "single", "min", "max", "intkeys", "text"};
    zt_file *file = open_data("valid-odd/attributes-everything.zt");
    zt_file *custom = open_data("v0.1/rs-0.1.0-custom-fields.zt");
    const zt_value *map = everything(file), *fields = zt_object_attributes(zt_object_find(custom, "t")), *v, *keys;
    const void *bytes = NULL;
    uint64_t tag = 0;
    int64_t i = 0;
    double f = 0;
    size_t k, n = 0;
    CHECK_U64(zt_value_count(map), COUNT(order));
    for (k = 0; k < COUNT(order); k++) {
        CHECK(is_text(zt_value_key_at(map, k), order[k]));
        CHECK(zt_value_at(map, k) == zt_value_find(map, order[k]));
    }
    CHECK(zt_value_find(map, "nothing") == NULL && zt_value_find(map, "") == NULL && zt_value_find(map, NULL) == NULL);
    CHECK(zt_value_find(map, "dateti") == NULL && zt_value_find(map, "datetimes") == NULL);

    v = under(fields, "list"); /* [1, "two", [3.5, null]] */
    CHECK_U64(zt_value_count(v), 3);
    CHECK(zt_value_get_i64(zt_value_at(v, 0), &i) == ZT_OK && i == 1);
    CHECK(is_text(zt_value_at(v, 1), "two"));
    CHECK_U64(zt_value_count(zt_value_at(v, 2)), 2);
    CHECK(zt_value_get_f64(zt_value_at(zt_value_at(v, 2), 0), &f) == ZT_OK && f == 3.5);
    CHECK(zt_value_at(zt_value_at(v, 2), 1) != NULL);
    CHECK_U64(zt_value_get_kind(zt_value_at(zt_value_at(v, 2), 1)), ZT_VALUE_KIND_NULL);
    v = under(fields, "map"); /* {"a": 1, "b": {"c": []}} */
    CHECK_U64(zt_value_count(v), 2);
    v = under(under(v, "b"), "c");
    CHECK(zt_value_get_kind(v) == ZT_VALUE_KIND_ARRAY && zt_value_count(v) == 0);

    v = under(map, "datetime");
    CHECK(zt_value_get_tag(v, &tag) == ZT_OK && tag == 0);
    CHECK_U64(zt_value_count(v), 1);
    CHECK(is_text(zt_value_at(v, 0), "2024-01-15T10:30:00Z"));
    v = under(map, "epoch");
    CHECK(zt_value_get_tag(v, &tag) == ZT_OK && tag == 1);
    CHECK(zt_value_get_f64(zt_value_at(v, 0), &f) == ZT_OK && f == 1.5);
    v = under(map, "negbig");
    CHECK(zt_value_get_tag(v, &tag) == ZT_OK && tag == 3);
    CHECK(zt_value_get_bytes(zt_value_at(v, 0), &bytes, &n) == ZT_OK && n == 9 && memcmp(bytes, "\1\1\1\1\1\1\1\1\1", 9) == 0);
    v = under(map, "self");
    CHECK(zt_value_get_tag(v, &tag) == ZT_OK && tag == 55799);
    CHECK(zt_value_get_kind(zt_value_at(v, 0)) == ZT_VALUE_KIND_ARRAY);
    v = under(map, "nested");
    CHECK(zt_value_get_tag(zt_value_at(v, 0), &tag) == ZT_OK && tag == 1001);
    CHECK(is_text(zt_value_at(zt_value_at(v, 0), 0), "x"));
    CHECK(zt_value_get_tag(under(zt_file_attributes(file), "tagged"), &tag) == ZT_OK && tag == 32);

    keys = under(map, "intkeys"); /* {1: "a", -1: "b", h'6b': "c", true: "d", 1.5: "e", "": "f"} */
    CHECK_U64(zt_value_count(keys), 6);
    CHECK(zt_value_get_i64(zt_value_key_at(keys, 0), &i) == ZT_OK && i == 1);
    CHECK(zt_value_get_i64(zt_value_key_at(keys, 1), &i) == ZT_OK && i == -1);
    CHECK(zt_value_get_bytes(zt_value_key_at(keys, 2), &bytes, &n) == ZT_OK && n == 1 && memcmp(bytes, "k", 1) == 0);
    CHECK_U64(zt_value_get_kind(zt_value_key_at(keys, 3)), ZT_VALUE_KIND_BOOL);
    CHECK(zt_value_get_f64(zt_value_key_at(keys, 4), &f) == ZT_OK && f == 1.5);
    CHECK(is_text(zt_value_at(keys, 0), "a") && is_text(zt_value_at(keys, 5), "f"));
    CHECK(is_text(zt_value_find(keys, ""), "f"));
    CHECK(zt_value_find(keys, "1") == NULL && zt_value_find(keys, "k") == NULL);
    zt_close(custom);
    zt_close(file);

    file = open_data("valid-odd/attributes-nested.zt");
    v = under(zt_file_attributes(file), "k");
    for (k = 0; k < 32; k++) {
        CHECK(zt_value_get_kind(v) == ZT_VALUE_KIND_ARRAY && zt_value_count(v) == 1);
        v = zt_value_at(v, 0);
    }
    i = 7;
    CHECK(zt_value_get_i64(v, &i) == ZT_OK && i == 0);
    zt_close(file);
}

/* JSON text without white space between tokens. */
static void squeeze(char *text)
{
    char *to = text;
    int inside = 0;
    for (; *text; text++) {
        if (inside && *text == '\\')
            *to++ = *text++;
        else if (*text == '"')
            inside = !inside;
        if (inside || !strchr(" \t\n\r", *text))
            *to++ = *text;
    }
    *to = 0;
}

static void json_is(const zt_value *value, const char *want)
{
    size_t needed = 0, again = 0, size;
    char *text;
    CHECK_STATUS(zt_value_to_json(value, NULL, 0, &needed), ZT_OK);
    REQUIRE(needed > 1);
    text = (char *)malloc(needed + 8);
    REQUIRE(text != NULL);
    memset(text, 0x7f, needed + 8);
    CHECK_STATUS(zt_value_to_json(value, text, needed, &again), ZT_OK);
    CHECK_U64(again, needed);
    CHECK_U64(strlen(text), needed - 1);
    CHECK(text[needed] == 0x7f);
    CHECK_STATUS(zt_value_to_json(value, text, needed + 8, NULL), ZT_OK);
    /* As much as fits, NUL-terminated if at least one byte fits. */
    for (size = 1; size < needed; size += 1 + size / 4) {
        char *part = (char *)malloc(size + 1);
        REQUIRE(part != NULL);
        memset(part, 0x7f, size + 1);
        again = 0;
        CHECK_STATUS(zt_value_to_json(value, part, size, &again), ZT_ERROR_BUFFER_SIZE);
        CHECK_U64(again, needed);
        CHECK(part[size] == 0x7f);
        CHECK(memchr(part, 0, size) != NULL && strncmp(part, text, strlen(part)) == 0);
        free(part);
    }
    squeeze(text);
    CHECK_STR(text, want);
    free(text);
}

static void json(void)
{
    zt_file *file = open_data("valid-odd/attributes-everything.zt");
    zt_file *custom = open_data("v0.1/rs-0.1.0-custom-fields.zt");
    zt_file *simple = open_data("valid-odd/attributes-simple.zt");
    const zt_value *map = everything(file), *fields = zt_object_attributes(zt_object_find(custom, "t"));
    char byte = 0x7f;
    size_t needed = 0;
    json_is(under(fields, "nil"), "null");
    json_is(under(fields, "t"), "true");
    json_is(under(fields, "f"), "false");
    json_is(under(fields, "int"), "7");
    json_is(under(fields, "neg"), "-3");
    json_is(under(fields, "big"), "9007199254740993");
    json_is(under(map, "max"), "18446744073709551615");
    json_is(under(map, "min"), "-18446744073709551616");
    json_is(under(fields, "float"), "0.5");
    json_is(under(fields, "pi"), "3.141592653589793");
    json_is(under(map, "half"), "1.0"); /* not 1, which would be read back as an integer */
    json_is(under(fields, "text"), "\"h\xc3\xa9llo\"");
    json_is(under(map, "text"), "\"\"");
    json_is(under(fields, "bytes"), "{\"$bytes\":\"00ff10\"}");
    json_is(under(fields, "list"), "[1,\"two\",[3.5,null]]");
    json_is(under(fields, "map"), "{\"a\":1,\"b\":{\"c\":[]}}");
    json_is(under(map, "nan"), "{\"$float\":\"nan\"}");
    json_is(under(map, "inf"), "{\"$float\":\"-inf\"}");
    json_is(under(map, "datetime"), "{\"$tag\":[0,\"2024-01-15T10:30:00Z\"]}");
    json_is(under(map, "big"), "{\"$tag\":[2,{\"$bytes\":\"010000000000000000\"}]}");
    json_is(under(map, "nested"), "{\"$tag\":[1000,{\"$tag\":[1001,\"x\"]}]}");
    json_is(under(map, "undefined"), "{\"$undefined\":true}");
    json_is(under(map, "intkeys"),
            "{\"$map\":[[1,\"a\"],[-1,\"b\"],[{\"$bytes\":\"6b\"},\"c\"],[true,\"d\"],[1.5,\"e\"],[\"\",\"f\"]]}");
    json_is(zt_file_attributes(simple), "{\"k\":{\"$simple\":0},\"l\":[{\"$simple\":255}]}");
    json_is(zt_object_attributes(zt_object_find(custom, "u")), "{\"components\":[1],\"type\":\"x\",\"version\":\"not the file's\"}");
    /* (NULL, 0) asks for the size; a buffer of 0 bytes is too small. */
    CHECK_STATUS(zt_value_to_json(map, NULL, 0, NULL), ZT_OK);
    CHECK_STATUS(zt_value_to_json(map, &byte, 0, &needed), ZT_ERROR_BUFFER_SIZE);
    CHECK(byte == 0x7f && needed > 400);
    CHECK_STATUS(zt_value_to_json(map, NULL, 10, &needed), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(simple);
    zt_close(custom);
    zt_close(file);
}

int main(void)
{
    kinds();
    scalars();
    collections();
    json();
    return check_done("value");
}
