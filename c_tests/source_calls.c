/* Number of calls of a source: opening and batches of short tensors make few calls, depending on the source's
 * profile. */
#include "support.h"
#if defined(__linux__)
#include <pthread.h>
#endif

#define TENSORS 3000
#define SIZE 4096

typedef struct {
    const unsigned char *bytes;
    size_t size;
    int calls, elsewhere, refuses_many;
    uint64_t bad; /* a read of this byte fails; 0: none */
#if defined(__linux__)
    pthread_t caller;
#endif
} state;

static zt_status size_of(void *context, uint64_t *size)
{
    *size = ((state *)context)->size;
    return ZT_OK;
}

static zt_status one(state *s, uint64_t offset, void *dst, size_t n)
{
    if (n == 0 || offset > s->size || n > s->size - offset || (s->bad >= offset && s->bad - offset < n && s->bad))
        return ZT_ERROR_CANCELLED;
    memcpy(dst, s->bytes + offset, n);
    return ZT_OK;
}

static void called(state *s)
{
#if defined(__GNUC__)
    __atomic_add_fetch(&s->calls, 1, __ATOMIC_RELAXED);
#else
    s->calls++;
#endif
#if defined(__linux__)
    if (!pthread_equal(s->caller, pthread_self()))
        __atomic_store_n(&s->elsewhere, 1, __ATOMIC_RELAXED);
#endif
}

static zt_status read_at(void *context, uint64_t offset, void *dst, size_t n)
{
    called((state *)context);
    return one((state *)context, offset, dst, n);
}

static zt_status read_many(void *context, const zt_source_range *ranges, size_t count)
{
    state *s = (state *)context;
    zt_status status = s->refuses_many ? ZT_ERROR_UNSUPPORTED : ZT_OK;
    size_t i;
    called(s);
    for (i = 0; i < count && status == ZT_OK; i++)
        status = one(s, ranges[i].offset, ranges[i].dst, ranges[i].size);
    return status;
}

static unsigned char *memory;

/* Reads every step-th tensor in one batch. Returns the number of calls of the source. */
static int batch(zt_file *file, state *s, size_t step, uint32_t threads, zt_status want)
{
    static zt_read_request requests[TENSORS];
    zt_read_options o;
    size_t i, count = 0;
    memset(memory, 0xaa, TENSORS * SIZE);
    for (i = 0; i < TENSORS; i += step, count++) {
        INIT(requests[count]);
        requests[count].component = zt_component_at(zt_object_at(file, i), 0);
        requests[count].length = ZT_WHOLE;
        requests[count].dst = memory + i * SIZE;
        requests[count].dst_size = SIZE;
    }
    INIT(o);
    o.threads = threads;
    s->calls = s->elsewhere = 0;
    CHECK_STATUS(zt_read_batch(file, requests, count, &o, NULL), want);
    for (i = 0; i < TENSORS && want == ZT_OK; i += step) {
        uint64_t at = component_info(requests[i / step].component).offset;
        if (!CHECK(memcmp(memory + i * SIZE, s->bytes + at, SIZE) == 0))
            break;
    }
    return s->calls;
}

static zt_file *open_counted(state *s, const zt_source *source, int most)
{
    zt_file *file = NULL;
    s->calls = 0;
    CHECK_STATUS(zt_open_source(source, NULL, &file), ZT_OK);
    CHECK(s->calls >= 1 && s->calls <= most);
    REQUIRE(file != NULL);
    return file;
}

int main(void)
{
    const char *path = scratch_path("short.zt");
    const uint64_t shape[] = {SIZE};
    unsigned char data[SIZE];
    zt_writer *writer = NULL;
    zt_source source;
    zt_file *file;
    state s;
    size_t i;
    char name[32];
    memory = (unsigned char *)malloc((size_t)TENSORS * SIZE);
    REQUIRE(memory != NULL);
    CHECK_STATUS(zt_write_create(path, NULL, &writer), ZT_OK);
    for (i = 0; i < TENSORS; i++) {
        sprintf(name, "layer.%d.weight", (int)i);
        memset(data, (int)i, SIZE);
        memcpy(data, name, strlen(name));
        CHECK_STATUS(zt_write_dense(writer, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, shape, 1, data, SIZE), ZT_OK);
    }
    CHECK_STATUS(zt_write_finish(writer, NULL), ZT_OK);
    memset(&s, 0, sizeof s);
    s.bytes = read_file(path, &s.size);
#if defined(__linux__)
    s.caller = pthread_self();
#endif
    INIT(source);
    source.context = &s;
    source.size = size_of;
    source.read_at = read_at;

    /* A head, a tail that is too short, and the rest of the manifest; then 8 MiB at a time. */
    file = open_counted(&s, &source, 3);
    CHECK(batch(file, &s, 1, 1, ZT_OK) <= 2);
    CHECK(batch(file, &s, 1, 3, ZT_OK) <= 4);
    CHECK(batch(file, &s, 10, 1, ZT_OK) <= 2); /* reads the bytes between them, too */
    /* Exactly the failing request is reported. */
    s.bad = component_info(zt_component_at(zt_object_at(file, 1234), 0)).offset + 5;
    batch(file, &s, 1, 1, ZT_ERROR_CANCELLED);
    CHECK(strstr(zt_last_error(), "layer.1234.weight") != NULL);
    CHECK(strstr(zt_last_error(), "the caller's source") != NULL || strstr(zt_last_error(), "zt_source.read_at"));
    CHECK(memcmp(memory, s.bytes + component_info(zt_component_at(zt_object_at(file, 0), 0)).offset, SIZE) == 0);
    s.bad = 0;
    zt_close(file);

    /* With its profile: 1 MiB at a time, only adjacent ranges, from the caller's thread. */
    source.largest_request = 2 << 20;
    source.gap = 64;
    source.callers_thread = 1;
    file = open_counted(&s, &source, 3);
    CHECK(batch(file, &s, 1, 4, ZT_OK) <= 8);
    CHECK(!s.elsewhere);
    CHECK_U64(batch(file, &s, 10, 4, ZT_OK), TENSORS / 10);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    CHECK(!s.elsewhere);
    zt_close(file);
    source.largest_request = 1;
    file = open_counted(&s, &source, 3);
    CHECK_U64(batch(file, &s, 1, 1, ZT_OK), TENSORS);
    zt_close(file);

    /* All ranges in one call: both ends, then the missing bytes, at any distance. */
    source.largest_request = source.gap = 0;
    source.callers_thread = 0;
    source.read_many = read_many;
    source.name = "s3://models/short.zt";
    file = open_counted(&s, &source, 2);
    CHECK(batch(file, &s, 1, 1, ZT_OK) <= 2);
    CHECK_U64(batch(file, &s, 10, 1, ZT_OK), 1);
    s.bad = component_info(zt_component_at(zt_object_at(file, 7), 0)).offset;
    batch(file, &s, 1, 1, ZT_ERROR_CANCELLED);
    CHECK(strstr(zt_last_error(), "layer.7.weight") != NULL);
    CHECK(strstr(zt_last_error(), "s3://models/short.zt") != NULL);
    s.bad = 0;
    s.refuses_many = 1; /* then one call for each */
    CHECK(batch(file, &s, 1, 1, ZT_OK) > TENSORS);
    zt_close(file);

    /* A source without a profile. */
    source.callers_thread = 2;
    file = (zt_file *)&s;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL && strstr(zt_last_error(), "callers_thread") != NULL);
    free(memory);
    free((void *)(uintptr_t)s.bytes);
    remove(path);
    return check_done("source_calls");
}
