/* Chapter "writer": edits of the objects in a file. */
#include "attributes.h"
#include "writing.h"

static const char *path;
static const uint64_t four = 4;
static const float values[4] = {1, 2, 3, 4}, others[4] = {5, 6, 7, 8};

static zt_writer *append(void)
{
    zt_writer *w = NULL;
    CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK);
    REQUIRE(w != NULL);
    return w;
}

/* "a", "b" and "c", each with the attribute "n". */
static void put_file(void)
{
    static const char *const names[3] = {"a", "b", "c"};
    zt_writer *w = NULL;
    size_t i;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    for (i = 0; i < 3; i++) {
        zt_object_desc object;
        zt_component_desc data;
        INIT(object), INIT(data);
        data.role = "data", data.dtype = ZT_DTYPE_F32, data.data = values, data.size = sizeof values;
        object.name = names[i], object.format = ZT_FORMAT_DENSE, object.shape = &four, object.rank = 1;
        object.components = &data, object.component_count = 1, object.attributes_json = "{\"n\":1}";
        CHECK_STATUS(zt_write_object(w, &object), ZT_OK);
    }
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
}

static zt_status give(zt_writer *w, const char *name, const char *key, int64_t n)
{
    zt_attribute a = attribute(ZT_ATTRIBUTE_KIND_I64);
    a.i64 = n;
    return zt_write_attribute(w, name, 0, key, &a);
}

static zt_status take(zt_writer *w, const char *name, const char *key)
{
    zt_attribute a = attribute(ZT_ATTRIBUTE_KIND_REMOVE);
    return zt_write_attribute(w, name, 0, key, &a);
}

static zt_status rename_to(zt_writer *w, const char *name, const char *new_name)
{
    return zt_write_rename(w, name, 0, new_name, 0);
}

static void edited(void)
{
    zt_writer *w;
    zt_file *file;
    zt_write_summary summary;
    zt_verify_report report;
    float got[4];
    int64_t n = 0;
    put_file();
    w = append();
    CHECK_STATUS(rename_to(w, "a", "t"), ZT_OK); /* a and b swap names */
    CHECK_STATUS(rename_to(w, "b", "a"), ZT_OK);
    CHECK_STATUS(rename_to(w, "t", "b"), ZT_OK);
    CHECK_STATUS(zt_write_remove(w, "cut off", 1), ZT_OK); /* "c" */
    CHECK_STATUS(zt_write_dense(w, "c", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &four, 1, others, sizeof others), ZT_OK);
    CHECK_STATUS(give(w, "b", "n", 2), ZT_OK);
    CHECK_STATUS(give(w, "b", "more", 3), ZT_OK);
    CHECK_STATUS(take(w, "a", "n"), ZT_OK);
    CHECK_STATUS(zt_write_rename(w, "a", 0, "nul\0nul", 7), ZT_OK);
    INIT(summary);
    CHECK_STATUS(zt_write_finish(w, &summary), ZT_OK);
    CHECK_U64(summary.objects, 3);
    CHECK_U64(summary.data_bytes, sizeof others);
    file = open_path(path);
    CHECK_U64(zt_object_count(file), 3);
    CHECK_STR(zt_object_name(zt_object_at(file, 0)), "b");
    CHECK(zt_object_find_n(file, "nul\0nul", 7) == zt_object_at(file, 1));
    CHECK(zt_object_attributes(zt_object_at(file, 1)) == NULL);
    CHECK_U64(zt_value_count(zt_object_attributes(zt_object_at(file, 0))), 2);
    CHECK(zt_value_get_i64(zt_value_find(zt_object_attributes(zt_object_at(file, 0)), "n"), &n) == ZT_OK && n == 2);
    CHECK(zt_value_get_i64(zt_value_find(zt_object_attributes(zt_object_at(file, 0)), "more"), &n) == ZT_OK && n == 3);
    CHECK_STR(zt_object_name(zt_object_at(file, 2)), "c"); /* a replaced object comes last */
    CHECK_STATUS(zt_component_read(component_of(file, "c", "data"), got, sizeof got), ZT_OK);
    CHECK(memcmp(got, others, sizeof got) == 0);
    CHECK_STATUS(zt_component_read(component_of(file, "b", "data"), got, sizeof got), ZT_OK);
    CHECK(memcmp(got, values, sizeof got) == 0);
    INIT(report); /* bytes of the old "c": those of 1, 2, 3 and 4 that are not zero */
    CHECK_STATUS(zt_verify(file, NULL, &report), ZT_OK);
    CHECK_U64(report.padding_nonzero, 7);
    zt_close(file);
}

static void refused(void)
{
    static char long_name[(64 << 10) + 2];
    zt_object_desc open;
    zt_writer *w;
    size_t size;
    unsigned char *before;
    put_file();
    before = read_file(path, &size);
    w = append();
    CHECK_STATUS(zt_write_remove(w, "none", 0), ZT_ERROR_NOT_FOUND);
    CHECK(strstr(zt_last_error(), "\"none\"") != NULL);
    CHECK_STATUS(rename_to(w, "none", "x"), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(rename_to(w, "a", "b"), ZT_ERROR_EXISTS);
    CHECK_STATUS(rename_to(w, "a", "a"), ZT_ERROR_EXISTS);
    CHECK_STATUS(rename_to(w, "a", "\xff"), ZT_ERROR_INVALID_ARGUMENT);
    memset(long_name, 'n', sizeof long_name - 1);
    CHECK_STATUS(rename_to(w, "a", long_name), ZT_ERROR_LIMIT);
    CHECK_STATUS(give(w, "none", "k", 1), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(take(w, "a", "none"), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &four, 1, others, sizeof others), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_dense(w, "new", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &four, 1, others, sizeof others), ZT_OK);
    CHECK_STATUS(rename_to(w, "a", "new"), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_remove(w, "new", 0), ZT_ERROR_STATE); /* this writer's own */
    CHECK_STATUS(rename_to(w, "new", "x"), ZT_ERROR_STATE);
    CHECK_STATUS(give(w, "new", "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_remove(w, "b", 0), ZT_OK);
    CHECK_STATUS(zt_write_remove(w, "b", 0), ZT_ERROR_NOT_FOUND);
    INIT(open);
    open.name = "open", open.format = ZT_FORMAT_DENSE, open.shape = &four, open.rank = 1;
    CHECK_STATUS(zt_write_begin(w, &open), ZT_OK);
    CHECK_STATUS(zt_write_remove(w, "a", 0), ZT_ERROR_STATE);
    CHECK_STATUS(rename_to(w, "a", "x"), ZT_ERROR_STATE);
    CHECK_STATUS(give(w, "a", "k", 1), ZT_ERROR_STATE);
    zt_write_abort(w);
    CHECK(file_is(path, before, size));
    free(before);
    /* A new file cannot be edited. */
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_remove(w, "a", 0), ZT_ERROR_NOT_FOUND);
    zt_write_abort(w);
}

int main(void)
{
    path = scratch_path("edited.zt");
    edited();
    refused();
    CHECK(remove(path) == 0);
    return check_done("edit");
}
