/* Names with a length, which may contain a NUL, in every call that finds by name and in every call that
 * writes. */
#include "support.h"

static const uint64_t two[2] = {2, 2}, four = 4, zeros[3] = {0, 0, 0};
static const float floats[4] = {1, 2, 3, 4};

static void by_length(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    const zt_object *object = zt_object_find(file, "f32");
    zt_tensor by_name, in_hand;
    INIT(by_name), INIT(in_hand);
    CHECK(zt_component_find_n(object, "data!", 4) == zt_component_find(object, "data"));
    CHECK(zt_component_find_n(object, "data!", 5) == NULL && zt_component_find_n(object, NULL, 0) == NULL);
    CHECK_STATUS(zt_tensor_find(file, "f32", &by_name), ZT_OK);
    CHECK_STATUS(zt_tensor_view(object, &in_hand), ZT_OK);
    CHECK(memcmp(&by_name, &in_hand, sizeof in_hand) == 0 && in_hand.data != NULL);
    zt_close(file);
}

/* Writes names that contain a NUL: a batch, attributes, copies. */
static void written_names(void)
{
    static const char name[] = "a\0b", key[] = "k\0ey";
    static const unsigned char bytes[4] = {1, 2, 3, 4};
    static const uint64_t four = 4;
    const char *path = scratch_path("names.zt"), *copy = scratch_path("names-copy.zt");
    zt_write_request request;
    zt_attribute number;
    zt_copy_options as;
    zt_writer *w = NULL;
    zt_file *file = NULL;
    const zt_object *object;
    INIT(request);
    request.name = name;
    request.name_length = 3;
    request.shape = &four;
    request.rank = 1;
    request.data = bytes;
    request.size = 4;
    request.dtype = ZT_DTYPE_U8;
    INIT(number);
    number.kind = ZT_ATTRIBUTE_KIND_I64;
    number.i64 = 7;
    number.key_length = 4;
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_batch(w, &request, 1), ZT_OK);
    request.name_length = 0; /* up to the NUL */
    CHECK_STATUS(zt_write_batch(w, &request, 1), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, key, &number), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    object = zt_object_find_n(file, name, 3);
    CHECK(object != NULL && zt_object_find(file, "a") != NULL && zt_object_find(file, "a") != object);
    CHECK(zt_value_find_n(zt_file_attributes(file), key, 4) != NULL && zt_value_find(zt_file_attributes(file), "k") == NULL);
    REQUIRE(zt_write_create(copy, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_copy(w, object, NULL), ZT_OK);
    INIT(as);
    as.name = "c\0d", as.name_length = 3;
    CHECK_STATUS(zt_write_copy(w, object, &as), ZT_OK);
    CHECK_STATUS(copy_named(w, object, "c\0d"), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    zt_close(file);
    file = open_path(copy);
    CHECK(zt_object_find_n(file, name, 3) && zt_object_find_n(file, "c\0d", 3) && zt_object_find(file, "c"));
    zt_close(file);
    CHECK(remove(path) == 0 && remove(copy) == 0);
}

/* A copy of a text in memory that ends with its last byte: a sanitizer detects reads past it. */
static char *without_nul(const char *text, size_t length)
{
    char *copy = (char *)malloc(length);
    REQUIRE(copy != NULL);
    memcpy(copy, text, length);
    return copy;
}

/* Every call that writes an object gets the same three bytes as its name. */
static void every_call_that_writes_one(void)
{
    static const uint64_t indices[4] = {0, 1, 0, 1}, indptr[3] = {0, 2, 4}, coords[8] = {0, 0, 1, 1, 0, 1, 0, 1};
    const char *path = scratch_path("named.zt");
    char *name = without_nul("a\0z", 3);
    zt_quantized_desc q;
    zt_writer *w = NULL;
    zt_file *file;
    int which;
    INIT(q);
    q.packed_weight = q.scales = floats;
    q.packed_weight_size = q.scales_size = sizeof floats;
    q.packed_weight_dtype = ZT_DTYPE_I32;
    q.scales_dtype = ZT_DTYPE_F32;
    for (which = 0; which < 4; which++) {
        zt_status status = ZT_OK, again = ZT_OK;
        const zt_dtype dtype = ZT_DTYPE_F32;
        REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
        switch (which) {
        case 0:
            status = zt_write_dense(w, name, 3, dtype, ZT_TYPE_NONE, two, 2, floats, sizeof floats);
            again = zt_write_dense(w, name, 3, dtype, ZT_TYPE_NONE, two, 2, floats, sizeof floats);
            break;
        case 1:
            status = zt_write_csr(w, name, 3, dtype, ZT_TYPE_NONE, two, 4, floats, sizeof floats, indices, indptr);
            again = zt_write_csr(w, name, 3, dtype, ZT_TYPE_NONE, two, 4, floats, sizeof floats, indices, indptr);
            break;
        case 2:
            status = zt_write_coo(w, name, 3, dtype, ZT_TYPE_NONE, two, 2, 4, floats, sizeof floats, coords);
            again = zt_write_coo(w, name, 3, dtype, ZT_TYPE_NONE, two, 2, 4, floats, sizeof floats, coords);
            break;
        default:
            status = zt_write_quantized(w, name, 3, two, 2, &q);
            again = zt_write_quantized(w, name, 3, two, 2, &q);
        }
        CHECK_STATUS(status, ZT_OK);
        CHECK_STATUS(again, ZT_ERROR_EXISTS);
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
        file = open_path(path);
        CHECK(zt_object_find_n(file, "a\0z", 3) == zt_object_at(file, 0) && zt_object_count(file) == 1);
        CHECK(zt_object_find(file, "a") == NULL);
        zt_close(file);
    }
    free(name);
    remove(path);
}

/* A length without a name, and a name that is not UTF-8. */
static void refused(void)
{
    const char *path = scratch_path("refused.zt");
    zt_quantized_desc q;
    zt_writer *w = NULL;
    INIT(q);
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_dense(w, NULL, 3, ZT_DTYPE_F32, ZT_TYPE_NONE, two, 2, floats, 16), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_dense(w, "ab\xff", 3, ZT_DTYPE_F32, ZT_TYPE_NONE, two, 2, floats, 16), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "byte 2") != NULL);
    CHECK_STATUS(zt_write_csr(w, "\xff", 1, ZT_DTYPE_F32, ZT_TYPE_NONE, two, 0, NULL, 0, NULL, zeros), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_coo(w, "\xff", 1, ZT_DTYPE_F32, ZT_TYPE_NONE, two, 2, 0, NULL, 0, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_quantized(w, "\xff", 1, two, 2, &q), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_dense(w, "ab\xff", 2, ZT_DTYPE_F32, ZT_TYPE_NONE, &four, 1, floats, 16), ZT_OK);
    zt_write_abort(w);
}

/* Names of unknown formats, roles and types. */
static void parts_of_an_object(void)
{
    const char *path = scratch_path("parts.zt");
    char *format = without_nul("ring!", 5), *role = without_nul("ro\0le", 5), *type = without_nul("octet", 5);
    zt_object_desc object;
    zt_component_desc part;
    zt_writer *w = NULL;
    zt_file *file;
    const zt_component *found;
    INIT(object), INIT(part);
    part.role = role, part.role_length = 5;
    part.dtype = ZT_DTYPE_F32;
    part.type = ZT_TYPE_OTHER, part.type_name = type, part.type_name_length = 5;
    part.data = floats, part.size = sizeof floats;
    object.name = "o\0", object.name_length = 2;
    object.format = ZT_FORMAT_OTHER, object.format_name = format, object.format_name_length = 4; /* without the ! */
    object.shape = two, object.rank = 2;
    object.components = &part, object.component_count = 1;
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_object(w, &object), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    found = zt_component_find_n(zt_object_find_n(file, "o\0", 2), "ro\0le", 5);
    REQUIRE(found != NULL);
    CHECK(strcmp(format_name(zt_object_at(file, 0)), "ring") == 0);
    CHECK(strcmp(type_name(found), "octet") == 0);
    zt_close(file);
    free(format), free(role), free(type);
    remove(path);
}

int main(void)
{
    by_length();
    written_names();
    every_call_that_writes_one();
    refused();
    parts_of_an_object();
    return check_done("names");
}
