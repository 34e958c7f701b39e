/* Ends of loads: failures with both policies, several consumers, sources of the caller's thread, a fork. */
#include <pthread.h>
#include <sys/wait.h>

#include "loading.h"

#define SLOT (64 << 10)
#define TENSORS 24

static size_t sizes[TENSORS];

/* Changes one byte of tensor n. */
static void damage(const char *path, size_t n)
{
    zt_file *file = open_path(path);
    const zt_component *c = zt_component_find(zt_object_at(file, n), "data");
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    bytes[component_info(c).offset + component_info(c).stored_size / 2] ^= 1;
    zt_close(file);
    write_file(path, bytes, size);
    free(bytes);
}

/* A wrong digest, checked with one and several threads, in the ring and in the caller's memory. */
static void test_broken_digest(zt_encoding encoding)
{
    const char *path = scratch_path("digest.zt");
    const size_t bad = 11;
    unsigned char *own = (unsigned char *)malloc(sizes[bad]);
    uint32_t round;
    write_tensors(path, sizes, TENSORS, encoding, ZT_DIGEST_CRC32C);
    damage(path, bad);
    for (round = 0; round < 8; round++) {
        zt_file *file = open_path(path);
        zt_read_request requests[TENSORS];
        received *got = (received *)calloc(1, sizeof *got);
        zt_load_options o;
        zt_read_stats stats;
        zt_load *load;
        size_t i;
        INIT(o), INIT(stats);
        REQUIRE(got != NULL && own != NULL && request_all(file, requests, 0) == TENSORS);
        o.verify = 1;
        o.keep_going = round & 1;
        o.threads = round & 2 ? 3 : 1;
        o.slot_size = 2 * SLOT;
        if (round & 4)
            requests[bad].dst = own, requests[bad].dst_size = sizes[bad];
        load = start_load(requests, TENSORS, &o);
        CHECK_STATUS(drain(load, got), ZT_ERROR_DIGEST_MISMATCH);
        CHECK(got->failed[bad] == 1 && got->wrong == 0);
        for (i = 0; i < TENSORS; i++)
            CHECK(i == bad || !o.keep_going || (got->bytes[i] == sizes[i] && got->ended[i] && !got->failed[i]));
        CHECK_STATUS(zt_load_finish(load, &stats), ZT_ERROR_DIGEST_MISMATCH);
        CHECK(!o.keep_going || (stats.requests == TENSORS - 1 && stats.digests_verified == TENSORS - 1));
        zt_close(file);
        free(got);
    }
    free(own);
    remove(path);
}

/* The file is truncated during the load: a request in several events fails in the middle, and the slots are
 * reused. */
static void test_short_file(void)
{
    const char *path = scratch_path("short.zt");
    static const size_t big[] = {1500000, 1500000, 4096};
    uint32_t keep_going;
    for (keep_going = 0; keep_going < 2; keep_going++) {
        zt_read_request requests[3];
        zt_open_options how;
        zt_load_options o;
        zt_file *file = NULL;
        zt_load *load;
        received *got = (received *)calloc(1, sizeof *got);
        zt_status ended;
        unsigned char *bytes;
        size_t size;
        write_tensors(path, big, 3, ZT_ENCODING_RAW, ZT_DIGEST_NONE);
        INIT(how), INIT(o);
        how.mode = ZT_MODE_READ;
        REQUIRE(got != NULL && zt_open(path, &how, &file) == ZT_OK && request_all(file, requests, 0) == 3);
        bytes = read_file(path, &size);
        write_file(path, bytes, 800000); /* the same file, truncated */
        free(bytes);
        o.keep_going = keep_going;
        o.slot_size = SLOT;
        o.slot_count = 2;
        o.direct = ZT_DIRECT_NEVER;
        load = start_load(requests, 3, &o);
        ended = drain(load, got);
        CHECK_STATUS(ended, ZT_ERROR_IO);
        CHECK(got->failed[0] == 1 && got->bytes[0] < 800000 && got->wrong == 0);
        CHECK(!keep_going || (got->failed[1] == 1 && got->failed[2] == 1));
        CHECK_STATUS(zt_load_finish(load, NULL), ended);
        zt_close(file);
        free(got);
        remove(path);
    }
}

/* Bytes that cannot be split, and need more temporary memory than allowed. */
static void test_too_large(void)
{
    const char *path = scratch_path("large.zt");
    static const size_t big[] = {1000000};
    zt_read_request request;
    zt_load_options o;
    zt_load *load = NULL;
    zt_file *file;
    write_tensors(path, big, 1, ZT_ENCODING_ZSTD, ZT_DIGEST_NONE);
    file = open_path(path);
    INIT(o);
    o.slot_size = SLOT;
    o.in_flight = 999999;
    REQUIRE(request_all(file, &request, 0) == 1);
    CHECK_STATUS(zt_load_start(&request, 1, &o, &load), ZT_ERROR_LIMIT);
    CHECK(load == NULL && strstr(zt_last_error(), "1000000") != NULL && strstr(zt_last_error(), "999999") != NULL);
    zt_close(file);
    remove(path);
}

/* Each event goes to one of the consumers; all see the end. */
typedef struct consumer {
    zt_load *load;
    uint64_t bytes;
    size_t events, wrong;
    zt_status ended;
} consumer;

static void *consume(void *context)
{
    consumer *me = (consumer *)context;
    zt_load_event event;
    for (;;) {
        size_t i;
        INIT(event);
        if (zt_load_next(me->load, -1, &event) != ZT_OK) {
            me->wrong++;
            return NULL;
        }
        if (event.kind == ZT_LOAD_KIND_DONE)
            break;
        for (i = 0; i < event.size; i++)
            me->wrong += ((const unsigned char *)event.data)[i] != byte_of((size_t)event.tag, (size_t)event.offset + i);
        me->bytes += event.size;
        me->events++;
        zt_load_release(me->load, &event);
    }
    me->ended = event.status;
    return NULL;
}

static void test_consumers(const zt_file *file)
{
    zt_read_request requests[TENSORS];
    uint32_t threads;
    REQUIRE(request_all(file, requests, 0) == TENSORS);
    for (threads = 0; threads < 4; threads++) {
        pthread_t handles[3];
        consumer consumers[3];
        zt_load_options o;
        zt_load *load;
        size_t i, events = 0;
        uint64_t bytes = 0, all = 0;
        INIT(o);
        o.threads = threads;
        o.slot_size = SLOT;
        o.slot_count = 2;
        load = start_load(requests, TENSORS, &o);
        memset(consumers, 0, sizeof consumers);
        for (i = 0; i < 3; i++) {
            consumers[i].load = load;
            REQUIRE(pthread_create(&handles[i], NULL, consume, &consumers[i]) == 0);
        }
        for (i = 0; i < 3; i++) {
            pthread_join(handles[i], NULL);
            events += consumers[i].events, bytes += consumers[i].bytes;
            CHECK(consumers[i].wrong == 0 && consumers[i].ended == ZT_OK);
        }
        for (i = 0; i < TENSORS; i++)
            all += sizes[i];
        CHECK_U64(bytes, all);
        CHECK(events >= TENSORS);
        CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
    }
}

/* A source that only threads that call the library may read. */
typedef struct callers {
    const unsigned char *bytes;
    size_t size;
    pthread_t thread;
    size_t reads, others;
} callers;

static zt_status callers_size(void *context, uint64_t *size)
{
    *size = ((callers *)context)->size;
    return ZT_OK;
}

static zt_status callers_read(void *context, uint64_t offset, void *dst, size_t length)
{
    callers *c = (callers *)context;
    c->reads++;
    c->others += !pthread_equal(c->thread, pthread_self());
    memcpy(dst, c->bytes + offset, length);
    return ZT_OK;
}

static void test_callers_thread(const char *path)
{
    callers c;
    zt_source source;
    zt_read_request requests[TENSORS];
    zt_load_options o;
    zt_read_stats stats;
    zt_file *file = NULL;
    zt_load *load;
    received *got = (received *)calloc(1, sizeof *got);
    memset(&c, 0, sizeof c);
    c.bytes = read_file(path, &c.size);
    c.thread = pthread_self();
    INIT(source), INIT(o), INIT(stats);
    source.context = &c;
    source.size = callers_size;
    source.read_at = callers_read;
    source.callers_thread = 1;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK);
    REQUIRE(got != NULL && file != NULL && request_all(file, requests, 0) == TENSORS);
    o.slot_size = SLOT;
    o.slot_count = 2;
    c.reads = 0;
    load = start_load(requests, TENSORS, &o);
    CHECK_U64(c.reads, 0);
    CHECK_STATUS(drain(load, got), ZT_OK);
    CHECK(all_received(got, sizes, TENSORS) && c.reads > 0 && c.others == 0);
    CHECK_STATUS(zt_load_finish(load, &stats), ZT_OK);
    CHECK_U64(stats.threads, 1);
    zt_close(file);
    free((void *)c.bytes);
    free(got);
}

/* A forked child does not have the threads: every call fails at once, and the parent's load continues. */
static void test_fork(const zt_file *file)
{
    zt_read_request requests[TENSORS];
    zt_load_options o;
    zt_load *load;
    received *got = (received *)calloc(1, sizeof *got);
    pid_t child;
    int status = -1;
    INIT(o);
    o.slot_size = SLOT;
    o.slot_count = 1;
    REQUIRE(got != NULL && request_all(file, requests, 0) == TENSORS);
    load = start_load(requests, TENSORS, &o);
    child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        zt_load_event event;
        int good;
        INIT(event);
        good = zt_load_next(load, -1, &event) == ZT_ERROR_STATE && zt_load_cancel(load) == ZT_ERROR_STATE;
        zt_load_release(load, &event);
        /* A separate program: valgrind would report the memory that the child cannot free as lost. */
        if (good && zt_load_finish(load, NULL) == ZT_ERROR_STATE)
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_STATUS(drain(load, got), ZT_OK);
    CHECK(all_received(got, sizes, TENSORS));
    CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
    free(got);
}

/* For a separate process that ends during a load, with a cache. */
static int exit_early(const char *path)
{
    static zt_load *load; /* global, so that leak checkers do not report it */
    static zt_cache *cache;
    static zt_file *file;
    zt_load_event event;
    zt_read_request requests[TENSORS];
    zt_load_options o;
    zt_cache_options c;
    file = open_path(path);
    INIT(o), INIT(c), INIT(event);
    o.slot_size = SLOT;
    o.slot_count = 1;
    c.budget = 4 << 20;
    c.slot_size = 1 << 20;
    return request_all(file, requests, 0) == TENSORS && zt_load_start(requests, TENSORS, &o, &load) == ZT_OK &&
                   zt_load_next(load, -1, &event) == ZT_OK && zt_cache_create(&c, &cache) == ZT_OK &&
                   zt_cache_prefetch(cache, requests, TENSORS) == ZT_OK
               ? 7
               : 1;
}

/* The process ends without waiting for the threads. It is a separate program, because valgrind would report
 * its memory as lost. The program is started with the runner of this one, if programs are for another
 * machine. */
static void test_exit(const char *program, const char *path)
{
    pid_t child;
    int status = -1;
    fflush(NULL);
    child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exec ${RUNNER-} \"$0\" \"$1\"", program, path, (char *)NULL);
        _exit(1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void test_direct(const zt_file *file)
{
    zt_read_request requests[TENSORS];
    zt_direct direct;
    REQUIRE(request_all(file, requests, 0) == TENSORS);
    for (direct = ZT_DIRECT_AUTO; direct <= ZT_DIRECT_ALWAYS; direct++) {
        zt_load_options o;
        zt_load *load = NULL;
        received *got = (received *)calloc(1, sizeof *got);
        zt_status status;
        REQUIRE(got != NULL);
        INIT(o);
        o.direct = direct;
        o.pinned = 1;
        o.slot_size = SLOT;
        status = zt_load_start(requests, TENSORS, &o, &load);
        CHECK(status == ZT_OK || (status == ZT_ERROR_UNSUPPORTED && direct == ZT_DIRECT_ALWAYS));
        if (status == ZT_OK) {
            CHECK_STATUS(drain(load, got), ZT_OK);
            CHECK(all_received(got, sizes, TENSORS));
        }
        CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
        free(got);
    }
}

int main(int argc, char **argv)
{
    const char *path = scratch_path("ends.zt");
    zt_file *file;
    size_t i;
    if (argc > 1)
        return exit_early(argv[1]);
    for (i = 0; i < TENSORS; i++)
        sizes[i] = 1000 + i * i * 180;
    test_broken_digest(ZT_ENCODING_RAW);
    test_broken_digest(ZT_ENCODING_ZSTD);
    test_short_file();
    test_too_large();
    sizes[7] = 700000; /* needs many slots */
    write_tensors(path, sizes, TENSORS, ZT_ENCODING_RAW, ZT_DIGEST_NONE);
    file = open_path(path);
    test_consumers(file);
    test_callers_thread(path);
    test_fork(file);
    test_exit(argv[0], path);
    test_direct(file);
    zt_close(file);
    remove(path);
    return check_done("load_ends");
}
