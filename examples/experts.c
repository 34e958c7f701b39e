/*
 * A mixture of experts that is larger than memory. Each layer uses two experts, which a zt_cache pins. Those
 * of the next layer are read ahead meanwhile. The routing is a fixed pseudo-random sequence.
 *
 *     experts FILE [BUDGET]        BUDGET in bytes; a quarter of the tensors by default
 *
 * Every dense tensor of the file is an expert here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <ztensor_advanced.h>

enum { LAYERS = 200, CHOSEN = 2 };

static int fail(void)
{
    fprintf(stderr, "%s\n", zt_last_error());
    return 1;
}

/* The expert that the router selects next. */
static size_t route(uint32_t *state, size_t count)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % count;
}

/* Replaces a matrix product: reads every byte. */
static uint64_t use(const zt_cache_pin *expert)
{
    const unsigned char *bytes = expert->data;
    uint64_t sum = 0;

    for (size_t i = 0; i < expert->size; i++)
        sum += bytes[i];
    return sum;
}

static int run(zt_cache *cache, const zt_read_request *experts, size_t count)
{
    zt_cache_stats stats = ZT_INIT(zt_cache_stats);
    zt_read_request now[CHOSEN], next[CHOSEN];
    uint32_t router = 1;
    uint64_t sum = 0;

    for (size_t i = 0; i < CHOSEN; i++)
        next[i] = experts[route(&router, count)];
    for (size_t layer = 0; layer < LAYERS; layer++) {
        for (size_t i = 0; i < CHOSEN; i++)
            now[i] = next[i], next[i] = experts[route(&router, count)];
        if (zt_cache_prefetch(cache, next, CHOSEN) != ZT_OK)
            return fail();
        for (size_t i = 0; i < CHOSEN; i++) {
            zt_cache_pin expert = ZT_INIT(zt_cache_pin);
            if (zt_cache_get(cache, &now[i], -1, &expert) != ZT_OK)
                return fail();
            sum += use(&expert);
            zt_cache_unpin(cache, &expert);
        }
    }
    if (zt_cache_get_stats(cache, &stats) != ZT_OK)
        return fail();
    printf("%zu experts, %" PRIu64 " slots, %d uses: sum %" PRIu64 "\n", count, stats.slots, LAYERS * CHOSEN, sum);
    fprintf(stderr, "%" PRIu64 " cached, %" PRIu64 " waited for, %" PRIu64 " read; %" PRIu64 " of %" PRIu64 " read ahead used\n",
            stats.hits, stats.joined, stats.misses, stats.prefetches_used, stats.prefetches);
    return 0;
}

int main(int argc, char **argv)
{
    zt_cache_options options = ZT_INIT(zt_cache_options);
    zt_read_request *experts;
    size_t count = 0;
    uint64_t all = 0;
    zt_cache *cache = NULL;
    zt_file *file;
    int failed;

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: experts FILE [BUDGET]\n");
        return 2;
    }
    if (zt_open(argv[1], NULL, &file) != ZT_OK)
        return fail();
    experts = calloc(zt_object_count(file) + 1, sizeof *experts);
    for (size_t i = 0; experts && i < zt_object_count(file); i++) {
        const zt_component *data = zt_component_find(zt_object_at(file, i), "data");
        uint64_t size = zt_component_size(data);
        if (size == 0 || size == ZT_UNKNOWN_SIZE)
            continue;
        experts[count++] = (zt_read_request){.struct_size = sizeof *experts, .component = data, .length = ZT_WHOLE, .tag = i};
        options.slot_size = size > options.slot_size ? size : options.slot_size;
        all += size;
    }
    options.budget = argc == 3 ? strtoull(argv[2], NULL, 10) : all / 4;
    if (!experts || count == 0) {
        fprintf(stderr, "no expert\n");
        failed = 1;
    } else {
        failed = zt_cache_create(&options, &cache) != ZT_OK ? fail() : run(cache, experts, count);
    }
    zt_cache_free(cache);
    zt_close(file); /* in any order: the cache keeps the files open */
    free(experts);
    return failed;
}
