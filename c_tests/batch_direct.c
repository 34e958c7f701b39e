/* zt_read_batch with direct reads: any offset, length and memory, on every file system and disk. */
#include "writing.h"

#define OBJECTS 3
#define SIZE 1300007u /* not a multiple of any alignment */
#define MOST 64

static unsigned char *content[OBJECTS];
static int went_direct;

static zt_file *written(const char *path, uint64_t alignment)
{
    static const uint64_t shape = SIZE;
    zt_write_options o;
    zt_writer *w = NULL;
    char name[8];
    size_t i;
    INIT(o);
    o.large_alignment = alignment;
    o.digest = ZT_DIGEST_CRC32C;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    for (i = 0; i < OBJECTS; i++) {
        snprintf(name, sizeof name, "t%u", (unsigned)i);
        CHECK_STATUS(zt_write_dense(w, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, content[i], SIZE), ZT_OK);
    }
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    return open_path(path);
}

/* Ranges at various offsets and each component completely, into memory with the given alignment. */
static void ranges(const zt_file *file, zt_direct direct, uint32_t threads, uint64_t chunk, uint64_t in_flight, size_t shift)
{
    static const struct { uint64_t offset, length; } fixed[] = {
        {0, ZT_WHOLE}, {1, ZT_WHOLE}, {0, 4096}, {4096, 4096}, {1, 1}, {4095, 2}, {511, 513}, {SIZE - 1, 1}, {SIZE - 4097, 4097}, {12288, 1000000}};
    zt_read_request r[MOST];
    unsigned char *got[MOST];
    size_t which[MOST];
    zt_read_options o;
    zt_read_stats stats;
    zt_status status;
    size_t n = 0, i, k, wrong = 0;
    uint64_t bytes = 0;
    uint32_t seed = threads + 1;
    for (k = 0; k < OBJECTS; k++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", (unsigned)k);
        for (i = 0; i < COUNT(fixed) + 4; i++, n++) {
            size_t size;
            INIT(r[n]);
            r[n].component = component_of(file, name, "data");
            r[n].offset = i < COUNT(fixed) ? fixed[i].offset : next_random(&seed) % SIZE;
            r[n].length = i < COUNT(fixed) ? fixed[i].length : 1 + next_random(&seed) % (SIZE - r[n].offset);
            size = r[n].length != ZT_WHOLE ? (size_t)r[n].length : SIZE - (size_t)r[n].offset;
            got[n] = (unsigned char *)malloc(size + 8192 + 64);
            REQUIRE(got[n] != NULL);
            memset(got[n], 0xa5, size + 8192 + 64);
            r[n].dst = got[n] + (4096 - (uintptr_t)got[n] % 4096) + shift;
            r[n].dst_size = size;
            which[n] = k;
            bytes += size;
        }
    }
    INIT(o);
    INIT(stats);
    o.threads = threads;
    o.direct = direct;
    o.chunk_size = chunk;
    o.in_flight = in_flight;
    o.verify = 1;
    status = zt_read_batch(file, r, n, &o, &stats);
    if (status == ZT_ERROR_UNSUPPORTED && direct == ZT_DIRECT_ALWAYS) {
        CHECK(strlen(zt_last_error()) > 0); /* depends on the file system */
    } else {
        CHECK_STATUS(status, ZT_OK);
        for (i = 0; i < n; i++) {
            const unsigned char *dst = (const unsigned char *)r[i].dst;
            wrong += memcmp(dst, content[which[i]] + r[i].offset, r[i].dst_size) != 0;
            wrong += dst[-1] != 0xa5 || dst[r[i].dst_size] != 0xa5; /* bytes beside it are unchanged */
        }
        CHECK_U64(wrong, 0);
        CHECK(stats.bytes == bytes && stats.requests == n && stats.digests_verified == OBJECTS);
        CHECK(direct != ZT_DIRECT_ALWAYS || stats.direct == 1);
        CHECK(direct != ZT_DIRECT_NEVER || stats.direct == 0);
        went_direct |= stats.direct == 1;
    }
    for (i = 0; i < n; i++)
        free(got[i]);
}

int main(void)
{
    static const uint64_t alignments[] = {0, 4096, 65536};
    const char *path = scratch_path("direct.zt");
    size_t a, k;
    for (k = 0; k < OBJECTS; k++) {
        content[k] = (unsigned char *)malloc(SIZE);
        REQUIRE(content[k] != NULL);
        fill_any(content[k], SIZE, (uint32_t)k + 21);
    }
    for (a = 0; a < COUNT(alignments); a++) {
        zt_file *file = written(path, alignments[a]);
        CHECK(!(zt_component_caps(component_of(file, "t1", "data")) & ZT_CAP_DIRECT) == !alignments[a]);
        for (k = ZT_DIRECT_AUTO; k <= ZT_DIRECT_ALWAYS; k++) {
            ranges(file, (zt_direct)k, 1, 0, 0, 0);
            ranges(file, (zt_direct)k, 3, 4096, 1, 1);
            ranges(file, (zt_direct)k, 2, 100001, 65536, 512);
        }
        zt_close(file);
    }
    printf("batch_direct: direct reads were %s here\n", went_direct ? "possible" : "not possible");
    for (k = 0; k < OBJECTS; k++)
        free(content[k]);
    CHECK(remove(path) == 0);
    return check_done("batch_direct");
}
