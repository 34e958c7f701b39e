/* DLPack: tensors that are exported, imported, and invalid ones. The structs are those of dlpack.h 1.1. */
#include "writing.h"
#include "ztensor_dlpack.h"

typedef struct {
    uint32_t major, minor;
} version_of;
typedef struct {
    int32_t device_type, device_id;
} device_of;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} type_of;
typedef struct {
    void *data;
    device_of device;
    int32_t ndim;
    type_of dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} tensor_of;
struct DLManagedTensor {
    tensor_of dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
    version_of version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    tensor_of dl_tensor;
};
typedef struct DLManagedTensorVersioned managed;

static const struct {
    const char *name;
    uint8_t code, bits;
} types[] = {{"f64", 2, 64}, {"f32", 2, 32}, {"f16", 2, 16}, {"bf16", 4, 16}, {"i64", 0, 64}, {"i32", 0, 32}, {"i16", 0, 16},
             {"i8", 0, 8},   {"u64", 1, 64}, {"u32", 1, 32}, {"u16", 1, 16}, {"u8", 1, 8},   {"bool", 6, 8},
             {"f8_e4m3fn", 10, 8}, {"f8_e4m3fnuz", 11, 8}, {"f8_e5m2", 12, 8}, {"f8_e5m2fnuz", 13, 8}, {"complex64", 5, 64}, {"complex128", 5, 128}};

static managed tensor(void *data, int64_t *shape, int64_t *strides, int32_t ndim, uint8_t code, uint8_t bits)
{
    managed t;
    memset(&t, 0, sizeof t);
    t.version.major = 1;
    t.dl_tensor.data = data;
    t.dl_tensor.device.device_type = 1;
    t.dl_tensor.ndim = ndim;
    t.dl_tensor.dtype.code = code;
    t.dl_tensor.dtype.bits = bits;
    t.dl_tensor.dtype.lanes = 1;
    t.dl_tensor.shape = shape;
    t.dl_tensor.strides = strides;
    return t;
}

/* Every type, written from DLPack and exported again, mapped and decoded, after the file was closed. */
static void round_trip(zt_encoding encoding)
{
    const char *path = scratch_path("dlpack.zt");
    unsigned char data[96];
    int64_t shape[2] = {2, 3};
    zt_write_options o;
    zt_writer *w = NULL;
    zt_file *file;
    managed *got[COUNT(types)];
    size_t i;
    INIT(o);
    o.encoding = encoding;
    memset(data, 1, sizeof data);
    REQUIRE(CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK));
    for (i = 0; i < COUNT(types); i++) {
        managed t = tensor(data, shape, NULL, 2, types[i].code, types[i].bits);
        CHECK_STATUS(zt_write_dlpack(w, types[i].name, 0, &t), ZT_OK);
    }
    REQUIRE(CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK));
    file = open_path(path);
    for (i = 0; i < COUNT(types); i++) {
        const zt_object *object = zt_object_find(file, types[i].name);
        struct DLManagedTensor *old = NULL;
        managed *flat = NULL;
        REQUIRE(CHECK_STATUS(zt_object_to_dlpack(object, &got[i]), ZT_OK));
        REQUIRE(CHECK_STATUS(zt_object_to_dlpack_unversioned(object, &old), ZT_OK));
        CHECK(old->dl_tensor.ndim == 2 && old->dl_tensor.dtype.code == types[i].code);
        CHECK(memcmp(old->dl_tensor.data, data, 6u * types[i].bits / 8) == 0);
        old->deleter(old);
        REQUIRE(CHECK_STATUS(zt_component_to_dlpack(zt_component_find(object, "data"), &flat), ZT_OK));
        CHECK(flat->dl_tensor.ndim == 1 && flat->dl_tensor.shape[0] == 6 && flat->dl_tensor.strides[0] == 1);
        flat->deleter(flat);
    }
    zt_close(file);
    for (i = 0; i < COUNT(types); i++) {
        const tensor_of *t = &got[i]->dl_tensor;
        int borrowed = encoding == ZT_ENCODING_RAW && borrows_little_endian(types[i].bits / 8u);
        CHECK(got[i]->version.major == 1 && got[i]->flags == (borrowed ? 1u : 2u));
        CHECK(t->device.device_type == 1 && t->device.device_id == 0 && t->ndim == 2 && t->byte_offset == 0);
        CHECK(t->dtype.code == types[i].code && t->dtype.bits == types[i].bits && t->dtype.lanes == 1);
        CHECK(t->shape[0] == 2 && t->shape[1] == 3 && t->strides[0] == 3 && t->strides[1] == 1);
        CHECK((uintptr_t)t->data % 64 == 0 && memcmp(t->data, data, 6u * types[i].bits / 8) == 0);
        if (encoding != ZT_ENCODING_RAW)
            memset(t->data, 7, 6u * types[i].bits / 8); /* a copy is writable */
        got[i]->deleter(got[i]);
    }
    remove(path);
}

/* Types that the specs do not have are exported as stored, and cannot be imported. */
static void handed_out_only(void)
{
    static const struct { zt_dtype dtype; zt_type type; size_t size; uint8_t code, bits; } rows[] = {
        {ZT_DTYPE_F16, ZT_TYPE_COMPLEX32, 32, 5, 32}, {ZT_DTYPE_U8, ZT_TYPE_F8_E8M0, 8, 14, 8}, {ZT_DTYPE_U8, ZT_TYPE_F6_E2M3, 6, 15, 6},
        {ZT_DTYPE_U8, ZT_TYPE_F6_E3M2, 6, 16, 6},     {ZT_DTYPE_U8, ZT_TYPE_F4_E2M1, 4, 17, 4}};
    const char *path = scratch_path("dlpack.zt");
    static unsigned char data[32];
    const uint64_t shape = 8;
    int64_t dimension = 8;
    zt_writer *w;
    zt_file *file;
    size_t i;
    fill_any(data, sizeof data, 3);
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    for (i = 0; i < COUNT(rows); i++) {
        managed t = tensor(data, &dimension, NULL, 1, rows[i].code, rows[i].bits);
        CHECK_STATUS(zt_write_dlpack(w, "refused", 0, &t), ZT_ERROR_UNSUPPORTED);
        CHECK_STATUS(zt_write_dense(w, zt_type_name(rows[i].type), 0, rows[i].dtype, rows[i].type, &shape, 1, data, rows[i].size), ZT_OK);
    }
    REQUIRE(zt_write_finish(w, NULL) == ZT_OK);
    file = open_path(path);
    for (i = 0; i < COUNT(rows); i++) {
        managed *got = NULL;
        REQUIRE(CHECK_STATUS(zt_object_to_dlpack(zt_object_find(file, zt_type_name(rows[i].type)), &got), ZT_OK));
        CHECK(got->dl_tensor.dtype.code == rows[i].code && got->dl_tensor.dtype.bits == rows[i].bits);
        CHECK(got->dl_tensor.shape[0] == 8 && memcmp(got->dl_tensor.data, data, rows[i].size) == 0);
        got->deleter(got);
    }
    zt_close(file);
    remove(path);
}

static void strides_and_shapes(void)
{
    const char *path = scratch_path("strides.zt");
    int32_t numbers[6] = {0, 1, 2, 3, 4, 5}, got[8];
    static const int32_t turned[6] = {0, 3, 1, 4, 2, 5}, backwards[3] = {5, 3, 1}, repeated[4] = {2, 2, 2, 2};
    int64_t across[2] = {3, 2}, across_strides[2] = {1, 3}, three[1] = {3}, minus[1] = {-2}, four[2] = {2, 2}, none[2] = {0, 0};
    int64_t one[3] = {1, 6, 1}, odd[3] = {77, 1, -9}, empty[2] = {0, 5};
    managed t;
    zt_writer *w = NULL;
    zt_file *file;
    managed *back = NULL;
    REQUIRE(CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK));
    t = tensor(numbers, across, across_strides, 2, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "tur\0ned!", 7, &t), ZT_OK);
    t = tensor(numbers + 5, three, minus, 1, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "backwards", 0, &t), ZT_OK);
    t = tensor(numbers, four, none, 2, 0, 32);
    t.dl_tensor.byte_offset = 8;
    CHECK_STATUS(zt_write_dlpack(w, "repeated", 0, &t), ZT_OK);
    t = tensor(numbers, one, odd, 3, 0, 32); /* strides of dimensions of 1 are ignored */
    CHECK_STATUS(zt_write_dlpack(w, "ones", 0, &t), ZT_OK);
    t = tensor(NULL, empty, NULL, 2, 2, 32);
    CHECK_STATUS(zt_write_dlpack(w, "empty", 0, &t), ZT_OK);
    t = tensor(numbers, NULL, NULL, 0, 0, 32);
    t.dl_tensor.device.device_type = 3; /* pinned memory */
    CHECK_STATUS(zt_write_dlpack(w, "scalar", 0, &t), ZT_OK);
    REQUIRE(CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK));
    file = open_path(path);
    CHECK_STATUS(zt_component_read(zt_component_find(zt_object_find_n(file, "tur\0ned", 7), "data"), got, sizeof got), ZT_OK);
    CHECK(memcmp(got, turned, sizeof turned) == 0);
    CHECK_STATUS(zt_component_read(component_of(file, "backwards", "data"), got, sizeof got), ZT_OK);
    CHECK(memcmp(got, backwards, sizeof backwards) == 0);
    CHECK_STATUS(zt_component_read(component_of(file, "repeated", "data"), got, sizeof got), ZT_OK);
    CHECK(memcmp(got, repeated, sizeof repeated) == 0);
    CHECK_STATUS(zt_component_read(component_of(file, "ones", "data"), got, sizeof got), ZT_OK);
    CHECK(memcmp(got, numbers, sizeof numbers) == 0);
    REQUIRE(CHECK_STATUS(zt_object_to_dlpack(zt_object_find(file, "scalar"), &back), ZT_OK));
    CHECK(back->dl_tensor.ndim == 0 && *(int32_t *)back->dl_tensor.data == 0);
    back->deleter(back);
    REQUIRE(CHECK_STATUS(zt_object_to_dlpack(zt_object_find(file, "empty"), &back), ZT_OK));
    CHECK(back->dl_tensor.shape[0] == 0 && back->dl_tensor.shape[1] == 5 && back->dl_tensor.data != NULL);
    back->deleter(back);
    zt_close(file);
    remove(path);
}

static void refused(void)
{
    const char *path = scratch_path("refused.zt");
    int32_t numbers[6] = {0};
    int64_t shape[2] = {2, 3}, huge[2] = {INT64_MAX, INT64_MAX}, negative[1] = {-1}, far[2] = {INT64_MAX, 1}, many[2] = {1 << 30, 1 << 30}, zero[2] = {0, 0};
    managed t, *out = NULL;
    zt_writer *w = NULL;
    zt_file *file = open_data("v1.2/py-1.2.3-sparse.zt");
    REQUIRE(CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK));
    t = tensor(numbers, shape, NULL, 2, 0, 32);
    t.version.major = 2;
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_UNSUPPORTED);
    t = tensor(numbers, shape, NULL, 2, 0, 32);
    t.dl_tensor.device.device_type = 2; /* memory of a GPU */
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_UNSUPPORTED);
    t = tensor(numbers, shape, NULL, 2, 0, 32);
    t.dl_tensor.dtype.lanes = 4;
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_UNSUPPORTED);
    t = tensor(numbers, shape, NULL, 2, 17, 4); /* float4 */
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_UNSUPPORTED);
    t = tensor(numbers, shape, NULL, 2, 0, 33);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_UNSUPPORTED);
    t = tensor(numbers, shape, NULL, -1, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_INVALID_ARGUMENT);
    t = tensor(numbers, shape, NULL, INT32_MAX, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_INVALID_ARGUMENT);
    t = tensor(numbers, NULL, NULL, 2, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_INVALID_ARGUMENT);
    t = tensor(numbers, huge, NULL, 2, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_INVALID_ARGUMENT);
    t = tensor(numbers, negative, NULL, 1, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_INVALID_ARGUMENT);
    t = tensor(NULL, shape, NULL, 2, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_INVALID_ARGUMENT);
    t = tensor(numbers, shape, far, 2, 0, 32);
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), ZT_ERROR_INVALID_ARGUMENT);
    t = tensor(numbers, many, zero, 2, 0, 32); /* 4 EiB that repeat one number */
    CHECK_STATUS(zt_write_dlpack(w, "a", 0, &t), sizeof(size_t) < 8 ? ZT_ERROR_INVALID_ARGUMENT : ZT_ERROR_OUT_OF_MEMORY);
    CHECK_STATUS(zt_object_to_dlpack(zt_object_at(file, 0), &out), ZT_ERROR_UNSUPPORTED);
    CHECK(out == NULL);
    zt_write_abort(w);
    zt_close(file);
    file = open_data("invalid/encoding-lz4.zt");
    CHECK_STATUS(zt_object_to_dlpack(zt_object_at(file, 0), &out), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "lz4") != NULL && out == NULL);
    zt_close(file);
}

int main(void)
{
    round_trip(ZT_ENCODING_RAW);
    round_trip(ZT_ENCODING_ZSTD);
    handed_out_only();
    strides_and_shapes();
    refused();
    return check_done("dlpack");
}
