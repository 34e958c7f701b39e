/* Chapter "load_rows": requests for rows, with digests and conversions, in batches, loads and a cache. */
#include "loading.h"

#define SIZE 1200000
static const size_t sizes[] = {SIZE, 64, 4096};

typedef struct shape {
    uint64_t offset, rows, row_length, row_stride, dst_stride;
} shape;

static const shape shapes[] = {
    {0, 1, 1, 0, 0},           {7, 1, 100, 0, 5000},        {0, 3, 400000, 0, 0},      {0, 1200, 1000, 0, 1024},
    {0, 300, 1000, 4000, 0},   {3, 300, 1000, 3999, 1001},  {0, 20000, 3, 60, 0},      {1, 20000, 3, 59, 7},
    {0, 3, 300000, 400000, 0}, {16, 3, 300000, 400000, 300001}, {0, 2, 65536, 1000000, 70000}, {SIZE - 1, 1, 1, 9, 9},
    {0, SIZE, 1, 0, 2},        {0, 40000, 16, 30, 17}};

static void set_rows(zt_read_request *r, const shape *s)
{
    r->length = 0, r->offset = s->offset, r->rows = s->rows;
    r->row_length = s->row_length, r->row_stride = s->row_stride, r->dst_stride = s->dst_stride;
}

/* Whether dst has the rows, and 0xa5 between and after them. */
static int has_rows(const unsigned char *dst, size_t size, const shape *s)
{
    uint64_t row, i, at = 0;
    uint64_t from = s->row_stride ? s->row_stride : s->row_length, to = s->dst_stride ? s->dst_stride : s->row_length;
    for (row = 0; row < s->rows; row++) {
        for (; at < row * to; at++)
            if (dst[at] != 0xa5)
                return 0;
        for (i = 0; i < s->row_length; i++, at++)
            if (dst[at] != byte_of(0, (size_t)(s->offset + row * from + i)))
                return 0;
    }
    for (; at < size; at++)
        if (dst[at] != 0xa5)
            return 0;
    return 1;
}

static zt_status load_one(const zt_read_request *r)
{
    zt_load *load = NULL;
    zt_load_event event;
    zt_status status = zt_load_start(r, 1, NULL, &load);
    if (status != ZT_OK)
        return status;
    INIT(event);
    CHECK_STATUS(zt_load_next(load, -1, &event), ZT_OK);
    CHECK(event.kind != ZT_LOAD_KIND_DATA || (event.data == r->dst && event.last == 1 &&
                                         event.size == r->rows * r->row_length && event.slot == ZT_NO_SLOT));
    return zt_load_finish(load, NULL);
}

static void test_rows(const zt_file *file)
{
    size_t i, size = 2 * SIZE + 5000;
    unsigned char *dst = (unsigned char *)malloc(size);
    int how;
    REQUIRE(dst != NULL);
    for (i = 0; i < COUNT(shapes); i++)
        for (how = 0; how < 3; how++) {
            zt_read_request r;
            zt_read_options o;
            zt_read_stats stats;
            INIT(r), INIT(o), INIT(stats);
            r.component = component_of(file, "t0", "data");
            set_rows(&r, &shapes[i]);
            r.dst = dst, r.dst_size = size, r.verify = 1;
            memset(dst, 0xa5, size);
            o.threads = how ? 3 : 1;
            if (how == 2)
                CHECK_STATUS(load_one(&r), ZT_OK);
            else {
                CHECK_STATUS(zt_read_batch(file, &r, 1, &o, &stats), ZT_OK);
                CHECK(stats.bytes == r.rows * r.row_length && stats.requests == 1);
            }
            if (!CHECK(has_rows(dst, size, &shapes[i])))
                fprintf(stderr, "shape %lu, variant %d\n", (unsigned long)i, how);
        }
    free(dst);
}

/* Three requests that fill one matrix in blocks of columns; and a case where two of them overlap. */
static void test_fused(const zt_file *file)
{
    static const shape columns[] = {{0, 500, 100, 0, 350}, {50000, 500, 50, 75, 350}, {100000, 500, 200, 1000, 350}};
    static const size_t starts[] = {0, 100, 150};
    zt_read_request r[3];
    unsigned char *dst = (unsigned char *)malloc(500 * 350);
    size_t i, row, at;
    REQUIRE(dst != NULL);
    for (i = 0; i < 3; i++) {
        INIT(r[i]);
        r[i].component = component_of(file, "t0", "data");
        set_rows(&r[i], &columns[i]);
        r[i].dst = dst + starts[i], r[i].dst_size = 500 * 350 - starts[i];
    }
    CHECK_STATUS(zt_read_batch(file, r, 3, NULL, NULL), ZT_OK);
    for (i = 0; i < 3; i++)
        for (row = 0; row < 500; row++)
            for (at = 0; at < columns[i].row_length; at++)
                CHECK(dst[starts[i] + row * 350 + at] ==
                      byte_of(0, (size_t)(columns[i].offset + row * (i == 0 ? 100 : columns[i].row_stride) + at)));
    r[1].dst = dst + 99, r[1].dst_size = 500 * 350 - 99;
    CHECK_STATUS(zt_read_batch(file, r, 3, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "share 1 bytes") != NULL);
    free(dst);
}

static void test_bad_numbers(const zt_file *file)
{
    static const struct {
        shape rows;
        size_t dst_size;
        zt_status status;
    } bad[] = {{{0, 2, 0, 0, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},          {{0, 0, 1, 0, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},
               {{0, 0, 0, 1, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},          {{0, 0, 0, 0, 1}, 100, ZT_ERROR_INVALID_ARGUMENT},
               {{0, 2, 10, 9, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},         {{0, 2, 10, 0, 9}, 100, ZT_ERROR_INVALID_ARGUMENT},
               {{SIZE, 1, 1, 0, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},       {{SIZE - 19, 2, 10, 0, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},
               {{0, UINT64_MAX, 10, 0, 0}, 100, ZT_ERROR_INVALID_ARGUMENT}, {{0, 2, 10, UINT64_MAX, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},
               {{UINT64_MAX, 2, 10, 10, 0}, 100, ZT_ERROR_INVALID_ARGUMENT}, {{0, 1, UINT64_MAX, 0, 0}, 100, ZT_ERROR_INVALID_ARGUMENT},
               {{0, 3, 10, 0, UINT64_MAX / 2}, 100, ZT_ERROR_BUFFER_SIZE},  {{0, 2, 10, 0, 0}, 19, ZT_ERROR_BUFFER_SIZE},
               {{0, 2, 10, 0, 20}, 29, ZT_ERROR_BUFFER_SIZE}};
    static const uint64_t zero = 0;
    unsigned char dst[100];
    zt_read_request r;
    size_t i;
    memset(dst, 0xa5, sizeof dst);
    INIT(r);
    r.component = component_of(file, "t0", "data");
    r.dst = dst;
    for (i = 0; i < COUNT(bad); i++) {
        set_rows(&r, &bad[i].rows);
        r.dst_size = bad[i].dst_size;
        if (!CHECK(zt_read_batch(file, &r, 1, NULL, NULL) == bad[i].status && load_one(&r) == bad[i].status))
            fprintf(stderr, "number %lu: %s\n", (unsigned long)i, zt_last_error());
    }
    set_rows(&r, &shapes[0]);
    r.dst_size = 100;
    r.verify = 2;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.verify = 0, r.convert = 12345;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.convert = 0, r.length = ZT_WHOLE;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.length = 0, r.start = &zero;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.start = NULL, r.dst = NULL;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    /* Rows in a ring do not have gaps. */
    r.dst_size = 0, r.dst_stride = 9;
    CHECK(load_one(&r) != ZT_OK);
    for (i = 0; i < sizeof dst; i++)
        CHECK(dst[i] == 0xa5);
}

/* u8 as u16 and f32: completely, a range, rows, and rows with gaps; with and without checked digests. */
static void test_convert(const zt_file *file)
{
    static const shape rows = {10, 40, 30, 100, 0}, gaps = {10, 40, 30, 100, 130};
    uint32_t verify;
    float *dst = (float *)malloc(SIZE * sizeof *dst);
    unsigned char *raw = (unsigned char *)dst;
    zt_read_request r;
    zt_read_stats stats;
    size_t i;
    REQUIRE(dst != NULL);
    for (verify = 0; verify < 2; verify++) {
        INIT(r), INIT(stats);
        r.component = component_of(file, "t0", "data");
        r.length = ZT_WHOLE, r.dst = dst, r.dst_size = SIZE * 4, r.convert = ZT_DTYPE_F32, r.verify = verify;
        CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, &stats), ZT_OK);
        CHECK(stats.digests_verified == verify && stats.bytes == SIZE * 4);
        for (i = 0; i < SIZE; i++)
            if (!CHECK(dst[i] == (float)byte_of(0, i)))
                break;
        r.offset = 77, r.length = 1000;
        CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
        CHECK(dst[0] == (float)byte_of(0, 77) && dst[999] == (float)byte_of(0, 1076));
        set_rows(&r, &rows);
        CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
        for (i = 0; i < 40 * 30; i++)
            CHECK(dst[i] == (float)byte_of(0, 10 + i / 30 * 100 + i % 30));
        memset(dst, 0xa5, 130 * 41);
        set_rows(&r, &gaps);
        CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
        for (i = 0; i < 40; i++) {
            float first;
            memcpy(&first, raw + i * 130, sizeof first);
            CHECK(first == (float)byte_of(0, 10 + i * 100));
            CHECK(raw[i * 130 + 120] == 0xa5 && raw[i * 130 + 129] == 0xa5);
        }
    }
    free(dst);
}

static void test_cache(const zt_file *file)
{
    static const shape rows = {3, 40, 30, 100, 0};
    zt_cache_options o;
    zt_cache *cache = NULL;
    zt_cache_pin a, b, c;
    zt_read_request r;
    size_t i;
    INIT(o), INIT(r), INIT(a), INIT(b), INIT(c);
    o.budget = 1 << 16, o.slot_size = 8192;
    REQUIRE(zt_cache_create(&o, &cache) == ZT_OK);
    r.component = component_of(file, "t0", "data");
    set_rows(&r, &rows);
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &a), ZT_OK);
    r.convert = ZT_DTYPE_F32;
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &b), ZT_OK);
    r.convert = 0, r.row_stride = 101;
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &c), ZT_OK);
    CHECK(a.size == 1200 && b.size == 4800 && c.size == 1200);
    for (i = 0; i < 1200; i++) {
        CHECK(((const unsigned char *)a.data)[i] == byte_of(0, 3 + i / 30 * 100 + i % 30));
        CHECK(((const float *)b.data)[i] == (float)byte_of(0, 3 + i / 30 * 100 + i % 30));
        CHECK(((const unsigned char *)c.data)[i] == byte_of(0, 3 + i / 30 * 101 + i % 30));
    }
    zt_cache_unpin(cache, &a), zt_cache_unpin(cache, &b), zt_cache_unpin(cache, &c);
    r.dst_stride = 30;
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &a), ZT_ERROR_INVALID_ARGUMENT);
    zt_cache_free(cache);
}

/* Through smaller slots: zstd with its digest, rows and a conversion. They use temporary memory one after the
 * other. */
static void test_small_slots(const zt_file *file)
{
    static const shape rows = {0, 300, 1000, 4000, 0};
    uint32_t round;
    for (round = 0; round < 12; round++) {
        zt_read_request r[4];
        zt_load_options o;
        zt_load_event event;
        zt_read_stats stats;
        zt_load *load = NULL;
        uint64_t came[4] = {0, 0, 0, 0};
        unsigned ended[4] = {0, 0, 0, 0};
        size_t i, held = 0, taken = 0;
        static const uint64_t whole[4] = {SIZE, 300000, 4 * SIZE, SIZE};
        zt_load_event late[2];
        INIT(o), INIT(stats);
        o.slot_size = 65536, o.slot_count = 3, o.threads = 1 + round % 3, o.order = (zt_load_order)(round / 4);
        o.in_flight = 5 * SIZE;
        for (i = 0; i < 4; i++) {
            INIT(r[i]);
            r[i].component = component_of(file, "t0", "data"), r[i].tag = i, r[i].length = ZT_WHOLE;
            r[i].verify = i == 0;
        }
        set_rows(&r[1], &rows);
        r[2].convert = ZT_DTYPE_F32;
        CHECK_STATUS(zt_load_start(r, 4, &o, &load), ZT_OK);
        REQUIRE(load != NULL);
        for (;; taken++) {
            INIT(event);
            CHECK_STATUS(zt_load_next(load, -1, &event), ZT_OK);
            if (event.kind == ZT_LOAD_KIND_DONE || (round >= 8 && taken == 3 * (round - 7)))
                break;
            REQUIRE(event.kind == ZT_LOAD_KIND_DATA && event.tag < 4 && event.size <= o.slot_size);
            for (i = 0; i < event.size; i++) {
                const unsigned char *at = (const unsigned char *)event.data;
                size_t n = (size_t)event.offset + i;
                int agrees = event.tag == 1   ? at[i] == byte_of(0, n / 1000 * 4000 + n % 1000)
                             : event.tag != 2 ? at[i] == byte_of(0, n)
                                              : n % 4 != 0;
                if (event.tag == 2 && n % 4 == 0) {
                    float value;
                    memcpy(&value, at + i, sizeof value);
                    agrees = value == (float)byte_of(0, n / 4);
                }
                if (!CHECK(agrees))
                    break;
            }
            came[event.tag] += event.size, ended[event.tag] += event.last;
            late[held++] = event; /* two of the three slots are released late */
            if (held == 2)
                for (; held > 0; held--)
                    zt_load_release(load, &late[held - 1]);
        }
        if (round >= 8) { /* in the middle */
            CHECK_STATUS(zt_load_cancel(load), ZT_OK);
            CHECK_STATUS(zt_load_finish(load, NULL), ZT_ERROR_CANCELLED);
            continue;
        }
        for (i = 0; i < 4; i++)
            CHECK(came[i] == whole[i] && ended[i] == 1);
        CHECK_STATUS(zt_load_finish(load, &stats), ZT_OK);
        CHECK_U64(stats.requests, 4);
        CHECK_U64(stats.digests_verified, 1);
        r[0].verify = 1, o.in_flight = SIZE - 1;
        CHECK_STATUS(zt_load_start(r, 1, &o, &load), ZT_ERROR_LIMIT);
        CHECK(strstr(zt_last_error(), "1200000") != NULL && strstr(zt_last_error(), "1199999") != NULL);
    }
}

/* A flipped byte is reported by the request that reads it, also with a conversion or rows, and by no
 * other. */
static void test_verify(const char *path)
{
    static const shape rows = {0, 1200, 1000, 0, 1001};
    zt_read_request r;
    unsigned char *dst = (unsigned char *)malloc(4 * SIZE);
    int variant;
    zt_file *file = open_path(path);
    uint64_t at = component_info(component_of(file, "t0", "data")).offset + 1000;
    FILE *stream = fopen(path, "r+b");
    REQUIRE(dst != NULL && stream != NULL);
    CHECK(fseek(stream, (long)at, SEEK_SET) == 0 && fputc(byte_of(0, 1000) ^ 1, stream) != EOF);
    fclose(stream);
    for (variant = 0; variant < 6; variant++) {
        INIT(r);
        r.component = component_of(file, "t0", "data");
        r.length = ZT_WHOLE, r.dst = dst, r.dst_size = 4 * SIZE, r.verify = variant & 1;
        if (variant / 2 == 1)
            r.convert = ZT_DTYPE_F32;
        if (variant / 2 == 2)
            set_rows(&r, &rows);
        CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), variant & 1 ? ZT_ERROR_DIGEST_MISMATCH : ZT_OK);
    }
    zt_close(file);
    free(dst);
}

int main(void)
{
    const char *path = scratch_path("load_rows.zt");
    zt_encoding encoding;
    zt_file *file;
    for (encoding = ZT_ENCODING_RAW; encoding <= ZT_ENCODING_ZSTD; encoding++) {
        write_tensors(path, sizes, COUNT(sizes), encoding, ZT_DIGEST_SHA256);
        file = open_path(path);
        test_rows(file);
        test_fused(file);
        test_bad_numbers(file);
        test_convert(file);
        test_cache(file);
        test_small_slots(file);
        zt_close(file);
    }
    write_tensors(path, sizes, COUNT(sizes), ZT_ENCODING_RAW, ZT_DIGEST_SHA256);
    test_verify(path);
    remove(path);
    return check_done("load_rows");
}
