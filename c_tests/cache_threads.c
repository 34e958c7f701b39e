/* zt_cache with several threads, and its own threads: single reads, prefetches, waits, and a failing
 * source. */
#include <pthread.h>
#include <sched.h>

#include "cache_scene.h"

enum { THREADS = 4, ROUNDS = 300 };

static const char *paths[2];
static zt_file *files[2];

/* A source that the test can block and make fail. */
typedef struct source_state {
    unsigned char *bytes;
    size_t size, reads, waiting;
    int is_closed, fails;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} source_state;

static source_state state;

static zt_status source_size(void *context, uint64_t *size)
{
    *size = ((source_state *)context)->size;
    return ZT_OK;
}

static zt_status source_read(void *context, uint64_t offset, void *dst, size_t n)
{
    source_state *s = (source_state *)context;
    int fails;
    pthread_mutex_lock(&s->lock);
    s->reads++;
    s->waiting++;
    while (s->is_closed)
        pthread_cond_wait(&s->changed, &s->lock);
    s->waiting--;
    fails = s->fails;
    pthread_mutex_unlock(&s->lock);
    if (fails || offset > s->size || n > s->size - offset)
        return ZT_ERROR_IO;
    memcpy(dst, s->bytes + offset, n);
    return ZT_OK;
}

static void set_source(int is_closed, int fails)
{
    pthread_mutex_lock(&state.lock);
    state.is_closed = is_closed;
    state.fails = fails;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

static size_t source_count(const size_t *count)
{
    size_t n;
    pthread_mutex_lock(&state.lock);
    n = *count;
    pthread_mutex_unlock(&state.lock);
    return n;
}

static zt_file *open_source(uint32_t concurrency, uint32_t callers_thread)
{
    zt_source source;
    zt_file *file = NULL;
    INIT(source);
    source.context = &state;
    source.size = source_size;
    source.read_at = source_read;
    source.concurrency = concurrency;
    source.callers_thread = callers_thread;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK);
    REQUIRE(file != NULL);
    return file;
}

typedef struct getter {
    zt_cache *cache;
    zt_read_request slice;
    int64_t timeout;
    zt_status status;
    int is_good;
    char message[256];
} getter;

static void *get_once(void *context)
{
    getter *g = (getter *)context;
    zt_cache_pin slice;
    INIT(slice);
    g->status = zt_cache_get(g->cache, &g->slice, g->timeout, &slice);
    if (g->status == ZT_OK) {
        g->is_good = memcmp(slice.data, expert_bytes[0][g->slice.tag], EXPERT * 2) == 0;
        g->is_good &= zt_cache_unpin(g->cache, &slice) == ZT_OK;
    } else {
        snprintf(g->message, sizeof g->message, "%.250s", zt_last_error());
    }
    return NULL;
}

/* Several threads get the same slice. There is one read, and each gets its bytes or its error. */
static void same_slice(int fails)
{
    zt_file *file = open_source(4, 0);
    zt_cache *cache = new_cache(2, 1, NULL);
    getter g[THREADS];
    pthread_t threads[THREADS];
    size_t before = source_count(&state.reads);
    int i;
    set_source(1, fails);
    for (i = 0; i < THREADS; i++) {
        memset(&g[i], 0, sizeof g[i]);
        g[i].cache = cache;
        g[i].slice = expert(file, 3);
        g[i].timeout = i % 2 ? (int64_t)600 * 1000000000 : -1;
        REQUIRE(pthread_create(&threads[i], NULL, get_once, &g[i]) == 0);
    }
    while (stats_of(cache).misses + stats_of(cache).joined < THREADS)
        sched_yield();
    set_source(0, fails);
    for (i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK_STATUS(g[i].status, fails ? ZT_ERROR_IO : ZT_OK);
        CHECK(fails ? strstr(g[i].message, "expert.3") != NULL : g[i].is_good);
    }
    CHECK_U64(source_count(&state.reads), before + 1);
    CHECK_U64(stats_of(cache).failures, fails ? 1 : 0);
    CHECK_U64(stats_of(cache).pinned, 0);
    set_source(0, 0);
    get_once(&g[0]); /* reads it if that failed */
    CHECK_STATUS(g[0].status, ZT_OK);
    zt_cache_free(cache);
    zt_close(file);
}

/* The order of prefetches, a get that overtakes them, and cancelled prefetches. */
static void prefetch(void)
{
    zt_file *file = open_source(4, 0);
    zt_cache *cache = new_cache(6, 1, NULL);
    zt_read_request first = expert(file, 0), many[4];
    zt_cache_pin slice;
    zt_cache_stats stats;
    size_t i;
    INIT(slice);
    set_source(1, 0);
    CHECK_STATUS(zt_cache_prefetch(cache, &first, 1), ZT_OK);
    while (source_count(&state.waiting) == 0)
        sched_yield();
    for (i = 0; i < 4; i++)
        many[i] = expert(file, (int)i + 1);
    CHECK_STATUS(zt_cache_prefetch(cache, many, 4), ZT_OK);
    CHECK_STATUS(zt_cache_prefetch(cache, many, 4), ZT_OK); /* a second time: no effect */
    CHECK_U64(stats_of(cache).queued, 4);
    CHECK_STATUS(zt_cache_drop(cache, &many[1], 1), ZT_OK);
    CHECK_U64(stats_of(cache).queued, 3);
    CHECK_STATUS(zt_cache_get(cache, &many[3], 0, &slice), ZT_ERROR_TIMEOUT); /* now it comes first */
    CHECK_STATUS(zt_cache_cancel(cache), ZT_OK);
    stats = stats_of(cache);
    CHECK(stats.prefetches_dropped >= 3 && stats.queued <= 1);
    set_source(0, 0);
    CHECK_STATUS(zt_cache_get(cache, &first, -1, &slice), ZT_OK); /* it is being read */
    CHECK(memcmp(slice.data, expert_bytes[0][0], EXPERT * 2) == 0);
    CHECK_STATUS(zt_cache_unpin(cache, &slice), ZT_OK);
    stats = stats_of(cache);
    CHECK(stats.prefetches >= 1 && stats.prefetches_used == 1 && stats.hits + stats.joined == 1);
    CHECK_STATUS(zt_cache_prefetch(cache, many, 4), ZT_OK);
    zt_cache_free(cache); /* while a read is in progress */
    zt_close(file);
}

/* A source for the caller's thread is not read by other threads. */
static void callers_thread(void)
{
    zt_file *file = open_source(0, 1);
    zt_cache *cache = new_cache(2, 2, NULL);
    zt_read_request r = expert(file, 2);
    zt_cache_pin slice;
    size_t before = source_count(&state.reads);
    INIT(slice);
    CHECK_STATUS(zt_cache_prefetch(cache, &r, 1), ZT_OK);
    CHECK_U64(stats_of(cache).prefetches_dropped, 1);
    CHECK_U64(source_count(&state.reads), before);
    CHECK_STATUS(zt_cache_get(cache, &r, 0, &slice), ZT_OK);
    CHECK_STATUS(zt_cache_unpin(cache, &slice), ZT_OK);
    zt_cache_free(cache);
    zt_close(file);
}

static void *get_many(void *context)
{
    zt_cache *cache = (zt_cache *)context;
    static uint32_t seeds = 1;
    uint32_t seed = __atomic_fetch_add(&seeds, 7919, __ATOMIC_RELAXED);
    zt_cache_pin slice;
    size_t wrong = 0, n;
    for (n = 0; n < ROUNDS; n++) {
        uint32_t r = next_random(&seed);
        int f = (int)(r >> 8) % 2, i = (int)(r >> 12) % EXPERTS;
        zt_read_request want = expert(files[f], i);
        zt_status status;
        INIT(slice);
        if (r % 8 < 3) {
            wrong += zt_cache_prefetch(cache, &want, 1) != ZT_OK;
        } else if (r % 8 == 3) {
            wrong += zt_cache_drop(cache, r % 64 == 3 ? NULL : &want, r % 64 == 3 ? 0 : 1) != ZT_OK;
            wrong += r % 128 == 3 && zt_cache_cancel(cache) != ZT_OK;
        } else {
            status = zt_cache_get(cache, &want, r % 8 == 4 ? (int64_t)(r >> 16) : -1, &slice);
            wrong += status != ZT_OK && !(r % 8 == 4 && status == ZT_ERROR_TIMEOUT);
            wrong += status == ZT_OK && memcmp(slice.data, expert_bytes[f][i], EXPERT * 2) != 0;
            wrong += zt_cache_unpin(cache, &slice) != ZT_OK;
        }
    }
    return wrong ? context : NULL;
}

/* Threads that make random calls, with fewer slots than slices. */
static void any_order(void)
{
    zt_cache *cache = new_cache(5, 2, NULL);
    pthread_t threads[THREADS];
    zt_cache_stats stats;
    void *wrong;
    int i;
    for (i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, get_many, cache) == 0);
    for (i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], &wrong) == 0);
        CHECK(wrong == NULL);
    }
    stats = stats_of(cache);
    CHECK(stats.used <= 5 && stats.evictions > 0 && stats.failures == 0 && stats.hits > 0);
    zt_cache_free(cache);
}

/* Its threads stay: the hooks are called once for each, for any number of calls. */
static void count_starts(void *context, uint32_t index)
{
    __atomic_add_fetch((int *)context, index < 3 ? 1 : 100, __ATOMIC_RELAXED);
}

static void hooks(void)
{
    zt_cache_options o;
    zt_thread_hooks h;
    zt_cache *cache;
    int starts = 0, i;
    INIT(o);
    INIT(h);
    h.context = &starts;
    h.on_start = count_starts;
    h.on_end = count_starts;
    o.thread_hooks = &h;
    cache = new_cache(4, 3, &o);
    memset(&h, 0xff, sizeof h); /* the library copied it */
    for (i = 0; i < EXPERTS; i++) {
        zt_read_request r = expert(files[0], i);
        CHECK_STATUS(zt_cache_prefetch(cache, &r, 1), ZT_OK);
    }
    zt_cache_free(cache);
    CHECK_U64(starts, 6);
}

int main(void)
{
    paths[0] = scratch_path("experts.zt");
    paths[1] = scratch_path("experts-zstd.zt");
    write_experts(paths);
    files[0] = open_path(paths[0]);
    files[1] = open_path(paths[1]);
    state.bytes = read_file(paths[0], &state.size);
    pthread_mutex_init(&state.lock, NULL);
    pthread_cond_init(&state.changed, NULL);
    same_slice(0);
    same_slice(1);
    prefetch();
    callers_thread();
    any_order();
    hooks();
    zt_close(files[0]);
    zt_close(files[1]);
    free(state.bytes);
    free_experts(paths);
    return check_done("cache_threads");
}
