/* Chapter "component": the ways to read bytes: ptr, read, read_range, load, advise. Conversion is in
 * convert.c. */
#include "advice.h"
#include "support.h"

static void borrowed(void)
{
    static const char *const names[] = {"v0.1/py-0.1.4-all-dtypes.zt", "v1.0/py-1.0.0-all-dtypes.zt",
                                        "v1.1/py-1.1.1-all-dtypes.zt", "v1.2/py-1.2.3-all-dtypes.zt",
                                        "v1.2/py-1.2.3-shapes.zt", "valid-odd/empty-anywhere.zt",
                                        "valid-odd/empty-at-0.zt"};
    size_t i, o;
    for (i = 0; i < COUNT(names); i++) {
        zt_file *file = open_data(names[i]);
        size_t file_size;
        unsigned char *bytes = read_file(data_path(names[i]), &file_size);
        for (o = 0; o < zt_object_count(file); o++) {
            const zt_component *c = zt_component_at(zt_object_at(file, o), 0);
            const void *ptr = NULL, *again = NULL;
            size_t size = 77;
            if (!borrows_little_endian(zt_dtype_size(zt_component_dtype(c)))) {
                CHECK_STATUS(zt_component_ptr(c, &ptr, &size), ZT_ERROR_NOT_MAPPABLE);
                continue;
            }
            CHECK_STATUS(zt_component_ptr(c, &ptr, &size), ZT_OK);
            CHECK(ptr != NULL); /* also for 0 bytes */
            CHECK(is_aligned(ptr, 64));
            CHECK_U64(size, measured_size(c));
            CHECK(memcmp(ptr, bytes + component_info(c).offset, size) == 0);
            CHECK_STATUS(zt_component_ptr(c, &again, NULL), ZT_OK);
            CHECK(again == ptr);
        }
        free(bytes);
        zt_close(file);
    }
}

static void not_borrowed(void)
{
    static const struct { const char *file, *object; zt_mode mode; } rows[] = {
        {"v1.2/py-1.2.3-zstd.zt", "f64@1", ZT_MODE_MAP},
        {"v0.1/rs-0.1.0-big-endian.zt", "f64", ZT_MODE_MAP},
        {"v1.2/py-1.2.3-all-dtypes.zt", "f64", ZT_MODE_READ},
    };
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        zt_file *file = open_data_mode(is_big_endian() && i == 1 ? rows[2].file : rows[i].file, rows[i].mode);
        const void *ptr = &rows;
        size_t size = 77;
        CHECK_STATUS(zt_component_ptr(component_of(file, rows[i].object, "data"), &ptr, &size), ZT_ERROR_NOT_MAPPABLE);
        CHECK(ptr == &rows && size == 77);
        CHECK(strstr(zt_last_error(), rows[i].object) != NULL);
        zt_close(file);
    }
    /* Bytes do not have an order. */
    {
        zt_file *file = open_data("v0.1/rs-0.1.0-big-endian.zt");
        const void *ptr = NULL;
        CHECK_STATUS(zt_component_ptr(component_of(file, "i8", "data"), &ptr, NULL), ZT_OK);
        CHECK(ptr != NULL);
        zt_close(file);
    }
}

/* One component, read in every way, compared with `want`. */
static void every_reader(const zt_component *c, const unsigned char *want, size_t size, uint32_t seed)
{
    unsigned char *out_bytes = (unsigned char *)malloc(size + 80);
    zt_buffer *buffer = NULL;
    size_t i;
    REQUIRE(out_bytes != NULL);
    for (i = 0; i < 4; i++) { /* unaligned */
        memset(out_bytes, 0xa5, size + 80);
        CHECK_STATUS(zt_component_read(c, out_bytes + i, size), ZT_OK);
        CHECK(memcmp(out_bytes + i, want, size) == 0);
        CHECK(out_bytes[i + size] == 0xa5 && (i == 0 || out_bytes[i - 1] == 0xa5));
    }
    memset(out_bytes, 0xa5, size + 80);
    CHECK_STATUS(zt_component_read(c, out_bytes, size + 70), ZT_OK);
    CHECK(out_bytes[size] == 0xa5 && out_bytes[size + 69] == 0xa5); /* bytes after it are unchanged */
    if (size) {
        CHECK_STATUS(zt_component_read(c, out_bytes, size - 1), ZT_ERROR_BUFFER_SIZE);
        CHECK_STATUS(zt_component_read(c, out_bytes, 0), ZT_ERROR_BUFFER_SIZE);
        CHECK_STATUS(zt_component_read(c, NULL, size), ZT_ERROR_INVALID_ARGUMENT);
        CHECK_STATUS(zt_component_read_range(c, 0, NULL, 1), ZT_ERROR_INVALID_ARGUMENT);
    } else {
        CHECK_STATUS(zt_component_read(c, NULL, 0), ZT_OK);
    }
    for (i = 0; size && i < 24; i++) {
        size_t from = next_random(&seed) % size, n = next_random(&seed) % (size - from + 1);
        if (i == 0) {
            from = 0;
            n = size;
        }
        memset(out_bytes, 0xa5, size + 80);
        CHECK_STATUS(zt_component_read_range(c, from, out_bytes + 3, n), ZT_OK);
        CHECK(memcmp(out_bytes + 3, want + from, n) == 0);
        CHECK(out_bytes[2] == 0xa5 && out_bytes[3 + n] == 0xa5);
    }
    CHECK_STATUS(zt_component_read_range(c, 0, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_component_read_range(c, size, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_component_read_range(c, size, out_bytes, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_component_read_range(c, 0, out_bytes, size + 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_component_read_range(c, (uint64_t)size + 1, out_bytes, 0), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_component_read_range(c, UINT64_MAX, out_bytes, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_component_read_range(c, UINT64_MAX, out_bytes, 2), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_component_load(c, NULL, &buffer), ZT_OK);
    REQUIRE(buffer != NULL);
    CHECK_U64(zt_buffer_size(buffer), size);
    CHECK(zt_buffer_data(buffer) != NULL && is_aligned(zt_buffer_data(buffer), 64));
    CHECK(memcmp(zt_buffer_data(buffer), want, size) == 0);
    zt_buffer_free(buffer);
    free(out_bytes);
}

static void every_reader_of_all(void)
{
    static const char *const names[] = {
        "v1.2/py-1.2.3-all-dtypes.zt", "v1.2/py-1.2.3-zstd.zt", "v1.2/py-1.2.3-shapes.zt", "v1.2/py-1.2.3-logical.zt",
        "v1.1/rs-1.1.1-sparse-zstd-digest.zt", "v1.1/py-1.1.1-zstd.zt", "v0.1/rs-0.1.0-big-endian.zt",
        "v0.1/rs-0.1.0-zstd.zt", "v1.0/py-1.0.1-zstd.zt", "valid-odd/zstd-two-frames.zt", "valid-odd/zstd-skippable.zt",
        "valid-odd/zstd-empty.zt", "valid-odd/zstd-window-128m.zt", "valid-odd/empty-at-0.zt"};
    size_t i, o, k, mode;
    for (i = 0; i < COUNT(names); i++) {
        for (mode = 0; mode < 2; mode++) {
            zt_file *file = open_data_mode(names[i], (zt_mode)mode);
            for (o = 0; o < zt_object_count(file); o++) {
                const zt_object *object = zt_object_at(file, o);
                for (k = 0; k < zt_component_count(object); k++) {
                    const zt_component *c = zt_component_at(object, k);
                    size_t size;
                    unsigned char *want = read_component(c, &size); /* compared with SHA-256 in component.c */
                    every_reader(c, want, size, (uint32_t)(o + 1));
                    free(want);
                }
            }
            zt_close(file);
        }
    }
}

static void ranges_of_frames(void)
{
    zt_file *file = open_data("v1.2/rs-1.2.3-1m.zt");
    static const char *const names[] = {"raw", "zstd"};
    size_t i;
    for (i = 0; i < 2; i++) {
        const zt_component *c = component_of(file, names[i], "data");
        size_t size;
        unsigned char *want = read_component(c, &size);
        unsigned char got[1000];
        CHECK_STATUS(zt_component_read_range(c, size - 1000, got, 1000), ZT_OK);
        CHECK(memcmp(got, want + size - 1000, 1000) == 0);
        CHECK_STATUS(zt_component_read_range(c, size / 2 + 1, got, 999), ZT_OK);
        CHECK(memcmp(got, want + size / 2 + 1, 999) == 0);
        free(want);
    }
    zt_close(file);
}

static void buffers_outlive_the_file(void)
{
    static const struct { const char *file, *object; } rows[] = {
        {"v1.2/py-1.2.3-all-dtypes.zt", "f64"}, {"v1.2/py-1.2.3-zstd.zt", "f64@1"}, {"v0.1/rs-0.1.0-big-endian.zt", "f64"}};
    size_t i, mode, size;
    for (i = 0; i < COUNT(rows); i++) {
        for (mode = 0; mode < 2; mode++) {
            zt_file *file = open_data_mode(rows[i].file, (zt_mode)mode);
            const zt_component *c = component_of(file, rows[i].object, "data");
            unsigned char *want = read_component(c, &size);
            zt_buffer *one = NULL, *two = NULL;
            CHECK_STATUS(zt_component_load(c, NULL, &one), ZT_OK);
            CHECK_STATUS(zt_component_load(c, NULL, &two), ZT_OK);
            CHECK(one != two);
            zt_close(file);
            CHECK(zt_buffer_size(one) == size && memcmp(zt_buffer_data(one), want, size) == 0);
            zt_buffer_free(one);
            CHECK(zt_buffer_size(two) == size && memcmp(zt_buffer_data(two), want, size) == 0);
            zt_buffer_free(two);
            free(want);
        }
    }
    CHECK(zt_buffer_data(NULL) == NULL && zt_buffer_size(NULL) == 0);
    zt_buffer_free(NULL);
}

static void damaged(void)
{
    static const struct { const char *file; zt_status status; } rows[] = {
        {"invalid/zstd-corrupt-block.zt", ZT_ERROR_CORRUPT}, {"invalid/zstd-cut.zt", ZT_ERROR_CORRUPT},
        {"invalid/zstd-ulength-one-more.zt", ZT_ERROR_CORRUPT}, {"invalid/zstd-checksum.zt", ZT_ERROR_CORRUPT},
        {"invalid/zstd-not-zstd.zt", ZT_ERROR_CORRUPT}, {"invalid/v0.1-zstd-corrupt.zt", ZT_ERROR_CORRUPT},
        {"invalid/zstd-trailing-garbage.zt", ZT_ERROR_CORRUPT}};
    static unsigned char got[1 << 16];
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        zt_file *file = open_data(rows[i].file);
        const zt_component *c = zt_component_at(zt_object_at(file, 0), 0);
        zt_buffer *buffer = (zt_buffer *)got;
        CHECK_STATUS(zt_component_read(c, got, sizeof got), rows[i].status);
        CHECK_STATUS(zt_component_load(c, NULL, &buffer), rows[i].status);
        CHECK(buffer == NULL);
        zt_close(file);
    }
}

/* Unsupported advice is ZT_ERROR_UNSUPPORTED. For a mapping of 0 bytes every advice succeeds. */
static zt_status wanted(const zt_component *c, zt_advice advice, zt_mode mode)
{
    const int nothing = mode != ZT_MODE_READ && component_info(c).stored_size == 0;
    return nothing || takes_advice(advice, mode) ? ZT_OK : ZT_ERROR_UNSUPPORTED;
}

static void advise(const zt_component *c, zt_mode mode)
{
    size_t i;
    for (i = 0; i < COUNT(all_advice); i++)
        CHECK_STATUS(zt_component_advise(c, all_advice[i]), wanted(c, all_advice[i], mode));
}

/* Released pages are read again. */
static void advice(void)
{
    static const char *const names[] = {"v1.2/rs-1.2.3-1m.zt", "valid-odd/empty-anywhere.zt"};
    size_t i, mode, o;
    for (i = 0; i < COUNT(names); i++) {
        for (mode = ZT_MODE_MAP; mode <= ZT_MODE_PRIVATE; mode++) {
            zt_file *file = open_data_mode(names[i], (zt_mode)mode);
            for (o = 0; o < zt_object_count(file); o++) {
                const zt_component *c = zt_component_at(zt_object_at(file, o), 0);
                size_t size;
                unsigned char *before = read_component(c, &size), *after;
                advise(c, zt_file_mode(file));
                CHECK_STATUS(zt_component_advise(c, 9), ZT_ERROR_INVALID_ARGUMENT);
                CHECK_STATUS(zt_component_advise(c, UINT32_MAX), ZT_ERROR_INVALID_ARGUMENT);
                after = read_component(c, &size);
                CHECK(memcmp(before, after, size) == 0);
                free(before);
                free(after);
            }
            zt_close(file);
        }
    }
}

static void whole_files(void)
{
    static const char name[] = "v1.2/rs-1.2.3-1m.zt";
    const zt_mode modes[] = {ZT_MODE_MAP, ZT_MODE_READ, ZT_MODE_AUTO, ZT_MODE_PRIVATE};
    size_t i, size;
    unsigned char *bytes = read_file(data_path(name), &size);
    CHECK(zt_file_mode(NULL) == ZT_MODE_MAP);
    for (i = 0; i < COUNT(modes); i++) {
        zt_file *file = open_data_mode(name, modes[i]);
        const void *ptr = &size, *borrowed = NULL;
        uint64_t whole = 7;
        const zt_component *c = zt_component_at(zt_object_at(file, 0), 0);
        CHECK(zt_file_mode(file) == modes[i] || modes[i] == ZT_MODE_AUTO);
        CHECK(zt_file_mode(file) != ZT_MODE_AUTO);
        CHECK_STATUS(zt_file_bytes(file, 1, &ptr, &whole), ZT_ERROR_INVALID_ARGUMENT);
        CHECK_STATUS(zt_file_bytes(file, 0, NULL, &whole), ZT_ERROR_INVALID_ARGUMENT);
        CHECK_STATUS(zt_file_bytes(NULL, 0, &ptr, &whole), ZT_ERROR_INVALID_ARGUMENT);
        CHECK(ptr == &size && whole == 7);
        if (zt_file_mode(file) == ZT_MODE_READ) {
            CHECK_STATUS(zt_file_bytes(file, 0, &ptr, &whole), ZT_ERROR_NOT_MAPPABLE);
            CHECK(ptr == &size && whole == 7);
        } else {
            CHECK_STATUS(zt_file_bytes(file, 0, &ptr, NULL), ZT_OK);
            CHECK_STATUS(zt_file_bytes(file, 0, &ptr, &whole), ZT_OK);
            CHECK_U64(whole, size);
            CHECK(memcmp(ptr, bytes, size) == 0);
            if (borrows_little_endian(zt_dtype_size(zt_component_dtype(c)))) {
                CHECK_STATUS(zt_component_ptr(c, &borrowed, NULL), ZT_OK);
                CHECK(borrowed == (const unsigned char *)ptr + component_info(c).offset);
            }
        }
        /* written to: only borrowed bytes show the change */
        if (modes[i] == ZT_MODE_PRIVATE && borrowed != NULL) {
            unsigned char *here = (unsigned char *)(uintptr_t)borrowed, first = *here, got[1];
            *here ^= 0xff;
            CHECK_STATUS(zt_component_read_range(c, 0, got, 1), ZT_OK);
            CHECK(got[0] == first && bytes[component_info(c).offset] == first);
            CHECK_STATUS(zt_component_ptr(c, &borrowed, NULL), ZT_OK);
            CHECK(*(const unsigned char *)borrowed == (unsigned char)(first ^ 0xff));
            CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
        }
        zt_close(file);
    }
    free(bytes);
}

int main(void)
{
    borrowed();
    not_borrowed();
    every_reader_of_all();
    ranges_of_frames();
    buffers_outlive_the_file();
    damaged();
    advice();
    whole_files();
    return check_done("component_bytes");
}
