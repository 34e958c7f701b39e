/* Common code of the tests of zt_cache: a model of experts in two files, raw and compressed, and their
 * bytes. */
#ifndef CACHE_SCENE_H
#define CACHE_SCENE_H

#include "writing.h"

enum { EXPERTS = 16, EXPERT = 6000 }; /* in each file, and u16 elements of an expert */

static const uint64_t expert_shape[2] = {60, 100};
static unsigned char *expert_bytes[2][EXPERTS];

/* Writes both files; remove them. */
static inline void write_experts(const char *const paths[2])
{
    char name[32];
    int f, i;
    for (f = 0; f < 2; f++) {
        zt_writer *w = NULL;
        zt_write_options o;
        INIT(o);
        o.encoding = f ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW;
        o.digest = ZT_DIGEST_CRC32C;
        REQUIRE(zt_write_create(paths[f], &o, &w) == ZT_OK);
        for (i = 0; i < EXPERTS; i++) {
            expert_bytes[f][i] = (unsigned char *)malloc(EXPERT * 2);
            REQUIRE(expert_bytes[f][i] != NULL);
            fill_any(expert_bytes[f][i], EXPERT * 2, (uint32_t)(1 + f * EXPERTS + i));
            sprintf(name, "expert.%d", i);
            CHECK_STATUS(zt_write_dense(w, name, 0, ZT_DTYPE_U16, ZT_TYPE_NONE, expert_shape, 2, expert_bytes[f][i], EXPERT * 2), ZT_OK);
        }
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    }
}

static inline void free_experts(const char *const paths[2])
{
    int f, i;
    for (f = 0; f < 2; f++) {
        for (i = 0; i < EXPERTS; i++)
            free(expert_bytes[f][i]);
        CHECK(remove(paths[f]) == 0);
    }
}

/* All bytes of expert i of a file. Threads call it, so it does not use CHECK. */
static inline zt_read_request expert(const zt_file *file, int i)
{
    zt_read_request r;
    char name[32];
    sprintf(name, "expert.%d", i);
    INIT(r);
    r.component = zt_component_find(zt_object_find(file, name), "data");
    r.length = ZT_WHOLE;
    r.tag = (uint64_t)i;
    return r;
}

static inline zt_cache *new_cache(uint64_t slots, uint32_t threads, zt_cache_options *options)
{
    zt_cache_options own;
    zt_cache *cache = NULL;
    zt_cache_stats stats;
    INIT(own);
    INIT(stats);
    if (!options)
        options = &own;
    options->slot_size = EXPERT * 2;
    options->threads = threads;
    options->budget = options->memory ? slots * 12032 : 8000 + slots * (12032 + 1400);
    CHECK_STATUS(zt_cache_create(options, &cache), ZT_OK);
    REQUIRE(cache != NULL);
    CHECK_STATUS(zt_cache_get_stats(cache, &stats), ZT_OK);
    CHECK_U64(stats.slots, slots);
    return cache;
}

static inline zt_cache_stats stats_of(const zt_cache *cache)
{
    zt_cache_stats stats;
    INIT(stats);
    CHECK_STATUS(zt_cache_get_stats(cache, &stats), ZT_OK);
    return stats;
}

#endif
