/* Strategies that a batch chooses: direct reads for bytes that are not in memory, coalesced short reads, and
 * several threads for large components in single calls. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "residence.h"
#include "writing.h"
#if defined(__linux__)
#include <pthread.h>
#endif

#define LARGE ((17u << 20) + 77)
#define SHORTS 1000
#define MIDDLE ((1u << 20) + 5)

static unsigned char *large, *middle;
static int can_always; /* the file system supports direct reads */

/* One large tensor at an odd offset, many short ones with gaps, some of middle size, and a float matrix. */
static zt_file *written(const char *path, uint64_t large_alignment, zt_mode mode)
{
    zt_write_options o;
    zt_open_options open;
    zt_writer *w = NULL;
    zt_file *file = NULL;
    char name[16];
    uint64_t shape[2];
    size_t i;
    INIT(o);
    INIT(open);
    o.large_alignment = large_alignment;
    o.digest = ZT_DIGEST_CRC32C;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    for (i = 0; i < SHORTS; i++) {
        snprintf(name, sizeof name, "s%u", (unsigned)i);
        shape[0] = i * 7 % 2000;
        CHECK_STATUS(zt_write_dense(w, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, shape, 1, large + i, (size_t)shape[0]), ZT_OK);
    }
    shape[0] = LARGE;
    CHECK_STATUS(zt_write_dense(w, "large", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, shape, 1, large, LARGE), ZT_OK);
    for (i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "m%u", (unsigned)i);
        shape[0] = MIDDLE - i;
        CHECK_STATUS(zt_write_dense(w, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, shape, 1, middle + i, MIDDLE - i), ZT_OK);
    }
    shape[0] = 3000;
    shape[1] = 1000;
    CHECK_STATUS(zt_write_dense(w, "matrix", 0, ZT_DTYPE_U16, ZT_TYPE_NONE, shape, 2, large, 6000000), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    open.mode = mode;
    CHECK_STATUS(zt_open(path, &open, &file), ZT_OK);
    return file;
}

static unsigned char reported[SHORTS + 8];

static void on_done(void *context, uint64_t tag, zt_status status, const char *message)
{
    CHECK_STATUS(status, ZT_OK);
    CHECK_STR(message, "");
    CHECK(context == reported && tag < COUNT(reported));
    reported[tag]++;
}

/* All tensors and slices of the matrix. Compares the bytes; each request must be reported once. */
static zt_read_stats everything(const zt_file *file, zt_direct direct, uint32_t threads, uint64_t chunk, uint64_t in_flight,
                                uint32_t verify, size_t shift)
{
    static const uint64_t rows[2] = {700, 0}, row_count[2] = {900, 1000}, columns[2] = {0, 300}, column_count[2] = {3000, 411};
    static const uint64_t spread[2] = {5, 1}, spread_count[2] = {300, 90}, step[2] = {9, 11};
    zt_read_request *r = (zt_read_request *)calloc(SHORTS + 8, sizeof *r);
    unsigned char *got = (unsigned char *)malloc(LARGE + 3 * MIDDLE + SHORTS * 2002 + 6000000 + 8192), *place;
    const unsigned char *matrix = large;
    zt_read_options o;
    zt_read_stats stats;
    char name[16];
    size_t n = 0, i, k, wrong = 0;
    REQUIRE(r != NULL && got != NULL);
    place = got + (4096 - (uintptr_t)got % 4096) + shift;
    for (i = 0; i < SHORTS + 7; i++, n++) {
        size_t size;
        if (i < SHORTS)
            snprintf(name, sizeof name, "s%u", (unsigned)(SHORTS - 1 - i)); /* in reverse order */
        else if (i < SHORTS + 3)
            snprintf(name, sizeof name, "m%u", (unsigned)(i - SHORTS));
        else
            strcpy(name, i == SHORTS + 3 ? "large" : "matrix");
        r[n].struct_size = sizeof r[n];
        r[n].component = component_of(file, name, "data");
        size = (size_t)measured_size(r[n].component);
        r[n].length = i < SHORTS + 4 ? ZT_WHOLE : 0;
        if (i == SHORTS + 4) {
            r[n].start = rows;
            r[n].count = row_count;
            size = 900 * 1000 * 2;
        } else if (i == SHORTS + 5) {
            r[n].start = columns;
            r[n].count = column_count;
            size = 3000 * 411 * 2;
        } else if (i == SHORTS + 6) {
            r[n].start = spread;
            r[n].count = spread_count;
            r[n].step = step;
            size = 300 * 90 * 2;
        }
        r[n].dst = place;
        r[n].dst_size = size;
        r[n].tag = n;
        place += size + (i < SHORTS ? 1 : 0); /* a byte between them that must not change */
        if (i < SHORTS)
            place[-1] = 0xa5;
    }
    INIT(o);
    INIT(stats);
    o.threads = threads;
    o.direct = direct;
    o.chunk_size = chunk;
    o.in_flight = in_flight;
    o.verify = verify;
    o.context = reported;
    o.on_done = on_done;
    memset(reported, 0, sizeof reported);
    CHECK_STATUS(zt_read_batch(file, r, n, &o, &stats), ZT_OK);
    for (i = 0; i < n; i++) {
        const unsigned char *dst = (const unsigned char *)r[i].dst;
        CHECK(reported[i] == 1);
        if (i < SHORTS)
            wrong += memcmp(dst, large + (SHORTS - 1 - i), r[i].dst_size) != 0 || dst[r[i].dst_size] != 0xa5;
        else if (i < SHORTS + 3)
            wrong += memcmp(dst, middle + (i - SHORTS), r[i].dst_size) != 0;
        else if (i == SHORTS + 3)
            wrong += memcmp(dst, large, LARGE) != 0;
        else if (i == SHORTS + 4)
            wrong += memcmp(dst, matrix + 700 * 2000, r[i].dst_size) != 0;
        else if (i == SHORTS + 5)
            for (k = 0; k < 3000; k++)
                wrong += memcmp(dst + k * 822, matrix + k * 2000 + 600, 822) != 0;
        else
            for (k = 0; k < 300 * 90; k++)
                wrong += memcmp(dst + k * 2, matrix + (5 + k / 90 * 9) * 2000 + (1 + k % 90 * 11) * 2, 2) != 0;
    }
    CHECK_U64(wrong, 0);
    CHECK_U64(stats.requests, n);
    CHECK(stats.reason != NULL && strlen(stats.reason) > 10);
    CHECK(stats.direct == (strncmp(stats.reason, "direct", 6) == 0));
    CHECK(stats.digests_verified == (verify ? SHORTS + 4 : 0));
    free(r);
    free(got);
    return stats;
}

/* With ZT_DIRECT_AUTO a batch uses direct reads for bytes that were evicted. `part`: half of the large tensor
 * is in memory again. */
static zt_read_stats from_disk(const char *path, const zt_file *file, int part, uint32_t verify, size_t shift)
{
    static const char *const all_direct = "direct: the bytes were not in memory";
    static const char *const part_direct = "direct and page cache: part of the bytes was in memory";
    static int said;
    zt_read_stats stats;
    const char *unsure = evict(path);
    if (part && !unsure)
        unsure = bring_back(path, component_info(component_of(file, "large", "data")).offset, LARGE / 2);
    stats = everything(file, ZT_DIRECT_AUTO, 2, part ? 1 << 20 : 0, 0, verify, shift);
    if (!unsure) {
        /* Up to 1/16 of the bytes may be in memory even after eviction. */
        if (CHECK_U64(stats.direct, 1) && (part || strcmp(stats.reason, all_direct) != 0))
            CHECK_STR(stats.reason, part_direct);
    } else if (!said++)
        printf("batch_strategy: skipped: direct reads that a batch chooses: %s\n", unsure);
    return stats;
}

static void strategies(const char *path, uint64_t alignment, zt_mode mode)
{
    zt_file *file = written(path, alignment, mode);
    zt_read_stats stats;
    static const size_t shifts[] = {0, 64, 512};
    size_t i;
    for (i = 0; i < COUNT(shifts); i++) {
        stats = from_disk(path, file, 0, i % 2 == 0, shifts[i]);
        can_always |= stats.direct;
    }
    /* After a read through the page cache the bytes are in memory, and later batches use it. */
    stats = everything(file, ZT_DIRECT_NEVER, 2, 0, 0, 1, 0);
    CHECK(stats.direct == 0);
    stats = everything(file, ZT_DIRECT_AUTO, 2, 0, 0, 0, 0);
    CHECK(stats.direct == 0 && strstr(stats.reason, "page cache: ") == stats.reason);
    evict(path);
    everything(file, ZT_DIRECT_AUTO, 3, 4096, 1, 1, 1);
    everything(file, ZT_DIRECT_AUTO, 1, 70000, 1 << 20, 0, 0);
    zt_close(file);
}

/* A component that one call reads on several threads has the same bytes and the same error as with one
 * thread. */
static void wide(const char *path)
{
    unsigned char *dst = (unsigned char *)malloc(LARGE);
    uint32_t threads;
    REQUIRE(dst != NULL);
    zt_close(written(path, 0, ZT_MODE_MAP));
    for (threads = 0; threads <= 3; threads++) {
        zt_open_options o;
        zt_file *file = NULL;
        zt_buffer *buffer = NULL;
        INIT(o);
        o.mode = ZT_MODE_READ;
        o.threads = threads;
        CHECK_STATUS(zt_open(path, &o, &file), ZT_OK);
        memset(dst, 0, LARGE);
        CHECK_STATUS(zt_component_read(component_of(file, "large", "data"), dst, LARGE), ZT_OK);
        CHECK(memcmp(dst, large, LARGE) == 0);
        CHECK_STATUS(zt_component_read(component_of(file, "large", "data"), dst, LARGE - 1), ZT_ERROR_BUFFER_SIZE);
        CHECK_STATUS(zt_component_load(component_of(file, "large", "data"), NULL, &buffer), ZT_OK);
        CHECK(zt_buffer_size(buffer) == LARGE && (uintptr_t)zt_buffer_data(buffer) % 64 == 0);
        CHECK(memcmp(zt_buffer_data(buffer), large, LARGE) == 0);
        zt_buffer_free(buffer);
#if defined(__linux__)
        REQUIRE(truncate(path, 12 << 20) == 0);
        CHECK_STATUS(zt_component_read(component_of(file, "large", "data"), dst, LARGE), ZT_ERROR_IO);
        CHECK(strstr(zt_last_error(), "changed since it was opened") != NULL);
        CHECK_STATUS(zt_component_load(component_of(file, "large", "data"), NULL, &buffer), ZT_ERROR_IO);
        CHECK(buffer == NULL);
        zt_close(file);
        zt_close(written(path, 0, ZT_MODE_MAP));
#else
        zt_close(file);
#endif
    }
    {
        zt_open_options o;
        zt_file *file = NULL;
        INIT(o);
        o.containers = 1u << 31; /* a container that does not exist */
        CHECK_STATUS(zt_open(path, &o, &file), ZT_ERROR_INVALID_ARGUMENT);
    }
    free(dst);
}

#if defined(__linux__)
/* Part of it is in memory. The handle does not read ahead. */
static void in_part(const char *path)
{
    zt_file *file = NULL;
    zt_open_options o;
    int fd = open_without_readahead(path);
    INIT(o);
    o.mode = ZT_MODE_READ;
    CHECK_STATUS(zt_open_fd(fd, 0, ZT_WHOLE, &o, &file), ZT_OK);
    from_disk(path, file, 1, 0, 0);
    zt_close(file);
    close(fd);
}

/* A zTensor file inside a larger file, at an odd offset. */
static void inside(const char *path)
{
    static const char lead[777] = {0};
    const char *outer = scratch_path("strategy-inside.bin");
    unsigned char *bytes;
    size_t size;
    FILE *to = fopen(outer, "wb"), *from;
    zt_direct direct;
    zt_close(written(path, 0, ZT_MODE_MAP));
    from = fopen(path, "rb");
    REQUIRE(to != NULL && from != NULL && fseek(from, 0, SEEK_END) == 0);
    size = (size_t)ftell(from);
    rewind(from);
    bytes = (unsigned char *)malloc(size);
    REQUIRE(bytes != NULL && fread(bytes, 1, size, from) == size);
    CHECK(fwrite(lead, 1, sizeof lead, to) == sizeof lead && fwrite(bytes, 1, size, to) == size);
    CHECK(fwrite(lead, 1, 5, to) == 5 && fclose(to) == 0 && fclose(from) == 0);
    free(bytes);
    for (direct = ZT_DIRECT_AUTO; direct <= ZT_DIRECT_ALWAYS; direct++) {
        zt_file *file = NULL;
        int fd = open(outer, O_RDONLY);
        REQUIRE(fd >= 0);
        CHECK_STATUS(zt_open_fd(fd, sizeof lead, size, NULL, &file), ZT_OK);
        close(fd);
        evict(outer);
        if (direct == ZT_DIRECT_AUTO)
            from_disk(outer, file, 0, 1, 64);
        else if (direct != ZT_DIRECT_ALWAYS || can_always)
            everything(file, direct, 2, 0, 0, 1, 64);
        zt_close(file);
    }
    CHECK(remove(outer) == 0);
}

/* A host's source, and the thread that must call it. */
static FILE *stream;
static pthread_t reader;
static int elsewhere;

static zt_status source_size(void *context, uint64_t *size)
{
    (void)context;
    if (fseek(stream, 0, SEEK_END) != 0)
        return ZT_ERROR_IO;
    *size = (uint64_t)ftell(stream);
    return ZT_OK;
}

static zt_status source_read(void *context, uint64_t offset, void *dst, size_t n)
{
    (void)context;
    elsewhere |= !pthread_equal(reader, pthread_self());
    if (fseek(stream, (long)offset, SEEK_SET) != 0 || fread(dst, 1, n, stream) != n)
        return ZT_ERROR_IO;
    return ZT_OK;
}

static void own_source(const char *path)
{
    unsigned char *dst = (unsigned char *)malloc(LARGE);
    zt_source source;
    zt_open_options o;
    zt_file *file = NULL;
    zt_buffer *buffer = NULL;
    zt_close(written(path, 0, ZT_MODE_MAP));
    stream = fopen(path, "rb");
    REQUIRE(dst != NULL && stream != NULL);
    reader = pthread_self();
    INIT(source);
    INIT(o);
    source.size = source_size;
    source.read_at = source_read;
    o.threads = 3;
    CHECK_STATUS(zt_open_source(&source, &o, &file), ZT_OK);
    CHECK_STATUS(zt_component_read(component_of(file, "large", "data"), dst, LARGE), ZT_OK);
    CHECK(memcmp(dst, large, LARGE) == 0);
    CHECK_STATUS(zt_component_load(component_of(file, "large", "data"), NULL, &buffer), ZT_OK);
    CHECK(memcmp(zt_buffer_data(buffer), large, LARGE) == 0);
    CHECK(!elsewhere);
    zt_buffer_free(buffer);
    zt_close(file);
    fclose(stream);
    free(dst);
}
#endif

int main(void)
{
    const char *path = scratch_path("strategy.zt");
    large = (unsigned char *)malloc(LARGE);
    middle = (unsigned char *)malloc(MIDDLE);
    REQUIRE(large != NULL && middle != NULL);
    fill_any(large, LARGE, 3);
    fill_any(middle, MIDDLE, 4);
    strategies(path, 0, ZT_MODE_MAP);
    strategies(path, 4096, ZT_MODE_READ);
    wide(path);
#if defined(__linux__)
    in_part(path);
    inside(path);
    own_source(path);
#endif
    free(large);
    free(middle);
    CHECK(remove(path) == 0);
    return check_done("batch_strategy");
}
