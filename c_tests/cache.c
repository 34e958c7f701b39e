/* zt_cache with one call at a time: what it reads, keeps, evicts and rejects. */
#include <sys/wait.h>

#include "cache_scene.h"

static const char *paths[2];
static zt_file *files[2];

static zt_cache_pin pin(zt_cache *cache, const zt_read_request *r, const void *want, size_t size)
{
    zt_cache_pin slice;
    INIT(slice);
    CHECK_STATUS(zt_cache_get(cache, r, -1, &slice), ZT_OK);
    CHECK(slice.pin != 0 && slice.size == size && is_aligned(slice.data, 64));
    CHECK(slice.data && memcmp(slice.data, want, size) == 0);
    return slice;
}

static void unpin(zt_cache *cache, zt_cache_pin *slice)
{
    CHECK_STATUS(zt_cache_unpin(cache, slice), ZT_OK);
    CHECK(slice->data == NULL && slice->size == 0 && slice->pin == 0);
    CHECK_STATUS(zt_cache_unpin(cache, slice), ZT_OK); /* does nothing */
}

static void touch(zt_cache *cache, int f, int i)
{
    zt_read_request r = expert(files[f], i);
    zt_cache_pin slice = pin(cache, &r, expert_bytes[f][i], EXPERT * 2);
    unpin(cache, &slice);
}

/* Complete components, ranges and hyperslabs of a mapped, a read and a compressed file, each once. */
static void slices(void)
{
    zt_cache *cache = new_cache(8, 1, NULL);
    const uint64_t start[2] = {3, 10}, count[2] = {20, 30}, step[2] = {2, 3};
    unsigned char slab[20 * 30 * 2];
    zt_cache_pin held[6];
    int f, round;
    for (round = 0; round < 2; round++) {
        for (f = 0; f < 2; f++) {
            zt_read_request whole = expert(files[f], 1), range = expert(files[f], 1), rows = expert(files[f], 1);
            uint64_t own_start[2] = {3, 10}; /* the cache copies the numbers */
            range.offset = 1001, range.length = 777;
            rows.length = 0, rows.start = own_start, rows.count = count, rows.step = step;
            CHECK_STATUS(zt_object_read_slice(zt_object_find(files[f], "expert.1"), start, count, step, slab, sizeof slab), ZT_OK);
            held[f * 3] = pin(cache, &whole, expert_bytes[f][1], EXPERT * 2);
            held[f * 3 + 1] = pin(cache, &range, expert_bytes[f][1] + 1001, 777);
            held[f * 3 + 2] = pin(cache, &rows, slab, sizeof slab);
            own_start[0] = own_start[1] = 99;
        }
        for (f = 0; f < 6; f++)
            unpin(cache, &held[f]);
    }
    CHECK_U64(stats_of(cache).misses, 6);
    CHECK_U64(stats_of(cache).hits, 6);
    CHECK_U64(stats_of(cache).used, 6);
    CHECK_U64(stats_of(cache).pinned, 0);
    CHECK_U64(stats_of(cache).bytes_read, 2 * (EXPERT * 2 + 777 + sizeof slab));
    zt_cache_free(cache);
}

/* Evicts the least recently used slice, but not a pinned one. */
static void recency(void)
{
    zt_cache *cache = new_cache(3, 1, NULL);
    zt_read_request first = expert(files[0], 0), other = expert(files[0], 9);
    zt_cache_pin pinned = pin(cache, &first, expert_bytes[0][0], EXPERT * 2), again, out;
    touch(cache, 0, 1);
    touch(cache, 0, 2);
    touch(cache, 0, 1);
    touch(cache, 0, 3); /* evicts 2 */
    touch(cache, 0, 1);
    CHECK_U64(stats_of(cache).misses, 4);
    touch(cache, 0, 2); /* evicts 3 */
    CHECK_U64(stats_of(cache).misses, 5);
    again = pin(cache, &first, expert_bytes[0][0], EXPERT * 2);
    CHECK(again.data == pinned.data);
    unpin(cache, &pinned);
    touch(cache, 0, 4);
    touch(cache, 0, 5);
    touch(cache, 0, 6);
    CHECK(memcmp(again.data, expert_bytes[0][0], EXPERT * 2) == 0); /* through the other pin */
    CHECK_STATUS(zt_cache_drop(cache, &first, 1), ZT_OK);
    CHECK(memcmp(again.data, expert_bytes[0][0], EXPERT * 2) == 0); /* until its last pin is released */
    out = again;
    unpin(cache, &again);
    CHECK_STATUS(zt_cache_unpin(cache, &out), ZT_ERROR_STATE); /* a copy of a released pin */
    CHECK_U64(stats_of(cache).used, 2);
    CHECK_STATUS(zt_cache_drop(cache, &other, 1), ZT_OK); /* not in the cache */
    CHECK_STATUS(zt_cache_drop(cache, NULL, 0), ZT_OK);
    CHECK_U64(stats_of(cache).used, 0);
    zt_cache_free(cache);
}

/* A scan evicts slices that were used twice with LRU, but not with SLRU. */
static void scans(void)
{
    int policy, i;
    for (policy = ZT_CACHE_LRU; policy <= ZT_CACHE_SLRU; policy++) {
        zt_cache_options o;
        zt_cache *cache;
        INIT(o);
        o.policy = policy;
        cache = new_cache(5, 1, &o);
        for (i = 0; i < 8; i++)
            touch(cache, 0, i % 4);
        for (i = 4; i < EXPERTS; i++)
            touch(cache, 0, i);
        CHECK_U64(stats_of(cache).misses, EXPERTS);
        for (i = 0; i < 4; i++)
            touch(cache, 0, i);
        CHECK_U64(stats_of(cache).misses, EXPERTS + (policy == ZT_CACHE_LRU ? 4 : 0));
        zt_cache_free(cache);
    }
}

/* Slots in the caller's memory: the cache does not write outside of them. */
static void own_memory(void)
{
    const size_t size = 3 * 12032;
    unsigned char *block = (unsigned char *)malloc(size + 4096 + 192);
    unsigned char *memory = block + 128 + (64 - (uintptr_t)block % 64);
    zt_cache_options o;
    zt_cache *cache = NULL;
    size_t i, changed = 0;
    REQUIRE(block != NULL);
    memset(block, 0xa5, size + 4096 + 192);
    INIT(o);
    o.memory = memory;
    cache = new_cache(3, 1, &o);
    for (i = 0; i < 12; i++) {
        zt_read_request r = expert(files[i % 2], (int)i);
        zt_cache_pin slice = pin(cache, &r, expert_bytes[i % 2][i], EXPERT * 2);
        CHECK((const unsigned char *)slice.data >= memory && (const unsigned char *)slice.data + slice.size <= memory + size);
        unpin(cache, &slice);
    }
    zt_cache_free(cache);
    for (i = 0; i < (size_t)(memory - block); i++)
        changed += block[i] != 0xa5;
    for (i = (size_t)(memory - block) + size; i < size + 4096 + 192; i++)
        changed += block[i] != 0xa5;
    CHECK_U64(changed, 0);
    o.memory = memory + 1;
    CHECK_STATUS(zt_cache_create(&o, &cache), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(cache == NULL);
    free(block);
}

/* A slice that can never be cached, one that is not there in time, and an invalid one. */
static void refusals(void)
{
    zt_cache *cache = new_cache(2, 1, NULL);
    zt_read_request first = expert(files[0], 0), second = expert(files[0], 1), third = expert(files[0], 2), bad;
    zt_cache_pin a = pin(cache, &first, expert_bytes[0][0], EXPERT * 2), slice;
    zt_cache_pin b = pin(cache, &second, expert_bytes[0][1], EXPERT * 2);
    const uint64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    zt_cache_options o;
    zt_cache *small = NULL;
    INIT(slice);
    CHECK_STATUS(zt_cache_get(cache, &third, 1000000, &slice), ZT_ERROR_TIMEOUT);
    CHECK_STATUS(zt_cache_get(cache, &third, 0, &slice), ZT_ERROR_TIMEOUT);
    CHECK(slice.pin == 0 && slice.data == NULL && strstr(zt_last_error(), "not read yet") != NULL);
    unpin(cache, &a);
    /* read by a thread of the cache */
    CHECK_STATUS(zt_cache_get(cache, &third, (int64_t)60 * 1000000000, &slice), ZT_OK);
    CHECK(memcmp(slice.data, expert_bytes[0][2], EXPERT * 2) == 0);
    unpin(cache, &slice);
    unpin(cache, &b);
    bad = first;
    bad.offset = EXPERT * 2 + 1;
    bad.length = 1;
    CHECK_STATUS(zt_cache_get(cache, &bad, -1, &slice), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_cache_prefetch(cache, &bad, 1), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "slice 0") != NULL);
    bad = first;
    bad.step = nine; /* count is missing */
    CHECK_STATUS(zt_cache_get(cache, &bad, -1, &slice), ZT_ERROR_INVALID_ARGUMENT);
    bad = first;
    bad.start = bad.count = nine; /* together with a range */
    CHECK_STATUS(zt_cache_get(cache, &bad, -1, &slice), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_U64(stats_of(cache).pinned, 0);
    zt_cache_free(cache);
    INIT(o);
    o.slot_size = EXPERT * 2 - 1;
    o.budget = 1 << 20;
    CHECK_STATUS(zt_cache_create(&o, &small), ZT_OK);
    CHECK_STATUS(zt_cache_get(small, &first, -1, &slice), ZT_ERROR_LIMIT);
    CHECK_STATUS(zt_cache_prefetch(small, &first, 1), ZT_ERROR_LIMIT);
    zt_cache_free(small);
    o.budget = o.slot_size;
    CHECK_STATUS(zt_cache_create(&o, &small), ZT_ERROR_LIMIT);
    o.budget = o.slot_size = UINT64_MAX;
    CHECK(zt_cache_create(&o, &small) != ZT_OK && small == NULL);
    o.budget = 1 << 20;
    o.slot_size = EXPERT;
    o.verify = 2;
    CHECK_STATUS(zt_cache_create(&o, &small), ZT_ERROR_INVALID_ARGUMENT);
    o.verify = 0;
    for (o.policy = -1; o.policy <= 2; o.policy += 3) {
        CHECK_STATUS(zt_cache_create(&o, &small), ZT_ERROR_INVALID_ARGUMENT);
        CHECK(small == NULL && strstr(zt_last_error(), "zt_cache_policy") != NULL);
    }
    o.policy = ZT_CACHE_SLRU;
    o.reserved = 1;
    CHECK_STATUS(zt_cache_create(&o, &small), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(small == NULL && strstr(zt_last_error(), "zt_cache_options.reserved") != NULL);
}

/* An empty range also occupies a slot. */
static void empty(void)
{
    zt_cache *cache = new_cache(2, 1, NULL);
    zt_read_request r = expert(files[0], 0);
    zt_cache_pin slice;
    r.length = 0;
    slice = pin(cache, &r, "", 0);
    unpin(cache, &slice);
    zt_cache_free(cache);
}

/* The cache keeps the files of its slices open: the caller may close them. */
static void closed_files(void)
{
    zt_cache *cache = new_cache(4, 1, NULL);
    zt_file *file = open_path(paths[0]);
    zt_read_request r = expert(file, 3);
    zt_cache_pin slice = pin(cache, &r, expert_bytes[0][3], EXPERT * 2);
    zt_close(file);
    CHECK_STATUS(zt_cache_drop(cache, NULL, 0), ZT_OK);
    CHECK(memcmp(slice.data, expert_bytes[0][3], EXPERT * 2) == 0);
    unpin(cache, &slice);
    slice = pin(cache, &r, expert_bytes[0][3], EXPERT * 2); /* keeps its file open */
    zt_cache_free(cache);
}

/* If digests are checked, damaged bytes are not returned. */
static void damage(void)
{
    const char *path = scratch_path("damaged.zt");
    size_t size;
    unsigned char *bytes = read_file(paths[0], &size);
    zt_cache_options o;
    zt_cache *cache;
    zt_file *file;
    zt_read_request r;
    zt_cache_pin slice;
    zt_cache_stats stats;
    INIT(o);
    INIT(slice);
    r = expert(files[0], 5);
    bytes[component_info(r.component).offset + 77] ^= 1;
    write_file(path, bytes, size);
    free(bytes);
    file = open_path(path);
    o.verify = 1;
    cache = new_cache(1, 1, &o);
    r = expert(file, 5);
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &slice), ZT_ERROR_DIGEST_MISMATCH);
    CHECK(strstr(zt_last_error(), "expert.5") != NULL && slice.pin == 0);
    CHECK_STATUS(zt_cache_get(cache, &r, (int64_t)60 * 1000000000, &slice), ZT_ERROR_DIGEST_MISMATCH);
    CHECK(strstr(zt_last_error(), "expert.5") != NULL);
    r = expert(file, 6); /* the slot is usable again */
    slice = pin(cache, &r, expert_bytes[0][6], EXPERT * 2);
    unpin(cache, &slice);
    stats = stats_of(cache);
    CHECK(stats.failures == 2 && stats.used == 1 && stats.pinned == 0);
    zt_cache_free(cache);
    zt_close(file);
    CHECK(remove(path) == 0);
}

/* In a forked child only zt_cache_free may be called. It does not wait for threads. */
static void forked(void)
{
    zt_cache *cache = new_cache(2, 2, NULL);
    int status = -1;
    pid_t child;
    touch(cache, 0, 1);
    child = fork();
    if (child == 0) {
        zt_cache_free(cache);
        /* A separate program: valgrind would report the memory that the child cannot free as lost. */
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    touch(cache, 0, 1);
    zt_cache_free(cache);
}

int main(void)
{
    zt_open_options read;
    INIT(read);
    read.mode = ZT_MODE_READ;
    paths[0] = scratch_path("experts.zt");
    paths[1] = scratch_path("experts-zstd.zt");
    write_experts(paths);
    files[0] = open_path(paths[0]);
    files[1] = NULL;
    CHECK_STATUS(zt_open(paths[1], &read, &files[1]), ZT_OK);
    slices();
    recency();
    scans();
    own_memory();
    refusals();
    empty();
    closed_files();
    damage();
    forked();
    zt_close(files[0]);
    zt_close(files[1]);
    free_experts(paths);
    return check_done("cache");
}
