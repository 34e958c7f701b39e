/* npz and npy with the functions for all files: names, types that are only listed, deflate, strides, byte
 * order. */
#include "support.h"

static zt_file *open_in(const char *name, zt_mode mode)
{
    zt_file *file = open_data_mode(name, mode);
    CHECK(part_info(file, 0).container == ZT_CONTAINER_NPZ);
    return file;
}

static void stored(zt_mode mode)
{
    zt_file *file = open_in("foreign/valid/amber-all-stored.npz", mode);
    const zt_component *data = zt_component_find(zt_object_find(file, "enc.0.mlp.up"), "data");
    double numbers[4];
    size_t size;
    unsigned char *bytes = read_file(data_path("foreign/valid/amber-all-stored.npz"), &size);
    REQUIRE(data != NULL && size > 866 + sizeof(numbers));
    CHECK(zt_component_dtype(data) == ZT_DTYPE_F64 && zt_component_encoding(data) == ZT_ENCODING_RAW);
    CHECK(component_info(data).offset == 866 && component_info(data).stored_size == 32);
    CHECK_STATUS(zt_component_read(data, numbers, sizeof(numbers)), ZT_OK);
    CHECK(are_elements(numbers, bytes + 866, sizeof(numbers), 8));
    free(bytes);
    CHECK_STATUS(verify_component(file, data), ZT_OK);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void deflated(zt_mode mode)
{
    zt_file *file = open_in("foreign/valid/amber-all-deflated.npz", mode);
    const zt_component *data = zt_component_find(zt_object_find(file, "enc.0.mlp.up.14"), "data");
    unsigned char all[10], part[3];
    const void *bytes = NULL;
    size_t size = 0;
    REQUIRE(data != NULL);
    CHECK(zt_component_encoding(data) == ZT_ENCODING_DEFLATE && component_info(data).stored_size == 79);
    CHECK(strcmp(zt_encoding_name(ZT_ENCODING_DEFLATE), "deflate") == 0);
    CHECK_STATUS(zt_component_read(data, all, sizeof(all)), ZT_OK);
    CHECK_STATUS(zt_component_read_range(data, 5, part, sizeof(part)), ZT_OK);
    CHECK(memcmp(all + 5, part, sizeof(part)) == 0);
    CHECK_STATUS(zt_component_ptr(data, &bytes, &size), ZT_ERROR_NOT_MAPPABLE);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void strides(zt_mode mode)
{
    zt_file *file = open_in("foreign/valid/amber-bare-fortran-be.npy", mode);
    const zt_object *object = zt_object_find(file, ""); /* 5 x 4 doubles, most significant bytes first */
    const zt_component *data = zt_component_find(object, "data");
    const uint64_t *shape = zt_object_shape(object);
    unsigned char stored_bytes[160], element[8];
    double all[20], second;
    const void *bytes = NULL;
    size_t size = 0, n;
    REQUIRE(data != NULL);
    CHECK(zt_object_rank(object) == 2 && shape[0] == 5 && shape[1] == 4);
    CHECK_STATUS(zt_component_read(data, all, sizeof(all)), ZT_OK);
    CHECK_STATUS(zt_component_read_stored(data, stored_bytes, sizeof(stored_bytes)), ZT_OK);
    for (n = 0; n < 8; n++)
        element[n] = stored_bytes[8 * 5 + (is_big_endian() ? n : 7 - n)]; /* column 1 of row 0 */
    memcpy(&second, element, sizeof(second));
    CHECK(memcmp(&second, all + 1, sizeof(second)) == 0);
    CHECK_STATUS(zt_component_ptr(data, &bytes, &size), ZT_ERROR_NOT_MAPPABLE);
    CHECK(strstr(zt_last_error(), "strides") != NULL);
    zt_close(file);
}

static void listed(zt_mode mode)
{
    zt_file *file = open_in("foreign/valid/amber-odd-dtypes.npz", mode);
    const zt_component *data = zt_component_find(zt_object_find(file, "datetime.amber"), "data");
    unsigned char bytes[16];
    REQUIRE(data != NULL);
    CHECK(zt_component_dtype(data) == ZT_DTYPE_OTHER);
    CHECK_STATUS(zt_component_read(data, bytes, sizeof(bytes)), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "numpy.<M8[D]") != NULL);
    data = zt_component_find(zt_object_find(file, "enc.0.attn.k.weight.49"), "data");
    CHECK_STATUS(zt_component_read(data, bytes, sizeof(bytes)), ZT_OK);
    zt_close(file);
}

static void refused(void)
{
    zt_open_options options;
    zt_file *file = NULL;
    INIT(options);
    options.containers = 1u << ZT_CONTAINER_TORCH;
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-fortran.npz"), &options, &file), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_open(data_path("foreign/invalid/amber-npz-zip-names-differ.npz"), NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(strcmp(zt_last_error_rule(), "zip-local-header") == 0);
    CHECK_STATUS(zt_open(data_path("foreign/invalid/amber-npz-zip-crc-wrong.npz"), NULL, &file), ZT_OK);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_ERROR_CORRUPT);
    CHECK(strcmp(zt_last_error_rule(), "zip-checksum") == 0);
    zt_close(file);
}

int main(void)
{
    const zt_mode modes[2] = {ZT_MODE_MAP, ZT_MODE_READ};
    size_t n;
    for (n = 0; n < 2; n++) {
        stored(modes[n]);
        deflated(modes[n]);
        strides(modes[n]);
        listed(modes[n]);
    }
    refused();
    return check_done("npz");
}
