/* Chapter "writer": attributes of every kind, of files and of objects, in 1.2 and 1.1. */
#include <math.h>

#include "attributes.h"
#include "support.h"

static const char *path;

/* JSON text that is set, and the JSON text that is read back. */
static const struct { const char *key, *in, *out; } texts[] = {
    {"j-null", "null", "null"},
    {"j-int", "9007199254740993", "9007199254740993"},
    {"j-max", "18446744073709551615", "18446744073709551615"},
    {"j-min", "-18446744073709551616", "-18446744073709551616"},
    {"j-float", "1.0", "1.0"},
    {"j-exponent", "1e2", "100.0"},
    {"j-text", " \"a\\n\\u00e9\\ud83d\\ude00\\\"\\\\\" ", "\"a\\n\xc3\xa9\xf0\x9f\x98\x80\\\"\\\\\""},
    {"j-array", "[1, [], {}, [true, false]]", "[1,[],{},[true,false]]"},
    {"j-map", "{\"b\": 1, \"a\": {\"\": null}}", "{\"b\":1,\"a\":{\"\":null}}"},
    {"j-bytes", "{\"$bytes\": \"00FF10\"}", "{\"$bytes\":\"00ff10\"}"},
    {"j-nan", "{\"$float\": \"nan\"}", "{\"$float\":\"nan\"}"},
    {"j-inf", "{\"$float\": \"-inf\"}", "{\"$float\":\"-inf\"}"},
    {"j-tag", "{\"$tag\": [32, \"http://example.com/\"]}", "{\"$tag\":[32,\"http://example.com/\"]}"},
    {"j-undefined", "{\"$undefined\": true}", "{\"$undefined\":true}"},
    {"j-simple", "{\"$simple\": 255}", "{\"$simple\":255}"},
    {"j-pairs", "{\"$map\": [[1, \"a\"], [{\"$bytes\": \"6b\"}, 2.5]]}", "{\"$map\":[[1,\"a\"],[{\"$bytes\":\"6b\"},2.5]]}"},
};

static void set_all(zt_writer *w, const char *object)
{
    static const float floats[] = {0.5f, -2, 1e30f};
    static const char *const words[] = {"one", "two"};
    static const size_t lengths[] = {2, 0};
    size_t i;
    CHECK_STATUS(set_bool(w, object, "true", 1), ZT_OK);
    CHECK_STATUS(set_bool(w, object, "false", 0), ZT_OK);
    CHECK_STATUS(set_i64(w, object, "i-min", INT64_MIN), ZT_OK);
    CHECK_STATUS(set_i64(w, object, "i-wide", -INT64_C(9007199254740994)), ZT_OK);
    CHECK_STATUS(set_i64(w, object, "i-max", INT64_MAX), ZT_OK);
    CHECK_STATUS(set_i64(w, object, "zero", 0), ZT_OK);
    CHECK_STATUS(set_u64(w, object, "u-max", UINT64_MAX), ZT_OK);
    CHECK_STATUS(set_f64(w, object, "pi", 3.141592653589793), ZT_OK);
    CHECK_STATUS(set_f64(w, object, "half", 0.5), ZT_OK);
    CHECK_STATUS(set_f64(w, object, "-0", -0.0), ZT_OK);
    CHECK_STATUS(set_f64(w, object, "whole", 7.0), ZT_OK);
    CHECK_STATUS(set_f64(w, object, "nan", (double)NAN), ZT_OK);
    CHECK_STATUS(set_f64(w, object, "inf", (double)INFINITY), ZT_OK);
    CHECK_STATUS(set_string(w, object, "text", "h\xc3\xa9llo"), ZT_OK);
    CHECK_STATUS(set_string(w, object, "", "empty key"), ZT_OK);
    CHECK_STATUS(set_string(w, object, "empty", ""), ZT_OK);
    CHECK_STATUS(set_bytes(w, object, "bytes", "\0\xff\x10", 3), ZT_OK);
    CHECK_STATUS(set_bytes(w, object, "no bytes", NULL, 0), ZT_OK);
    CHECK_STATUS(set_i64(w, object, "twice", 1), ZT_OK);
    CHECK_STATUS(set_string(w, object, "twice", "second"), ZT_OK); /* replaces */
    CHECK_STATUS(set_numbers(w, object, "f32s", ZT_DTYPE_F32, floats, COUNT(floats)), ZT_OK);
    CHECK_STATUS(set_numbers(w, object, "i8s", ZT_DTYPE_I8, "\x80\x7f\0", 3), ZT_OK);
    CHECK_STATUS(set_numbers(w, object, "bools", ZT_DTYPE_BOOL, "\1\0", 2), ZT_OK);
    CHECK_STATUS(set_numbers(w, object, "no numbers", ZT_DTYPE_U64, NULL, 0), ZT_OK);
    CHECK_STATUS(set_strings(w, object, "words", words, NULL, 2), ZT_OK);
    CHECK_STATUS(set_strings(w, object, "cut", words, lengths, 2), ZT_OK);
    CHECK_STATUS(set_null(w, object, "null"), ZT_OK);
    CHECK_STATUS(set_i64(w, object, "gone", 1), ZT_OK);
    CHECK_STATUS(set_remove(w, object, "gone"), ZT_OK);
    CHECK_STATUS(set_remove(w, object, "gone"), ZT_ERROR_NOT_FOUND);
    for (i = 0; i < COUNT(texts); i++)
        if (!CHECK_STATUS(set_json(w, object, texts[i].key, texts[i].in), ZT_OK))
            fprintf(stderr, "    %s\n", texts[i].in);
}

/* These calls set nothing. */
static void set_none(zt_writer *w, const char *object)
{
    static const char *const broken[] = {"", " ", "{", "[1,]", "{\"a\":}", "nul", "01", "+1", "1.", ".5", "\"", "\"\\x\"", "\"\\ud800\"",
        "1 2", "{\"a\":1,\"a\":2}", "{\"$bytes\": \"0\"}", "{\"$bytes\": \"zz\"}", "{\"$float\": \"x\"}", "18446744073709551616",
        "-18446744073709551617", "\"a\nb\"", "NaN", "Infinity", "'a'", "\"\xff\""};
    static const char *const one_bad[] = {"a", "\xff", NULL};
    char deep[2048];
    zt_attribute a;
    size_t i;
    CHECK_STATUS(set_numbers(w, object, "x", ZT_DTYPE_BOOL, "\1\2", 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "element 1") != NULL);
    CHECK_STATUS(set_numbers(w, object, "x", ZT_DTYPE_OTHER, "a", 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_numbers(w, object, "x", 99, "a", 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_numbers(w, object, "x", ZT_DTYPE_U8, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_numbers(w, object, "x", ZT_DTYPE_F64, "a", SIZE_MAX), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_numbers(w, object, "x", ZT_DTYPE_F64, "a", SIZE_MAX / 8 + 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_strings(w, object, "x", NULL, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_strings(w, object, "x", one_bad, NULL, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "string 1") != NULL);
    CHECK_STATUS(set_strings(w, object, "x", one_bad + 2, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_strings(w, object, "x", one_bad, NULL, SIZE_MAX), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_value(w, object, "x", NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_remove(w, object, "x"), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(set_remove(w, object, NULL), ZT_ERROR_INVALID_ARGUMENT);
    for (i = 0; i < 3; i++) {
        static const zt_attribute_kind unknown[] = {-1, 12, INT32_MAX};
        a = attribute(unknown[i]);
        CHECK_STATUS(zt_write_attribute(w, NULL, 0, "x", &a), ZT_ERROR_INVALID_ARGUMENT);
    }
    CHECK_STATUS(set_bool(w, object, "x", 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_bool(w, object, "x", -1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_string(w, object, "x", NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_string(w, object, "x", "\xc3("), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_bytes(w, object, "x", NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_json(w, object, "x", NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_bool(w, object, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_i64(w, object, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_u64(w, object, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_f64(w, object, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_string(w, object, NULL, "a"), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_bytes(w, object, NULL, "a", 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_json(w, object, NULL, "1"), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_i64(w, object, "\x80", 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_json(w, object, "\xf0\x9f", "1"), ZT_ERROR_INVALID_ARGUMENT);
    for (i = 0; i < COUNT(broken); i++)
        if (!CHECK_STATUS(set_json(w, object, "x", broken[i]), ZT_ERROR_INVALID_ARGUMENT))
            fprintf(stderr, "    %s\n", broken[i]);
    memset(deep, '[', 1000); /* deeper than readers accept */
    memset(deep + 1000, ']', 1000);
    deep[2000] = 0;
    CHECK(set_json(w, object, "x", deep) != ZT_OK);
}

static void check_json(const zt_value *map, const char *key, const char *expected)
{
    char got[256] = "";
    CHECK_STATUS(zt_value_to_json(zt_value_find(map, key), got, sizeof got, NULL), ZT_OK);
    CHECK_STR(got, expected);
}

static void check_all(const zt_value *map)
{
    int32_t b = 7;
    int64_t i = 7;
    uint64_t u = 7;
    double f = 7;
    const char *s = NULL;
    const void *y = NULL;
    size_t n = 7, k;
    CHECK_U64(zt_value_count(map), 26 + COUNT(texts));
    CHECK(zt_value_get_bool(zt_value_find(map, "true"), &b) == ZT_OK && b == 1);
    CHECK(zt_value_get_bool(zt_value_find(map, "false"), &b) == ZT_OK && b == 0);
    CHECK(zt_value_get_i64(zt_value_find(map, "i-min"), &i) == ZT_OK && i == INT64_MIN);
    CHECK(zt_value_get_i64(zt_value_find(map, "i-max"), &i) == ZT_OK && i == INT64_MAX);
    CHECK(zt_value_get_i64(zt_value_find(map, "zero"), &i) == ZT_OK && i == 0);
    CHECK(zt_value_get_u64(zt_value_find(map, "u-max"), &u) == ZT_OK && u == UINT64_MAX);
    CHECK(zt_value_get_f64(zt_value_find(map, "i-wide"), &f) == ZT_OK && is_double(f, -9007199254740994.0)); /* exact */
    CHECK(zt_value_get_f64(zt_value_find(map, "pi"), &f) == ZT_OK && is_double(f, 3.141592653589793));
    CHECK(zt_value_get_f64(zt_value_find(map, "half"), &f) == ZT_OK && f == 0.5);
    CHECK(zt_value_get_f64(zt_value_find(map, "-0"), &f) == ZT_OK && f == 0 && signbit(f));
    CHECK(zt_value_get_f64(zt_value_find(map, "whole"), &f) == ZT_OK && f == 7.0);
    CHECK_U64(zt_value_get_kind(zt_value_find(map, "whole")), ZT_VALUE_KIND_FLOAT);
    CHECK(zt_value_get_f64(zt_value_find(map, "nan"), &f) == ZT_OK && isnan(f));
    CHECK(zt_value_get_f64(zt_value_find(map, "inf"), &f) == ZT_OK && isinf(f) && f > 0);
    CHECK(zt_value_get_string(zt_value_find(map, "text"), &s, &n) == ZT_OK && n == 6 && strcmp(s, "h\xc3\xa9llo") == 0);
    CHECK(zt_value_get_string(zt_value_find(map, ""), &s, &n) == ZT_OK && strcmp(s, "empty key") == 0);
    CHECK(zt_value_get_string(zt_value_find(map, "empty"), &s, &n) == ZT_OK && n == 0 && *s == 0);
    CHECK(zt_value_get_bytes(zt_value_find(map, "bytes"), &y, &n) == ZT_OK && n == 3 && memcmp(y, "\0\xff\x10", 3) == 0);
    CHECK(zt_value_get_bytes(zt_value_find(map, "no bytes"), &y, &n) == ZT_OK && n == 0);
    CHECK(zt_value_get_string(zt_value_find(map, "twice"), &s, &n) == ZT_OK && strcmp(s, "second") == 0);
    CHECK(zt_value_find(map, "x") == NULL && zt_value_find(map, "gone") == NULL);
    check_json(map, "f32s", "[0.5,-2.0,1.0000000150474662e30]");
    check_json(map, "i8s", "[-128,127,0]");
    check_json(map, "bools", "[true,false]");
    check_json(map, "no numbers", "[]");
    check_json(map, "words", "[\"one\",\"two\"]");
    check_json(map, "cut", "[\"on\",\"\"]");
    check_json(map, "null", "null");
    for (k = 0; k < COUNT(texts); k++) {
        char got[256] = "";
        char *from = got, *to = got;
        int inside = 0;
        CHECK_STATUS(zt_value_to_json(zt_value_find(map, texts[k].key), got, sizeof got, NULL), ZT_OK);
        for (; *from; from++) { /* without the spaces between tokens */
            inside ^= *from == '"' && (from == got || from[-1] != '\\');
            if (inside || *from != ' ')
                *to++ = *from;
        }
        *to = 0;
        CHECK_STR(got, texts[k].out);
    }
}

static void every_kind(zt_spec version)
{
    zt_object_desc o;
    zt_component_desc c;
    zt_write_options wo;
    zt_writer *w = NULL;
    zt_file *file;
    INIT(wo);
    wo.spec = version;
    CHECK_STATUS(zt_write_create(path, &wo, &w), ZT_OK);
    INIT(o);
    o.name = "t";
    o.format = ZT_FORMAT_DENSE;
    INIT(c);
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    c.data = "a";
    c.size = 1;
    set_all(w, NULL);
    set_none(w, NULL);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    set_all(w, "t");
    set_none(w, "t");
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "plain", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 0, "b", 1), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    check_all(zt_file_attributes(file));
    check_all(zt_object_attributes(zt_object_find(file, "t")));
    CHECK(zt_value_count(zt_object_attributes(zt_object_find(file, "plain"))) == 0);
    zt_close(file);
}

/* Copies attributes of an open file unchanged. */
static void taken_over(void)
{
    zt_file *from = open_data("valid-odd/attributes-everything.zt"), *to;
    const zt_value *map = zt_object_attributes(zt_object_find(from, "x")), *got;
    zt_object_desc o;
    zt_component_desc c;
    zt_writer *w = NULL;
    char one[4096] = "", two[4096] = "x";
    INIT(c);
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    c.data = "a";
    c.size = 1;
    INIT(o);
    o.name = "t";
    o.format = ZT_FORMAT_DENSE;
    o.components = &c;
    o.component_count = 1;
    o.attributes = map;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_object(w, &o), ZT_OK);
    o.name = "bad";
    o.attributes = zt_value_find(map, "text"); /* no map */
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(set_value(w, NULL, "copied", map), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    to = open_path(path);
    CHECK_STATUS(zt_value_to_json(map, one, sizeof one, NULL), ZT_OK);
    CHECK_STATUS(zt_value_to_json(zt_value_find(zt_file_attributes(to), "copied"), two, sizeof two, NULL), ZT_OK);
    CHECK_STR(two, one);
    got = zt_object_attributes(zt_object_find(to, "t"));
    CHECK_U64(zt_value_count(got), zt_value_count(map));
    CHECK_STATUS(zt_value_to_json(map, one, sizeof one, NULL), ZT_OK);
    CHECK_STATUS(zt_value_to_json(got, two, sizeof two, NULL), ZT_OK);
    CHECK_STR(two, one);
    CHECK_U64(zt_object_count(to), 1);
    zt_close(to);
    zt_close(from);
}

/* Changes existing attributes in an append. */
static void removed_by_an_append(void)
{
    zt_writer *w = NULL;
    zt_file *file;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(set_i64(w, NULL, "first", 1), ZT_OK);
    CHECK_STATUS(set_i64(w, NULL, "second", 2), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK);
    CHECK_STATUS(set_remove(w, NULL, "first"), ZT_OK);
    CHECK_STATUS(set_remove(w, NULL, "third"), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    CHECK_U64(zt_value_count(zt_file_attributes(file)), 1);
    CHECK(zt_value_find(zt_file_attributes(file), "first") == NULL);
    zt_close(file);
}

#ifndef __cplusplus
/* In one line of C. */
static void by_macro(void)
{
    static const uint16_t ids[] = {1, 65535};
    zt_writer *w = NULL;
    zt_file *file;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "b", &ZT_ATTRIBUTE_BOOL(1)), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "i", &ZT_ATTRIBUTE_I64(-7)), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "u", &ZT_ATTRIBUTE_U64(UINT64_MAX)), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "f", &ZT_ATTRIBUTE_F64(0.5)), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "s", &ZT_ATTRIBUTE_STRING("bert")), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "j", &ZT_ATTRIBUTE_JSON("[{}]")), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "n", &ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_NUMBERS, .dtype = ZT_DTYPE_U16,
                                                               .data = ids, .count = 2)), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    check_json(zt_file_attributes(file), "b", "true");
    check_json(zt_file_attributes(file), "i", "-7");
    check_json(zt_file_attributes(file), "u", "18446744073709551615");
    check_json(zt_file_attributes(file), "f", "0.5");
    check_json(zt_file_attributes(file), "s", "\"bert\"");
    check_json(zt_file_attributes(file), "j", "[{}]");
    check_json(zt_file_attributes(file), "n", "[1,65535]");
    zt_close(file);
}
#endif

int main(void)
{
    path = scratch_path("attributes.zt");
    every_kind(ZT_SPEC_DEFAULT);
    every_kind(ZT_SPEC_1_1_0);
    taken_over();
    removed_by_an_append();
#ifndef __cplusplus
    by_macro();
#endif
    CHECK(remove(path) == 0);
    return check_done("attributes");
}
