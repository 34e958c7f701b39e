/* Chapter "load": loads of several files, and the statistics of each. */
#include "loading.h"

#define SLOT (64 << 10)

static const size_t sizes[] = {0, 300000, 4096, 100, 2500000};
#define TENSORS COUNT(sizes)

/* Requests of two files at once. The caller closes the files before the load ends. */
static void test_two_files(const char *path)
{
    zt_read_request requests[2 * TENSORS];
    zt_load_options o;
    size_t i;
    zt_file *one = open_path(path), *again = open_path(path);
    zt_load *load;
    received *got = (received *)calloc(1, sizeof *got);
    REQUIRE(got != NULL);
    REQUIRE(request_all(one, requests, 0) == TENSORS && request_all(again, requests + TENSORS, 0) == TENSORS);
    INIT(o);
    o.slot_size = SLOT;
    for (i = 0; i < TENSORS; i += 2) /* alternates between them */
        requests[i] = requests[TENSORS + i];
    load = start_load(requests, TENSORS, &o);
    zt_close(one);
    zt_close(again);
    CHECK_STATUS(drain(load, got), ZT_OK);
    CHECK(all_received(got, sizes, TENSORS));
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
    free(got);
}

/* Statistics for each file and part, listed one and two at a time. They add up to the load's. */
static void test_part_stats(const char *path)
{
    const char *copy = scratch_path("load_files_part.zt");
    const char *paths[1];
    static const size_t other[] = {1000, 200000};
    zt_file *file = open_path(path), *model = NULL;
    zt_read_request requests[4];
    zt_load_options o;
    uint32_t direct;
    write_tensors(copy, other, 2, ZT_ENCODING_RAW, ZT_DIGEST_NONE);
    paths[0] = copy;
    CHECK_STATUS(zt_open_parts(paths, 1, NULL, &model), ZT_OK);
    REQUIRE(model != NULL);
    INIT(o);
    for (direct = 0; direct < 2; direct++) {
        zt_load_part_stats stats[3];
        zt_read_stats all;
        zt_load *load = NULL;
        zt_status status;
        size_t i, filled = 0;
        for (i = 0; i < 4; i++) {
            INIT(requests[i]);
            requests[i].component = i % 2 ? component_of(model, i == 1 ? "t0" : "t1", "data") : component_of(file, i ? "t4" : "t0", "data");
            requests[i].length = ZT_WHOLE;
        }
        requests[3].offset = 7, requests[3].length = 150000; /* a part of it */
        requests[1].offset = 1, requests[1].length = ZT_WHOLE;
        o.direct = direct ? ZT_DIRECT_ALWAYS : ZT_DIRECT_NEVER;
        o.slot_size = SLOT;
        status = zt_load_start(requests, 4, &o, &load);
        CHECK(status == ZT_OK || (direct && status == ZT_ERROR_UNSUPPORTED));
        if (status == ZT_OK) {
            for (;;) {
                zt_load_event event;
                INIT(event);
                REQUIRE(zt_load_next(load, -1, &event) == ZT_OK);
                if (event.kind == ZT_LOAD_KIND_DONE)
                    break;
                zt_load_release(load, &event);
            }
            INIT(stats[0]), INIT(all);
            CHECK_STATUS(zt_load_get_part_stats(load, 0, stats, 3, &filled), ZT_OK);
            CHECK_U64(filled, 2);
            CHECK(stats[0].file == file && stats[1].file == model && stats[0].part == 0 && stats[1].part == 0);
            CHECK_U64(stats[0].stored_bytes, 2500000);
            CHECK_U64(stats[1].stored_bytes, 150999);
            for (i = 0; i < 2; i++) {
                zt_load_part_stats one;
                INIT(one);
                CHECK(stats[i].struct_size == sizeof one && stats[i].reason != NULL);
                CHECK(strncmp(stats[i].reason, direct ? "direct" : "page cache", direct ? 6 : 10) == 0);
                CHECK(direct ? stats[i].direct_bytes >= stats[i].stored_bytes : stats[i].direct_bytes == 0);
                CHECK_STATUS(zt_load_get_part_stats(load, i, &one, 1, &filled), ZT_OK);
                CHECK(filled == 1 && one.file == stats[i].file && one.stored_bytes == stats[i].stored_bytes);
            }
            CHECK_STATUS(zt_load_get_part_stats(load, 2, stats, 3, &filled), ZT_OK);
            CHECK_U64(filled, 0);
            CHECK_STATUS(zt_load_get_part_stats(load, SIZE_MAX, stats, 3, &filled), ZT_OK);
            CHECK_U64(filled, 0);
            CHECK_STATUS(zt_load_finish(load, &all), ZT_OK);
            CHECK_U64(all.stored_bytes, 2650999);
        }
    }
    zt_close(model);
    zt_close(file);
    remove(copy);
}

/* Many files with alternating requests. The caller closes all at once. Each is listed once, in the order of
 * its first request, and listed one at a time. */
static void test_many_files(const char *path)
{
    enum { FILES = 40, ROUNDS = 3 };
    static zt_read_request requests[FILES * ROUNDS];
    zt_file *files[FILES];
    zt_load_options o;
    zt_load_event event;
    zt_load *load;
    size_t i, filled = 0;
    for (i = 0; i < FILES; i++)
        files[i] = open_path(path);
    for (i = 0; i < COUNT(requests); i++) {
        INIT(requests[i]);
        requests[i].component = component_of(files[(i * 7) % FILES], "t2", "data");
        requests[i].length = ZT_WHOLE;
        requests[i].tag = i;
    }
    INIT(o);
    o.slot_size = SLOT;
    load = start_load(requests, COUNT(requests), &o);
    for (i = 0; i < FILES; i++)
        zt_close(files[i]);
    do {
        INIT(event);
        REQUIRE(zt_load_next(load, -1, &event) == ZT_OK);
        zt_load_release(load, &event);
    } while (event.kind != ZT_LOAD_KIND_DONE);
    CHECK_STATUS(event.status, ZT_OK);
    for (i = 0; i < FILES; i++) {
        zt_load_part_stats one;
        INIT(one);
        CHECK_STATUS(zt_load_get_part_stats(load, i, &one, 1, &filled), ZT_OK);
        CHECK(filled == 1 && one.file == files[(i * 7) % FILES] && one.part == 0);
        CHECK_U64(one.stored_bytes, ROUNDS * 4096);
    }
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
}

int main(void)
{
    const char *path = scratch_path("load_files.zt");
    write_tensors(path, sizes, TENSORS, ZT_ENCODING_RAW, ZT_DIGEST_NONE);
    test_two_files(path);
    test_part_stats(path);
    test_many_files(path);
    remove(path);
    return check_done("load_files");
}
