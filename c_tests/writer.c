/* Chapter "writer": complete objects, every dtype, type and format; written files are read back. */
#include "attributes.h"
#include "writing.h"

static const char *path;

/* 0.1 has none of these types, 1.1 has the first four. */
static const zt_type type_of[] = {ZT_TYPE_F8_E4M3FN,   ZT_TYPE_F8_E5M2,    ZT_TYPE_COMPLEX64,
                                  ZT_TYPE_COMPLEX128, ZT_TYPE_F8_E4M3FNUZ, ZT_TYPE_F8_E5M2FNUZ};

static zt_dtype storage_of(zt_type type)
{
    return type == ZT_TYPE_COMPLEX64 ? ZT_DTYPE_F32 : type == ZT_TYPE_COMPLEX128 ? ZT_DTYPE_F64 : ZT_DTYPE_U8;
}

/* Every dtype and logical type of a version, with each encoding and digest. */
static void dense(zt_encoding encoding, zt_digest digest, zt_spec version)
{
    static const uint64_t shape[3] = {4, 3, 5};
    unsigned char data[60 * 16];
    zt_write_options o;
    zt_writer *w = NULL;
    zt_write_summary summary;
    zt_file *file;
    size_t i, n = version == ZT_SPEC_0_1_0 ? 13 : version == ZT_SPEC_1_1_0 ? 17 : 19;
    uint64_t stored = 0, bytes = 0;
    fill(data, sizeof data, 1);
    INIT(o);
    o.encoding = encoding;
    o.digest = digest;
    o.spec = version;
    INIT(summary);
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    for (i = 0; i < 19; i++) {
        zt_dtype dtype = i < 13 ? (zt_dtype)(i + 1) : storage_of(type_of[i - 13]);
        zt_type type = i < 13 ? ZT_TYPE_NONE : type_of[i - 13];
        int pair = type == ZT_TYPE_COMPLEX64 || type == ZT_TYPE_COMPLEX128;
        size_t size = 60 * zt_dtype_size(dtype) * (pair ? 2 : 1);
        const char *name = i < 13 ? zt_dtype_name(dtype) : zt_type_name(type);
        CHECK_STATUS(zt_write_dense(w, name, 0, dtype, type, shape, 3, data, size), i < n ? ZT_OK : ZT_ERROR_UNSUPPORTED);
        bytes += i < n ? size : 0;
    }
    CHECK_STATUS(zt_write_finish(w, &summary), ZT_OK);
    file = open_path(path);
    CHECK_STR(zt_file_version(file), version == ZT_SPEC_0_1_0 ? "0.1.0" : version == ZT_SPEC_1_1_0 ? "1.1.0" : "1.2.0");
    CHECK_U64(zt_object_count(file), n);
    for (i = 0; i < n; i++) {
        const zt_object *object = zt_object_at(file, i); /* in the order of the calls */
        const zt_component *c = zt_component_find(object, "data");
        size_t size;
        unsigned char *got = read_component(c, &size);
        char want[80] = "";
        CHECK_STR(zt_object_name(object), i < 13 ? zt_dtype_name((zt_dtype)(i + 1)) : zt_type_name(type_of[i - 13]));
        CHECK_U64(zt_component_dtype(c), i < 13 ? (zt_dtype)(i + 1) : storage_of(type_of[i - 13]));
        CHECK_U64(zt_component_type(c), i < 13 ? ZT_TYPE_NONE : type_of[i - 13]);
        CHECK(zt_object_rank(object) == 3 && memcmp(zt_object_shape(object), shape, sizeof shape) == 0);
        CHECK(memcmp(got, data, size) == 0);
        CHECK_U64(zt_component_encoding(c), encoding == ZT_ENCODING_ZSTD ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW);
        CHECK(component_info(c).offset % 64 == 0);
        stored_digest(path, c, digest, want, sizeof want);
        if (*want) {
            CHECK_STR(zt_component_digest(c), want);
            CHECK_STATUS(verify_component(file, c), ZT_OK);
        } else {
            CHECK(zt_component_digest(c) == NULL);
        }
        stored += component_info(c).stored_size;
        free(got);
    }
    CHECK(summary.objects == n && summary.components == n && summary.file_size == file_size(file));
    CHECK(summary.stored_bytes == stored && summary.data_bytes == bytes);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
    check_padding(path);
}

static void shapes(void)
{
    static const uint64_t dims[8] = {2, 1, 3, 1, 1, 2, 1, 1}, none[3] = {4, 0, 5}, huge[2] = {UINT64_MAX, 0};
    float data[12];
    zt_writer *w = NULL;
    zt_file *file;
    size_t rank;
    char name[8];
    fill(data, sizeof data, 2);
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    for (rank = 0; rank <= 8; rank++) {
        size_t n = 1, d;
        for (d = 0; d < rank; d++)
            n *= (size_t)dims[d];
        snprintf(name, sizeof name, "r%u", (unsigned)rank);
        CHECK_STATUS(zt_write_dense(w, name, 0, ZT_DTYPE_F32, ZT_TYPE_NONE, rank ? dims : NULL, rank, data, n * 4), ZT_OK);
    }
    CHECK_STATUS(zt_write_dense(w, "none", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, none, 3, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "huge", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, huge, 2, data, 0), ZT_OK);
    /* an empty name is valid */
    CHECK_STATUS(zt_write_dense(w, "", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, 0, data, 4), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "\xc3\xa9\xf0\x9f\x98\x80", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, 0, data, 4), ZT_OK);
    /* Invalid combinations, which do not change the writer. */
    CHECK_STATUS(zt_write_dense(w, "r0", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, 0, data, 4), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, dims, 3, data, 23), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, dims, 3, data, 25), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_COMPLEX64, dims, 3, data, 24), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_F64, ZT_TYPE_COMPLEX64, dims, 1, data, 32), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_dense(w, "x", 0, ZT_DTYPE_I8, ZT_TYPE_F8_E5M2, dims, 1, data, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    CHECK_U64(zt_object_count(file), 13);
    CHECK(zt_object_find(file, "x") == NULL);
    CHECK_U64(zt_object_element_count(zt_object_find(file, "r0")), 1);
    CHECK_U64(zt_object_element_count(zt_object_find(file, "r8")), 12);
    CHECK(zt_object_find(file, "") != NULL && zt_object_find(file, "\xc3\xa9\xf0\x9f\x98\x80") != NULL);
    CHECK_U64(zt_object_shape(zt_object_find(file, "huge"))[0], UINT64_MAX);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void sparse(zt_spec version, zt_encoding encoding)
{
    static const uint64_t shape[2] = {3, 4}, indices[4] = {0, 3, 1, 2}, indptr[4] = {0, 2, 2, 4};
    static const uint64_t box[3] = {2, 3, 4}, coords[6] = {0, 1, 2, 0, 3, 1};
    static const uint64_t empty[4] = {0};
    static const float values[8] = {1, -2, 3.5f, 4, 5, 6, 7, 8};
    static const uint64_t falling[4] = {0, 3, 2, 4}, beyond[4] = {0, 4, 1, 2}, far_off[6] = {0, 2, 2, 0, 3, 1};
    zt_write_options o;
    zt_writer *w = NULL;
    zt_file *file;
    zt_csr m;
    zt_coo c;
    INIT(o);
    o.spec = version;
    o.encoding = encoding;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    CHECK_STATUS(zt_write_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 4, values, 16, indices, indptr), ZT_OK);
    CHECK_STATUS(zt_write_csr(w, "csr-c", 0, ZT_DTYPE_F32, ZT_TYPE_COMPLEX64, shape, 4, values, 32, indices, indptr), ZT_OK);
    CHECK_STATUS(zt_write_csr(w, "csr-0", 0, ZT_DTYPE_I8, ZT_TYPE_NONE, shape, 0, NULL, 0, NULL, empty), ZT_OK);
    CHECK_STATUS(zt_write_coo(w, "coo", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, box, 3, 2, values, 8, coords), ZT_OK);
    CHECK_STATUS(zt_write_coo(w, "coo-0", 0, ZT_DTYPE_F64, ZT_TYPE_NONE, box, 3, 0, NULL, 0, NULL), ZT_OK);
    CHECK_STATUS(zt_write_csr(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 4, values, 16, indices, falling), ZT_ERROR_CORRUPT);
    CHECK_STATUS(zt_write_csr(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 4, values, 16, beyond, indptr), ZT_ERROR_CORRUPT);
    CHECK_STATUS(zt_write_csr(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 4, values, 15, indices, indptr), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 4, values, 16, indices, indptr), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_coo(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, box, 3, 2, values, 8, far_off), ZT_ERROR_CORRUPT);
    CHECK_STATUS(zt_write_coo(w, "x", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, box, 3, 2, values, 9, coords), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    CHECK_U64(zt_object_count(file), 5);
    INIT(m);
    CHECK_STATUS(zt_csr_view(zt_object_find(file, "csr"), &m), ZT_OK);
    CHECK(m.rows == 3 && m.columns == 4 && m.nnz == 4);
    CHECK(memcmp(m.values.data, values, 16) == 0 && memcmp(m.indices.data, indices, 32) == 0 && memcmp(m.indptr.data, indptr, 32) == 0);
    INIT(m);
    CHECK_STATUS(zt_csr_view(zt_object_find(file, "csr-c"), &m), ZT_OK);
    CHECK(m.nnz == 4 && m.values.type == ZT_TYPE_COMPLEX64 && memcmp(m.values.data, values, 32) == 0);
    INIT(m);
    CHECK_STATUS(zt_csr_view(zt_object_find(file, "csr-0"), &m), ZT_OK);
    CHECK(m.nnz == 0 && m.indptr.count == 4);
    INIT(c);
    CHECK_STATUS(zt_coo_view(zt_object_find(file, "coo"), &c), ZT_OK);
    CHECK(c.nnz == 2 && c.rank == 3 && memcmp(c.coords.data, coords, 48) == 0 && memcmp(c.values.data, values, 8) == 0);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void quantized(void)
{
    static const uint64_t shape[2] = {16, 8};
    zt_quantized_desc d;
    zt_quantized q;
    zt_writer *w = NULL;
    zt_file *file;
    unsigned char packed[64], scales[32], zeros[32];
    fill(packed, sizeof packed, 3);
    fill(scales, sizeof scales, 4);
    fill(zeros, sizeof zeros, 5);
    INIT(d);
    d.bits = 4;
    d.group_size = 8;
    d.packing = "8_per_i32";
    d.packed_weight = packed;
    d.packed_weight_size = sizeof packed;
    d.packed_weight_dtype = ZT_DTYPE_I32;
    d.scales = scales;
    d.scales_size = sizeof scales;
    d.scales_dtype = ZT_DTYPE_F16;
    d.zeros = zeros;
    d.zeros_size = sizeof zeros;
    d.zeros_dtype = ZT_DTYPE_F16;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_quantized(w, "q", 0, shape, 2, &d), ZT_OK);
    CHECK_STATUS(zt_write_quantized(w, "q", 0, shape, 2, &d), ZT_ERROR_EXISTS);
    d.packed_weight_size = 60; /* too small for all weights */
    CHECK_STATUS(zt_write_quantized(w, "x", 0, shape, 2, &d), ZT_ERROR_CORRUPT);
    d.packed_weight_size = 64;
    d.scales_size = 30; /* a group without a scale */
    CHECK_STATUS(zt_write_quantized(w, "x", 0, shape, 2, &d), ZT_ERROR_CORRUPT);
    d.scales_size = 32;
    d.reserved = 1;
    CHECK_STATUS(zt_write_quantized(w, "x", 0, shape, 2, &d), ZT_ERROR_INVALID_ARGUMENT);
    d.reserved = 0;
    d.zeros = NULL;
    d.zeros_size = 0;
    d.packing = NULL;
    CHECK_STATUS(zt_write_quantized(w, "symmetric", 0, shape, 2, &d), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    INIT(q);
    CHECK_STATUS(zt_quantized_view(zt_object_find(file, "q"), &q), ZT_OK);
    CHECK(q.bits == 4 && q.group_size == 8 && q.rank == 2 && memcmp(q.packed_weight.data, packed, 64) == 0);
    CHECK(memcmp(q.scales.data, scales, 32) == 0 && memcmp(q.zeros.data, zeros, 32) == 0);
    CHECK_STR(q.packing, "8_per_i32");
    INIT(q);
    CHECK_STATUS(zt_quantized_view(zt_object_find(file, "symmetric"), &q), ZT_OK);
    CHECK(q.zeros.data == NULL && q.packing == NULL && q.bits == 4);
    CHECK_U64(zt_component_count(zt_object_find(file, "symmetric")), 2);
    CHECK_U64(zt_object_count(file), 2);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

/* Objects that an old version cannot represent are rejected, and the file is written without them. */
static void old_versions(void)
{
    static const uint64_t shape[2] = {2, 2}, indptr[3] = {0, 0, 0};
    static const float data[8] = {0};
    zt_write_options o;
    zt_writer *w = NULL;
    zt_file *file;
    INIT(o);
    o.spec = ZT_SPEC_0_1_0;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, data, 16), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "c", 0, ZT_DTYPE_F32, ZT_TYPE_COMPLEX64, shape, 2, data, 32), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_write_dense(w, "f", 0, ZT_DTYPE_U8, ZT_TYPE_F8_E5M2, shape, 2, data, 4), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_write_csr(w, "s", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 0, NULL, 0, NULL, indptr), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(set_i64(w, NULL, "k", 1), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, data, 16), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    CHECK_STR(zt_file_version(file), "0.1.0");
    CHECK_U64(zt_object_count(file), 1);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
    o.spec = 10000; /* 1.0 can only be read */
    w = (zt_writer *)&o;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL);
}

int main(void)
{
    static const zt_spec versions[] = {ZT_SPEC_DEFAULT, ZT_SPEC_0_1_0, ZT_SPEC_1_1_0, ZT_SPEC_1_2_0};
    size_t v;
    path = scratch_path("written.zt");
    for (v = 0; v < COUNT(versions); v++) {
        dense(ZT_ENCODING_DEFAULT, ZT_DIGEST_DEFAULT, versions[v]);
        dense(ZT_ENCODING_RAW, ZT_DIGEST_CRC32C, versions[v]);
        dense(ZT_ENCODING_ZSTD, ZT_DIGEST_SHA256, versions[v]);
        dense(ZT_ENCODING_ZSTD, ZT_DIGEST_NONE, versions[v]);
    }
    shapes();
    sparse(ZT_SPEC_DEFAULT, ZT_ENCODING_RAW);
    sparse(ZT_SPEC_1_1_0, ZT_ENCODING_ZSTD);
    sparse(ZT_SPEC_1_2_0, ZT_ENCODING_ZSTD);
    quantized();
    old_versions();
    CHECK(remove(path) == 0);
    return check_done("writer");
}
