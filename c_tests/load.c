/* Chapter "load": reads whose bytes are delivered while others are read, to the caller's memory or through a
 * ring. */
#include "loading.h"

#define SLOT (64 << 10)

static const size_t sizes[] = {0, 1, 4096, 100, 300000, 65536, 65537, 5, 1000000, 4096, 4096, 130000, 64, 70000, 3, 2500000};
#define TENSORS COUNT(sizes)

/* All requests, in every order, with one and with several threads. */
static void test_ring(const zt_file *file)
{
    zt_read_request requests[TENSORS];
    zt_load_order order;
    uint32_t threads;
    int given;
    unsigned char *memory = (unsigned char *)malloc(3 * SLOT + 1);
    REQUIRE(memory != NULL && request_all(file, requests, 0) == TENSORS);
    for (order = ZT_LOAD_ORDER_POSITION; order <= ZT_LOAD_ORDER_LARGEST; order++)
        for (threads = 1; threads <= 3; threads += 2)
            for (given = 0; given < 3; given++) {
                received *got = (received *)calloc(1, sizeof *got);
                zt_load_options o;
                zt_read_stats stats;
                zt_load *load;
                INIT(o), INIT(stats);
                REQUIRE(got != NULL);
                o.order = order;
                o.threads = threads;
                o.slot_size = SLOT;
                o.slot_count = (size_t)given + 1;
                o.ring = given ? memory + (given == 2) : NULL; /* unaligned */
                load = start_load(requests, TENSORS, &o);
                CHECK_STATUS(drain(load, got), ZT_OK);
                if (!CHECK(all_received(got, sizes, TENSORS)))
                    fprintf(stderr, "order %d, %u threads, ring %d\n", order, threads, given);
                CHECK_STATUS(zt_load_finish(load, &stats), ZT_OK);
                CHECK_U64(stats.requests, TENSORS);
                CHECK(stats.bytes > 4000000 && stats.bytes <= stats.stored_bytes && stats.threads == threads);
                CHECK(stats.reason != NULL);
                free(got);
            }
    free(memory);
}

/* A request larger than a slot comes in pieces as a thread reads it, so its first bytes come soon. */
static void test_first_bytes(const zt_file *file)
{
    zt_read_request requests[TENSORS];
    zt_load_options o;
    zt_load_event event;
    zt_load *load;
    uint64_t all = 0;
    INIT(o), INIT(event);
    REQUIRE(request_all(file, requests, 0) == TENSORS);
    o.slot_size = 16 * SLOT, o.slot_count = 2, o.threads = 1;
    load = start_load(&requests[15], 1, &o);
    REQUIRE(zt_load_next(load, -1, &event) == ZT_OK && event.kind == ZT_LOAD_KIND_DATA);
    CHECK(event.offset == 0 && event.size > 0 && event.size <= 8 * SLOT);
    zt_load_finish(load, NULL);
    o.chunk_size = 2 * SLOT;
    load = start_load(&requests[15], 1, &o);
    for (;;) {
        INIT(event);
        REQUIRE(zt_load_next(load, -1, &event) == ZT_OK && event.status == ZT_OK);
        if (event.kind == ZT_LOAD_KIND_DONE)
            break;
        CHECK(event.size <= o.chunk_size);
        all += event.size;
        zt_load_release(load, &event);
    }
    CHECK_U64(all, sizes[15]);
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
}

/* The caller's memory, and some requests in the ring. */
static void test_destinations(const zt_file *file)
{
    zt_read_request requests[TENSORS];
    unsigned char *own[TENSORS];
    received *got = (received *)calloc(1, sizeof *got);
    zt_load_event event;
    zt_load *load;
    size_t i, in_slots = 0;
    REQUIRE(got != NULL && request_all(file, requests, 0) == TENSORS);
    for (i = 0; i < TENSORS; i++) {
        own[i] = (unsigned char *)malloc(sizes[i] + 1);
        REQUIRE(own[i] != NULL);
        if (i % 3 == 1)
            continue;
        requests[i].dst = own[i];
        requests[i].dst_size = sizes[i] + 1;
    }
    load = start_load(requests, TENSORS, NULL);
    for (;;) {
        INIT(event);
        REQUIRE(zt_load_next(load, -1, &event) == ZT_OK);
        if (event.kind == ZT_LOAD_KIND_DONE)
            break;
        receive(got, &event);
        in_slots += event.slot != ZT_NO_SLOT;
        CHECK(event.tag % 3 == 1 || ((event.data == own[event.tag] || event.size == 0) && event.last == 1 && event.slot == ZT_NO_SLOT));
        zt_load_release(load, &event);
    }
    CHECK_STATUS(event.status, ZT_OK);
    CHECK_U64(in_slots, (TENSORS + 1) / 3);
    CHECK(all_received(got, sizes, TENSORS));
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
    for (i = 0; i < TENSORS; i++)
        free(own[i]);
    free(got);
}

/* A slot is not filled again before all of it is released; then the load continues. */
static void test_back_pressure(const zt_file *file)
{
    zt_read_request request;
    zt_load_options o;
    zt_load_event events[3], none;
    zt_load *load;
    size_t i, taken = 0;
    unsigned char copy[64];
    INIT(o), INIT(request);
    o.slot_size = SLOT;
    o.slot_count = 2;
    request.component = component_of(file, "t15", "data");
    request.length = ZT_WHOLE;
    load = start_load(&request, 1, &o);
    for (i = 0; i < 2; i++) {
        INIT(events[i]);
        CHECK_STATUS(zt_load_next(load, -1, &events[i]), ZT_OK);
        CHECK(events[i].kind == ZT_LOAD_KIND_DATA && !events[i].last && events[i].size <= SLOT);
        taken += events[i].size;
    }
    CHECK(events[0].slot != events[1].slot);
    memcpy(copy, events[0].data, sizeof copy);
    for (i = 0; i < 20; i++) {
        INIT(none);
        none.tag = 7;
        CHECK_STATUS(zt_load_next(load, i * 100000, &none), ZT_OK);
        CHECK(none.kind == ZT_LOAD_KIND_NOTHING && none.status == ZT_OK && none.size == 0 && none.data == NULL);
    }
    CHECK(memcmp(copy, events[0].data, sizeof copy) == 0);
    zt_load_release(load, &none); /* does nothing */
    zt_load_release(load, &events[1]);
    zt_load_release(load, &events[1]); /* a second release does nothing */
    INIT(events[2]);
    CHECK_STATUS(zt_load_next(load, -1, &events[2]), ZT_OK);
    CHECK(events[2].kind == ZT_LOAD_KIND_DATA && events[2].slot == events[1].slot && events[2].offset >= taken);
    CHECK_STATUS(zt_load_next(load, 0, &none), ZT_OK);
    CHECK(none.kind == ZT_LOAD_KIND_NOTHING);
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_ERROR_CANCELLED);
}

/* Small requests share a slot; each has its own event. */
static void test_shared_slots(const zt_file *file)
{
    zt_read_request requests[400];
    zt_load_options o;
    zt_load_event events[400];
    zt_load *load;
    size_t i, slots = 0;
    INIT(o);
    o.slot_size = 2 * SLOT;
    o.slot_count = 4;
    for (i = 0; i < 100; i++) { /* of 4 KiB: 31 or 32 fit in a slot */
        INIT(requests[i]);
        requests[i].component = component_of(file, i % 2 ? "t9" : "t2", "data");
        requests[i].length = ZT_WHOLE;
        requests[i].tag = i;
    }
    load = start_load(requests, 100, &o);
    for (i = 0; i < 100; i++) {
        INIT(events[i]);
        CHECK_STATUS(zt_load_next(load, -1, &events[i]), ZT_OK);
        REQUIRE(events[i].kind == ZT_LOAD_KIND_DATA);
        CHECK(events[i].size == 4096 && events[i].last && events[i].offset == 0 && (size_t)events[i].data % 64 == 0);
        slots |= (size_t)1 << events[i].slot;
    }
    CHECK_U64(slots, 15);
    for (i = 0; i < 100; i++) {
        const unsigned char *bytes = (const unsigned char *)events[i].data;
        size_t n = events[i].tag % 2 ? 9 : 2;
        CHECK(bytes[0] == byte_of(n, 0) && bytes[4095] == byte_of(n, 4095));
    }
    INIT(events[0]);
    CHECK_STATUS(zt_load_next(load, -1, &events[0]), ZT_OK);
    CHECK(events[0].kind == ZT_LOAD_KIND_DONE && events[0].status == ZT_OK && events[0].message[0] == '\0');
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
}

/* Cancelled after k events, for every k; and freed without a cancel. */
static void test_cancel(const zt_file *file)
{
    zt_read_request requests[TENSORS];
    zt_load_options o;
    size_t k, i;
    INIT(o);
    o.slot_size = SLOT;
    o.slot_count = 2;
    REQUIRE(request_all(file, requests, 0) == TENSORS);
    for (k = 0; k < 90; k++) {
        zt_load *load;
        zt_load_event event;
        zt_status ended = ZT_OK;
        o.threads = k % 3;
        load = start_load(requests, TENSORS, &o);
        for (i = 0; i < k; i++) {
            INIT(event);
            CHECK_STATUS(zt_load_next(load, -1, &event), ZT_OK);
            if (event.kind == ZT_LOAD_KIND_DONE)
                break;
            zt_load_release(load, &event);
        }
        if (k % 2) {
            CHECK_STATUS(zt_load_cancel(load), ZT_OK);
            for (i = 0; i < 3; i++) {
                INIT(event);
                CHECK_STATUS(zt_load_next(load, i ? 0 : -1, &event), ZT_OK);
                CHECK(event.kind == ZT_LOAD_KIND_DONE);
                CHECK(i == 0 || event.status == ended);
                ended = event.status;
            }
            CHECK(ended == ZT_ERROR_CANCELLED || ended == ZT_OK);
            CHECK_STATUS(zt_load_finish(load, NULL), ended);
        } else {
            ended = zt_load_finish(load, NULL);
            CHECK(ended == ZT_ERROR_CANCELLED || ended == ZT_OK);
        }
    }
}

static void test_refusals(const zt_file *file)
{
    zt_read_request request;
    zt_load_options o;
    zt_load_event event;
    zt_load *load = NULL;
    unsigned char bytes[4096], other[4096];
    INIT(request), INIT(event);
    request.component = component_of(file, "t2", "data");
    request.length = ZT_WHOLE;
    CHECK_STATUS(zt_load_start(NULL, 1, NULL, &load), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_load_start(&request, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.order = 3;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.slot_size = 65535;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    o.slot_size = 65537;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STR(zt_last_error(), "slot_size 65537 is not a multiple of 64");
    o.slot_size = (size_t)-1 / 2 - 63;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.ring = bytes;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    o.slot_count = 1;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.chunk_size = 1;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    request.dst = bytes;
    request.dst_size = 4095;
    CHECK_STATUS(zt_load_start(&request, 1, NULL, &load), ZT_ERROR_BUFFER_SIZE);
    request.dst_size = sizeof bytes;
    INIT(o);
    /* the size of the slots is missing; an error even if no request needs the ring */
    o.ring = other, o.slot_count = 1;
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_INVALID_ARGUMENT);
    request.dst = NULL;
    CHECK_STATUS(zt_load_start(&request, 1, NULL, &load), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(load == NULL);
    /* A load without requests ends at once. */
    load = start_load(NULL, 0, NULL);
    CHECK_STATUS(zt_load_next(load, -1, &event), ZT_OK);
    CHECK(event.kind == ZT_LOAD_KIND_DONE && event.status == ZT_OK);
    CHECK_STATUS(zt_load_next(load, -1, NULL), ZT_ERROR_INVALID_ARGUMENT);
    event.struct_size = 3;
    CHECK_STATUS(zt_load_next(load, -1, &event), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_load_cancel(load), ZT_OK);
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
    CHECK_STATUS(zt_load_finish(NULL, NULL), ZT_OK);
}

int main(void)
{
    const char *path = scratch_path("load.zt");
    zt_file *file;
    write_tensors(path, sizes, TENSORS, ZT_ENCODING_RAW, ZT_DIGEST_NONE);
    file = open_path(path);
    test_ring(file);
    test_first_bytes(file);
    test_destinations(file);
    test_back_pressure(file);
    test_shared_slots(file);
    test_cancel(file);
    test_refusals(file);
    zt_close(file);
    remove(path);
    return check_done("load");
}
