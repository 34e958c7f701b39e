/* Shards of zTensor 2: a file with bytes of its objects in other files, read in every way. */
#include <pthread.h>

#include "advice.h"
#include "support.h"

#define ROOT "v2/real/rs-sharded-xxh3.zt"
static const char *const shard_names[2] = {"v2/real/rs-sharded-xxh3-00001-of-00002.zt", "v2/real/rs-sharded-xxh3-00002-of-00002.zt"};

static zt_status open_as(const char *path, zt_mode mode, uint32_t shards, const char *folder, zt_file **file)
{
    zt_open_options options;
    INIT(options);
    options.mode = mode;
    options.shards = shards;
    options.shard_folder = folder;
    *file = NULL;
    return zt_open_model(path, &options, file);
}

static const zt_component *component_at(const zt_file *file, size_t i)
{
    const zt_component *c = zt_component_find(zt_object_at(file, i), "data");
    REQUIRE(c != NULL);
    return c;
}

/* Each tensor is in the file of its part, at its offset there. */
static void every_path_to_bytes(zt_mode mode)
{
    zt_file *file;
    size_t i;
    REQUIRE(open_as(data_path(ROOT), mode, ZT_SHARDS_OF_MODELS, NULL, &file) == ZT_OK);
    CHECK_U64(zt_part_count(file), 3);
    CHECK_U64(zt_object_count(file), 5); /* the fifth has its bytes in the root */
    for (i = 0; i < 4; i++) {
        const zt_component *c = component_at(file, i);
        size_t part = component_info(c).part, size, count = (size_t)zt_component_size(c);
        unsigned char *shard = read_file(part_info(file, part).path, &size), bytes[256], range[100];
        const unsigned char *want = shard + component_info(c).offset;
        const void *ptr = NULL;
        zt_buffer *loaded = NULL;
        zt_tensor tensor;
        const size_t width = zt_dtype_size(zt_component_dtype(c));
        const int borrows = mode == ZT_MODE_MAP && borrows_little_endian(width);
        REQUIRE(part == 1 + i / 2 && count == sizeof bytes);
        CHECK_U64(part_info(file, part).size, size);
        CHECK(!(zt_component_caps(c) & ZT_CAP_MAP) == !borrows);
        CHECK_STATUS(zt_component_read(c, bytes, sizeof bytes), ZT_OK);
        CHECK(are_elements(bytes, want, count, width));
        CHECK_STATUS(zt_component_read_range(c, 33, range, sizeof range), ZT_OK);
        CHECK(memcmp(range, bytes + 33, sizeof range) == 0);
        CHECK_STATUS(zt_component_ptr(c, &ptr, NULL), borrows ? ZT_OK : ZT_ERROR_NOT_MAPPABLE);
        CHECK(!borrows || memcmp(ptr, want, count) == 0);
        CHECK_STATUS(zt_component_load(c, NULL, &loaded), ZT_OK);
        CHECK(memcmp(zt_buffer_data(loaded), bytes, count) == 0);
        zt_buffer_free(loaded);
        INIT(tensor);
        CHECK_STATUS(zt_tensor_view(zt_object_at(file, i), &tensor), ZT_OK);
        CHECK(tensor.size == count && memcmp(tensor.data, bytes, count) == 0);
        CHECK_STATUS(verify_component(file, c), ZT_OK);
        CHECK_STATUS(zt_component_advise(c, ZT_ADVICE_WILLNEED), takes_advice(ZT_ADVICE_WILLNEED, mode) ? ZT_OK : ZT_ERROR_UNSUPPORTED);
        if (mode == ZT_MODE_MAP) {
            const void *all = NULL;
            CHECK_STATUS(zt_file_bytes(file, part, &all, NULL), ZT_OK);
            CHECK(!borrows || (const char *)all + component_info(c).offset == (const char *)ptr);
        }
        free(shard);
    }
    zt_close(file);
}

/* Through a load and a cache, which accept requests of any file. */
static void loads_and_caches(zt_mode mode)
{
    zt_read_request requests[4];
    zt_load *load = NULL;
    zt_cache *cache = NULL;
    zt_cache_options options;
    zt_load_event event;
    unsigned char want[256];
    zt_file *file;
    size_t i, came = 0;
    REQUIRE(open_as(data_path(ROOT), mode, ZT_SHARDS_OF_MODELS, NULL, &file) == ZT_OK);
    for (i = 0; i < 4; i++) {
        INIT(requests[i]);
        requests[i].component = component_at(file, i);
        requests[i].length = ZT_WHOLE;
        requests[i].tag = i;
    }
    REQUIRE(zt_load_start(requests, 4, NULL, &load) == ZT_OK);
    do {
        INIT(event);
        REQUIRE(zt_load_next(load, -1, &event) == ZT_OK);
        if (event.kind == ZT_LOAD_KIND_DATA) {
            CHECK_STATUS(zt_component_read(component_at(file, (size_t)event.tag), want, sizeof want), ZT_OK);
            CHECK(event.size == sizeof want && memcmp(event.data, want, sizeof want) == 0);
            zt_load_release(load, &event);
            came++;
        }
    } while (event.kind != ZT_LOAD_KIND_DONE);
    CHECK_STATUS(event.status, ZT_OK);
    CHECK_U64(came, 4);
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
    INIT(options);
    options.slot_size = 4096;
    options.budget = 1 << 20;
    REQUIRE(zt_cache_create(&options, &cache) == ZT_OK);
    for (i = 0; i < 4; i++) {
        zt_cache_pin slice;
        INIT(slice);
        CHECK_STATUS(zt_cache_get(cache, &requests[i], -1, &slice), ZT_OK);
        CHECK_STATUS(zt_component_read(requests[i].component, want, sizeof want), ZT_OK);
        CHECK(slice.size == sizeof want && memcmp(slice.data, want, sizeof want) == 0);
        CHECK_STATUS(zt_cache_unpin(cache, &slice), ZT_OK);
    }
    zt_cache_free(cache);
    zt_close(file);
}

static zt_status verify(const zt_file *file)
{
    zt_verify_options options;
    INIT(options);
    options.checks = ZT_VERIFY_DIGESTS | ZT_VERIFY_CONTENTS | ZT_VERIFY_SHARDS;
    return zt_verify(file, &options, NULL);
}

/* Copies of the files in one folder; the second shard is changed. */
static void what_is_wrong_with_a_shard(void)
{
    char root[4096], shards[2][4200];
    unsigned char *bytes, *second, buffer[256];
    size_t size, second_size, i;
    zt_file *file;
    snprintf(root, sizeof root, "%s", scratch_path("root.zt"));
    bytes = read_file(data_path(ROOT), &size);
    write_file(root, bytes, size);
    free(bytes);
    for (i = 0; i < 2; i++) {
        snprintf(shards[i], sizeof shards[i], "%.*s-0000%d-of-00002.zt", (int)strlen(root) - 3, root, (int)i + 1);
        bytes = read_file(data_path(shard_names[i]), &size);
        write_file(shards[i], bytes, size);
        free(bytes);
    }
    second = read_file(shards[1], &second_size);

    CHECK(remove(shards[1]) == 0);
    CHECK_STATUS(open_as(root, ZT_MODE_MAP, ZT_SHARDS_AT_OPEN, NULL, &file), ZT_ERROR_NO_FILE);
    CHECK(file == NULL && strstr(zt_last_error(), "00002-of-00002") != NULL);
    REQUIRE(open_as(root, ZT_MODE_MAP, ZT_SHARDS_ON_USE, NULL, &file) == ZT_OK);
    CHECK_STATUS(zt_component_read(component_at(file, 0), buffer, sizeof buffer), ZT_OK);
    CHECK_STATUS(zt_component_read(component_at(file, 3), buffer, sizeof buffer), ZT_ERROR_NO_FILE);
    CHECK(strstr(zt_last_error(), "shard \"00002-of-00002\"") && strstr(zt_last_error(), "blk.1.q"));
    CHECK_STATUS(verify(file), ZT_ERROR_NO_FILE);

    write_file(shards[1], second, second_size - 1);
    CHECK_STATUS(zt_component_read(component_at(file, 3), buffer, sizeof buffer), ZT_ERROR_CORRUPT);
    CHECK_STR(zt_last_error_rule(), "ShardIdentity");

    /* in its padding or manifest: its own hash, or the digest of the shard, detects it */
    second[second_size - 100]++;
    write_file(shards[1], second, second_size);
    CHECK(verify(file) == ZT_ERROR_CORRUPT);
    CHECK_STR(zt_last_error_rule(), "ShardIdentity");
    zt_close(file);
    CHECK(remove(root) == 0 && remove(shards[0]) == 0 && remove(shards[1]) == 0);
    free(second);
}

static void who_opens_them(void)
{
    zt_file *file;
    unsigned char buffer[256];
    zt_identity identity;
    REQUIRE(open_as(data_path(ROOT), ZT_MODE_MAP, ZT_SHARDS_NEVER, NULL, &file) == ZT_OK);
    CHECK_STATUS(zt_component_read(component_at(file, 0), buffer, sizeof buffer), ZT_ERROR_UNSUPPORTED);
    INIT(identity);
    CHECK_STATUS(zt_part_identity(file, 1, &identity), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_file_identity(file, &identity), ZT_OK);
    CHECK_U64(identity.size, file_size(file));
    zt_close(file);
    file = open_data(ROOT);
    CHECK_U64(component_info(component_at(file, 3)).part, 2);
    CHECK_STATUS(zt_component_read(component_at(file, 3), buffer, sizeof buffer), ZT_ERROR_UNSUPPORTED);
    zt_close(file);
    CHECK_STATUS(open_as(data_path(ROOT), ZT_MODE_MAP, 4, NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    REQUIRE(open_as(data_path(ROOT), ZT_MODE_MAP, ZT_SHARDS_AT_OPEN, data_path("v2/real"), &file) == ZT_OK);
    CHECK_STATUS(verify(file), ZT_OK);
    zt_close(file);
    REQUIRE(open_as(data_path(ROOT), ZT_MODE_MAP, ZT_SHARDS_ON_USE, data_path("v1.2"), &file) == ZT_OK);
    CHECK_STATUS(zt_component_read(component_at(file, 0), buffer, sizeof buffer), ZT_ERROR_NO_FILE);
    zt_close(file);
}

static zt_file *shared;

static void *first_use(void *argument)
{
    const zt_component *c = component_at(shared, 2);
    const void *ptr = NULL;
    (void)argument;
    if (borrows_little_endian(zt_dtype_size(zt_component_dtype(c))))
        CHECK_STATUS(zt_component_ptr(c, &ptr, NULL), ZT_OK);
    else
        CHECK_STATUS(zt_file_bytes(shared, component_info(c).part, &ptr, NULL), ZT_OK);
    return (void *)(uintptr_t)ptr;
}

static void first_use_by_many_threads(void)
{
    int round, i;
    for (round = 0; round < 10; round++) {
        pthread_t threads[8];
        void *first = NULL, *other = NULL;
        REQUIRE(open_as(data_path(ROOT), ZT_MODE_MAP, ZT_SHARDS_ON_USE, NULL, &shared) == ZT_OK);
        for (i = 0; i < 8; i++)
            REQUIRE(pthread_create(&threads[i], NULL, first_use, NULL) == 0);
        for (i = 0; i < 8; i++) {
            REQUIRE(pthread_join(threads[i], i ? &other : &first) == 0);
            CHECK(first != NULL && (i == 0 || other == first));
        }
        zt_close(shared);
    }
}

int main(void)
{
    every_path_to_bytes(ZT_MODE_MAP);
    every_path_to_bytes(ZT_MODE_READ);
    loads_and_caches(ZT_MODE_MAP);
    loads_and_caches(ZT_MODE_READ);
    what_is_wrong_with_a_shard();
    who_opens_them();
    first_use_by_many_threads();
    return check_done("shards");
}
