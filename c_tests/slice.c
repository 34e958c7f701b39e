/* Compares zt_object_read_slice with a simple loop in row-major order. */
#include "writing.h"

#define MAX_RANK 8

/* Copies the slab element by element. Returns its size in bytes. */
static size_t naive(const unsigned char *all, size_t rank, const uint64_t *shape, size_t width, const uint64_t *start,
                    const uint64_t *count, const uint64_t *step, unsigned char *out)
{
    uint64_t at[MAX_RANK] = {0}, total = 1, done, place;
    size_t d;
    for (d = 0; d < rank; d++)
        total *= count[d];
    for (done = 0; done < total; done++) {
        place = 0;
        for (d = 0; d < rank; d++)
            place = place * shape[d] + start[d] + at[d] * (step ? step[d] : 1);
        memcpy(out + done * width, all + place * width, width);
        for (d = rank; d-- > 0;) {
            if (++at[d] < count[d])
                break;
            at[d] = 0;
        }
    }
    return (size_t)total * width;
}

static void slabs_of(const zt_object *object, unsigned tries, uint32_t seed)
{
    const zt_component *data = zt_component_find(object, "data");
    size_t rank = zt_object_rank(object), size = 0, width, d, bytes;
    const uint64_t *shape = zt_object_shape(object);
    uint64_t start[MAX_RANK] = {0}, count[MAX_RANK] = {0}, step[MAX_RANK] = {0};
    unsigned char *all, *want, *got;
    unsigned t;
    REQUIRE(data != NULL && rank <= MAX_RANK);
    all = read_component(data, &size);
    width = size / (size_t)zt_object_element_count(object);
    want = (unsigned char *)malloc(size + 16);
    got = (unsigned char *)malloc(size + 16);
    REQUIRE(want != NULL && got != NULL);
    for (t = 0; t < tries; t++) {
        for (d = 0; d < rank; d++) {
            step[d] = 1 + next_random(&seed) % 4;
            if (t % 3 == 0)
                step[d] = 1;
            start[d] = next_random(&seed) % shape[d];
            count[d] = 1 + next_random(&seed) % ((shape[d] - 1 - start[d]) / step[d] + 1);
            if (t % 5 == 0 && d > 0) { /* complete rows: the bytes are contiguous */
                start[d] = 0;
                step[d] = 1;
                count[d] = shape[d];
            }
        }
        bytes = naive(all, rank, shape, width, start, count, step, want);
        memset(got, 0xa5, size + 16);
        CHECK_STATUS(zt_object_read_slice(object, start, count, step, got + 1, bytes), ZT_OK);
        CHECK(memcmp(got + 1, want, bytes) == 0);
        CHECK(got[0] == 0xa5 && got[1 + bytes] == 0xa5);
        if (t % 3 == 0) { /* NULL steps mean 1 */
            memset(got, 0xa5, size + 16);
            CHECK_STATUS(zt_object_read_slice(object, start, count, NULL, got, size + 16), ZT_OK);
            CHECK(memcmp(got, want, bytes) == 0);
            CHECK(got[bytes] == 0xa5); /* bytes after it are unchanged */
        }
        CHECK_STATUS(zt_object_read_slice(object, start, count, step, got, bytes - 1), ZT_ERROR_BUFFER_SIZE);
    }
    free(got);
    free(want);
    free(all);
}

static void many_slabs(void)
{
    static const struct { const char *file, *object; unsigned tries; } rows[] = {
        {"v1.2/py-1.2.3-shapes.zt", "s5", 300},        /* f32, 2 x 3 x 4 x 5 */
        {"v1.2/py-1.2.3-shapes.zt", "s6", 3},          /* rank 8 */
        {"v1.2/py-1.2.3-shapes.zt", "s4", 30},
        {"v1.2/py-1.2.3-all-dtypes.zt", "f16", 60},
        {"v1.2/py-1.2.3-all-dtypes.zt", "i64", 60},
        {"v1.2/py-1.2.3-all-dtypes.zt", "bool", 60},
        {"v1.2/py-1.2.3-zstd.zt", "bf16@22", 60},
        {"v1.2/py-1.2.3-zstd.zt", "f64@1", 60},
        {"v1.2/py-1.2.3-logical.zt", "complex64", 60}, /* an element is a pair */
        {"v1.2/py-1.2.3-logical.zt", "complex128", 60},
        {"v1.2/py-1.2.3-logical.zt", "f8_e5m2", 60},
        {"v1.2/py-1.2.3-logical.zt", "c64-zstd", 60},
        {"v1.1/oracle-f8-complex.zt", "c64", 60},
        {"v0.1/rs-0.1.0-big-endian.zt", "f64", 60},    /* swapped by the read */
        {"v0.1/rs-0.1.0-big-endian.zt", "i16", 60},
        {"v0.1/rs-0.1.0-zstd.zt", "f32", 60},
        {"valid-odd/zstd-two-frames.zt", "z", 60},
        {"v1.2/rs-1.2.3-1m.zt", "raw", 6},
        {"v1.2/rs-1.2.3-1m.zt", "zstd", 6},
    };
    size_t i, mode;
    for (i = 0; i < COUNT(rows); i++) {
        for (mode = 0; mode < 2; mode++) {
            zt_file *file = open_data_mode(rows[i].file, (zt_mode)mode);
            const zt_object *object = zt_object_find(file, rows[i].object);
            REQUIRE(object != NULL);
            slabs_of(object, rows[i].tries, (uint32_t)(i + 1) * 7919u);
            zt_close(file);
        }
    }
}

static void values_known(void)
{
    static const uint64_t start[2] = {0, 1}, step[2] = {2, 2}, row[2] = {1, 2}, both[2] = {2, 2}, wide[2] = {2, 3};
    zt_file *file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    const zt_object *object = zt_object_find(file, "i16");
    int16_t got[6], whole[15];
    CHECK_STATUS(zt_component_read(zt_component_find(object, "data"), whole, sizeof whole), ZT_OK);
    CHECK(whole[0] == 2416 && whole[14] == -11147);
    CHECK_STATUS(zt_object_read_slice(object, start, row, step, got, sizeof got), ZT_OK);
    CHECK(got[0] == -29600 && got[1] == -25126);
    CHECK_STATUS(zt_object_read_slice(object, start, both, step, got, sizeof got), ZT_OK);
    CHECK(got[0] == -29600 && got[1] == -25126 && got[2] == 13683 && got[3] == 32011);
    CHECK_STATUS(zt_object_read_slice(object, start, wide, step, got, sizeof got), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(file);
}

static void scalars_and_nothing(void)
{
    static const uint64_t zero[4] = {0}, all[4] = {2, 3, 4, 5}, none[4] = {1, 0, 4, 5}, end[4] = {2, 0, 0, 0};
    static const uint64_t dims[3] = {3, 0, 2};
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    const zt_object *scalar = zt_object_find(file, "s0"), *s5 = zt_object_find(file, "s5");
    float value = 0, whole[120];
    CHECK_STATUS(zt_object_read_slice(scalar, NULL, NULL, NULL, &value, sizeof value), ZT_OK);
    CHECK(value > 0.514669f && value < 0.514670f);
    value = 0;
    CHECK_STATUS(zt_object_read_slice(scalar, zero, zero, zero, &value, sizeof value), ZT_OK);
    CHECK(value > 0.514669f && value < 0.514670f);
    CHECK_STATUS(zt_object_read_slice(scalar, NULL, NULL, NULL, &value, 3), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_object_read_slice(s5, zero, all, NULL, whole, sizeof whole), ZT_OK);
    /* No elements: nothing is written, and NULL is accepted. */
    whole[0] = 42;
    CHECK_STATUS(zt_object_read_slice(s5, zero, none, NULL, whole, sizeof whole), ZT_OK);
    CHECK(whole[0] == 42);
    CHECK_STATUS(zt_object_read_slice(s5, zero, none, NULL, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_object_read_slice(s5, end, zero, NULL, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_object_read_slice(zt_object_find(file, "s3"), zero, dims, NULL, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_object_read_slice(zt_object_find(file, "s2"), zero, zero, NULL, NULL, 0), ZT_OK);
    zt_close(file);
}

static void slabs_that_leave_the_shape(void)
{
    static const struct { uint64_t start, count, step; zt_status status; } rows[] = {
        {0, 7, 1, ZT_OK},
        {6, 1, 1, ZT_OK},
        {0, 4, 2, ZT_OK},
        {0, 1, UINT64_MAX, ZT_OK}, /* for one element the step is ignored */
        {6, 1, UINT64_MAX, ZT_OK},
        {0, 8, 1, ZT_ERROR_INVALID_ARGUMENT},
        {7, 1, 1, ZT_ERROR_INVALID_ARGUMENT},
        {1, 7, 1, ZT_ERROR_INVALID_ARGUMENT},
        {0, 5, 2, ZT_ERROR_INVALID_ARGUMENT},
        {0, 2, 7, ZT_ERROR_INVALID_ARGUMENT},
        {0, 2, UINT64_MAX, ZT_ERROR_INVALID_ARGUMENT},
        {1, 2, UINT64_MAX, ZT_ERROR_INVALID_ARGUMENT},     /* start + step overflows to 0 */
        {0, 3, UINT64_C(1) << 63, ZT_ERROR_INVALID_ARGUMENT}, /* 2 * step overflows to 0 */
        {UINT64_MAX, 1, 1, ZT_ERROR_INVALID_ARGUMENT},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, ZT_ERROR_INVALID_ARGUMENT},
        {2, UINT64_MAX, 1, ZT_ERROR_INVALID_ARGUMENT},
        {0, UINT64_C(1) << 62, 1, ZT_ERROR_INVALID_ARGUMENT}, /* the offset in bytes overflows to 0 */
        {0, 7, 0, ZT_ERROR_INVALID_ARGUMENT},
        {0, 1, 0, ZT_ERROR_INVALID_ARGUMENT},
    };
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    const zt_object *object = zt_object_find(file, "s4");
    float got[8];
    size_t i;
    for (i = 0; i < COUNT(rows); i++)
        CHECK_STATUS(zt_object_read_slice(object, &rows[i].start, &rows[i].count, &rows[i].step, got, sizeof got),
                     rows[i].status);
    CHECK_STATUS(zt_object_read_slice(object, NULL, &rows[0].count, NULL, got, sizeof got), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_object_read_slice(object, &rows[0].start, NULL, NULL, got, sizeof got), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_object_read_slice(object, &rows[0].start, &rows[0].count, NULL, NULL, sizeof got),
                 ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_object_read_slice(NULL, &rows[0].start, &rows[0].count, NULL, got, sizeof got),
                 ZT_ERROR_INVALID_ARGUMENT);
    zt_close(file);
}

static void what_has_no_slices(void)
{
    static const uint64_t zero[3] = {0}, one[3] = {1, 1, 1};
    unsigned char got[64];
    zt_file *file = open_data("v1.2/py-1.2.3-sparse.zt");
    CHECK_STATUS(zt_object_read_slice(zt_object_find(file, "csr"), zero, one, NULL, got, sizeof got), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_object_read_slice(zt_object_find(file, "coo3"), zero, one, NULL, got, sizeof got), ZT_ERROR_UNSUPPORTED);
    zt_close(file);
    file = open_data("valid-odd/unknown-format.zt");
    CHECK_STATUS(zt_object_read_slice(zt_object_at(file, 0), zero, one, NULL, got, sizeof got), ZT_ERROR_UNSUPPORTED);
    zt_close(file);
    file = open_data("invalid/dtype-unknown.zt");
    CHECK_STATUS(zt_object_read_slice(zt_object_at(file, 0), zero, one, NULL, got, sizeof got), ZT_ERROR_UNSUPPORTED);
    zt_close(file);
    file = open_data("invalid/encoding-lz4.zt");
    CHECK_STATUS(zt_object_read_slice(zt_object_at(file, 0), zero, one, NULL, got, sizeof got), ZT_ERROR_UNSUPPORTED);
    zt_close(file);
    file = open_data("invalid/zstd-corrupt-block.zt");
    CHECK_STATUS(zt_object_read_slice(zt_object_at(file, 0), zero, one, NULL, got, sizeof got), ZT_ERROR_CORRUPT);
    zt_close(file);
}

/* A batch counts the bytes that it reads: the rows, not the matrix. */
static void stored_bytes(void)
{
    static unsigned char data[1000 * 1000], got[20000];
    const uint64_t shape[2] = {1000, 1000}, start[2] = {500, 0}, rows[2] = {10, 1000};
    const char *path = scratch_path("slice.zt");
    zt_writer *w = NULL;
    zt_file *file;
    zt_read_request r[2];
    zt_read_stats stats;
    fill_any(data, sizeof data, 9);
    REQUIRE(CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK));
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, shape, 2, data, sizeof data), ZT_OK);
    REQUIRE(CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK));
    file = open_path(path);
    INIT(r[0]);
    INIT(r[1]);
    INIT(stats);
    r[0].component = r[1].component = component_of(file, "a", "data");
    r[0].start = start;
    r[0].count = rows;
    r[0].dst = got;
    r[0].dst_size = 10000;
    r[1].offset = 7;
    r[1].length = 5000;
    r[1].dst = got + 10000;
    r[1].dst_size = 5000;
    CHECK_STATUS(zt_read_batch(file, r, 2, NULL, &stats), ZT_OK);
    CHECK(memcmp(got, data + 500000, 10000) == 0 && memcmp(got + 10000, data + 7, 5000) == 0);
    CHECK_U64(stats.bytes, 15000);
    CHECK_U64(stats.stored_bytes, 15000);
    r[1].dst = got + 9999; /* overlaps by one byte */
    CHECK_STATUS(zt_read_batch(file, r, 2, NULL, &stats), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "requests 0 and 1 share 1 bytes") != NULL);
    r[1].dst = got;
    CHECK_STATUS(zt_read_batch(file, r, 2, NULL, &stats), ZT_ERROR_INVALID_ARGUMENT);
    r[1].dst = got + 10000;
    r[0].dst_size = sizeof got; /* unused memory may overlap */
    CHECK_STATUS(zt_read_batch(file, r, 2, NULL, &stats), ZT_OK);
    CHECK(memcmp(got, data + 500000, 10000) == 0 && memcmp(got + 10000, data + 7, 5000) == 0);
    zt_close(file);
    remove(path);
}

int main(void)
{
    stored_bytes();
    many_slabs();
    values_known();
    scalars_and_nothing();
    slabs_that_leave_the_shape();
    what_has_no_slices();
    return check_done("slice");
}
