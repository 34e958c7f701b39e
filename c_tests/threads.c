/* Many threads on one open file get the same results as one thread. Messages and references are separate. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "support.h"

#define THREADS 8
#define ROUNDS 40

typedef struct expected { unsigned char *bytes; size_t size; zt_status verify; } expected;

typedef struct worker {
    zt_file *file;
    const expected *want;
    size_t objects;
    unsigned number;
    unsigned long wrong, done; /* CHECK's counters are only for the main thread */
    char first[200];
} worker;

static void expect(worker *w, int good, const char *what)
{
    w->done++;
    if (!good && w->wrong++ == 0)
        snprintf(w->first, sizeof w->first, "%s: %.150s", what, zt_last_error());
}

static void *use(void *argument)
{
    worker *w = (worker *)argument;
    uint32_t seed = w->number * 977 + 1;
    unsigned round;
    size_t i;
    for (round = 0; round < ROUNDS; round++) {
        zt_file *retained = zt_retain(w->file);
        size_t at = next_random(&seed) % w->objects;
        const zt_object *object = zt_object_at(retained, at);
        const zt_component *c = zt_component_at(object, 0);
        const expected *want = &w->want[at];
        unsigned char *got = (unsigned char *)malloc(want->size + 1);
        zt_buffer *buffer = NULL;
        zt_tensor t;
        zt_read_request r[4];
        zt_read_options o;
        char name[32], nonsense[32];
        expect(w, zt_object_find(retained, zt_object_name(object)) == object, "find");
        expect(w, measured_size(c) == want->size, "size");
        expect(w, zt_component_read(c, got, want->size) == ZT_OK && memcmp(got, want->bytes, want->size) == 0, "read");
        if (want->size > 8) {
            size_t from = next_random(&seed) % (want->size - 8);
            expect(w, zt_component_read_range(c, from, got, 8) == ZT_OK && memcmp(got, want->bytes + from, 8) == 0, "read_range");
        }
        expect(w, verify_component(retained, c) == want->verify, "verify");
        expect(w, zt_component_load(c, NULL, &buffer) == ZT_OK, "load");
        /* Decoded once, by the first thread; all get the same memory. */
        INIT(t);
        if (zt_object_format(object) == ZT_FORMAT_DENSE)
            expect(w, zt_tensor_find(retained, zt_object_name(object), &t) == ZT_OK && t.size == want->size &&
                          memcmp(t.data, want->bytes, t.size) == 0, "view");
        INIT(o);
        o.threads = 1 + round % 3;
        o.chunk_size = 4096;
        for (i = 0; i < 4; i++) {
            size_t which = (at + i) % w->objects;
            INIT(r[i]);
            r[i].component = zt_component_at(zt_object_at(retained, which), 0);
            r[i].length = ZT_WHOLE;
            r[i].dst_size = w->want[which].size;
            r[i].dst = malloc(r[i].dst_size + 1);
        }
        expect(w, zt_read_batch(retained, r, 4, &o, NULL) == ZT_OK, "read_batch");
        for (i = 0; i < 4; i++) {
            size_t which = (at + i) % w->objects;
            expect(w, memcmp(r[i].dst, w->want[which].bytes, w->want[which].size) == 0, "bytes of read_batch");
            free(r[i].dst);
        }
        if (round % 8 == 0)
            expect(w, zt_verify(retained, NULL, NULL) == ZT_OK, "zt_verify");
        /* The last error belongs to the thread. */
        snprintf(nonsense, sizeof nonsense, "nonsense-%u-%u", w->number, round);
        snprintf(name, sizeof name, "%u", w->number);
        expect(w, zt_tensor_find(retained, nonsense, &t) == ZT_ERROR_NOT_FOUND && strstr(zt_last_error(), nonsense) != NULL, "last error");
        zt_close(retained);
        if (buffer) {
            expect(w, zt_buffer_size(buffer) == want->size && memcmp(zt_buffer_data(buffer), want->bytes, want->size) == 0, "buffer");
            zt_buffer_free(buffer);
        }
        free(got);
    }
    zt_close(w->file); /* its reference; the last thread closes the file */
    return NULL;
}

static void use_at_once(const char *name, zt_mode mode)
{
    zt_file *file = open_data_mode(name, mode);
    size_t n = zt_object_count(file), i;
    expected *want = (expected *)calloc(n, sizeof *want);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    REQUIRE(want != NULL);
    {
        /* a separate open, so that nothing of `file` is decoded yet */
        zt_file *alone = open_data_mode(name, mode);
        for (i = 0; i < n; i++) {
            const zt_component *c = zt_component_at(zt_object_at(alone, i), 0);
            want[i].bytes = read_component(c, &want[i].size);
            want[i].verify = verify_component(alone, c);
        }
        zt_close(alone);
    }
    memset(workers, 0, sizeof workers);
    for (i = 0; i < THREADS; i++) {
        workers[i].file = zt_retain(file);
        workers[i].want = want;
        workers[i].objects = n;
        workers[i].number = (unsigned)i;
    }
    zt_close(file); /* only the threads keep the file open */
    for (i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, use, &workers[i]) == 0);
    for (i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    for (i = 0; i < THREADS; i++) {
        if (!CHECK(workers[i].wrong == 0))
            fprintf(stderr, "    %s, thread %u: %lu of %lu, the first: %s\n", name, workers[i].number, workers[i].wrong,
                    workers[i].done, workers[i].first);
        CHECK(workers[i].done >= ROUNDS * 10);
    }
    for (i = 0; i < n; i++)
        free(want[i].bytes);
    free(want);
}

static void *fail_once(void *argument)
{
    zt_dtype dtype;
    (void)zt_dtype_from_name((const char *)argument, &dtype);
    return strstr(zt_last_error(), (const char *)argument) ? argument : NULL;
}

static void *fresh(void *argument)
{
    return strcmp(zt_last_error(), "no error") == 0 ? argument : NULL;
}

static void messages_of_threads(void)
{
    static char name[] = "other thread's";
    char kept[512];
    zt_dtype dtype;
    pthread_t thread;
    void *answer = NULL;
    CHECK_STATUS(zt_dtype_from_name("this thread's", &dtype), ZT_ERROR_NOT_FOUND);
    snprintf(kept, sizeof kept, "%s", zt_last_error());
    REQUIRE(pthread_create(&thread, NULL, fresh, name) == 0 && pthread_join(thread, &answer) == 0);
    CHECK(answer == name); /* nothing has failed on this thread yet */
    REQUIRE(pthread_create(&thread, NULL, fail_once, name) == 0 && pthread_join(thread, &answer) == 0);
    CHECK(answer == name);
    CHECK_STR(zt_last_error(), kept);
}

int main(void)
{
    static const char *const names[] = {"v1.2/py-1.2.3-all-dtypes.zt", "v1.2/py-1.2.3-zstd.zt", "v1.2/py-1.2.3-digests.zt",
                                        "v0.1/rs-0.1.0-big-endian.zt", "v1.1/rs-1.1.1-sparse-zstd-digest.zt"};
    size_t i;
    for (i = 0; i < COUNT(names); i++) {
        use_at_once(names[i], ZT_MODE_MAP);
        use_at_once(names[i], ZT_MODE_READ);
    }
    messages_of_threads();
    return check_done("threads");
}
