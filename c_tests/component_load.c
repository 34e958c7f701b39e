/* zt_component_load with options, and the caller's allocator for returned memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>

#include "residence.h"
#include "writing.h"
#include "ztensor_dlpack.h"

/* The start of a DLManagedTensorVersioned in DLPack's specification. */
struct DLManagedTensorVersioned {
    struct { uint32_t major, minor; } version;
    void *manager;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    void *data;
};

enum { SIZE = 12 << 20 };

static const char *path;
static unsigned char *data;
static const uint64_t whole = SIZE;

/* The data twice, with digests. */
static void write_both(void)
{
    static const char *const names[] = {"raw", "zstd"};
    zt_write_request requests[2];
    zt_writer *w = NULL;
    size_t i;
    for (i = 0; i < 2; i++) {
        INIT(requests[i]);
        requests[i].name = names[i];
        requests[i].shape = &whole;
        requests[i].rank = 1;
        requests[i].data = data;
        requests[i].size = SIZE;
        requests[i].dtype = ZT_DTYPE_U8;
        requests[i].encoding = i ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW;
        requests[i].digest = ZT_DIGEST_SHA256;
    }
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_batch(w, requests, 2), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
}

/* ---- memory */

typedef struct heap {
    size_t calls, held, fail_at, shift;
    pthread_mutex_t lock;
} heap;

static void *heap_allocate(void *context, size_t size, size_t alignment)
{
    heap *h = (heap *)context;
    unsigned char *block, *memory;
    size_t refused;
    pthread_mutex_lock(&h->lock); /* deadlocks if called under a lock that zt_close takes */
    refused = ++h->calls == h->fail_at;
    h->held += refused ? 0 : size;
    pthread_mutex_unlock(&h->lock);
    CHECK(size > 0 && alignment >= 64 && (alignment & (alignment - 1)) == 0);
    if (refused || (block = (unsigned char *)malloc(size + 2 * alignment + sizeof(void *))) == NULL)
        return NULL;
    memory = block + sizeof(void *);
    memory += alignment - (uintptr_t)memory % alignment + h->shift;
    memcpy(memory - sizeof(void *) - h->shift, &block, sizeof block);
    memset(memory, 0xa5, size); /* does not need to be zero */
    return memory;
}

static void heap_free(void *context, void *memory, size_t size, size_t alignment)
{
    heap *h = (heap *)context;
    unsigned char *block;
    pthread_mutex_lock(&h->lock);
    CHECK(memory != NULL && alignment >= 64 && h->held >= size);
    h->held -= size;
    pthread_mutex_unlock(&h->lock);
    memcpy(&block, (unsigned char *)memory - sizeof(void *) - h->shift, sizeof block);
    free(block);
}

static zt_file *open_with(heap *h, const char *name, zt_mode mode)
{
    zt_allocator a;
    zt_open_options o;
    zt_file *file = NULL;
    INIT(a);
    INIT(o);
    a.context = h;
    a.allocate = heap_allocate;
    a.free = heap_free;
    o.allocator = &a;
    o.mode = mode;
    CHECK_STATUS(zt_open(name, &o, &file), ZT_OK);
    memset(&a, 0xff, sizeof a); /* the library copied it */
    return file;
}

/* Buffers, views and DLPack tensors use the allocator; borrowed bytes do not. They stay valid after the
 * caller's zt_close. */
static void memory(void)
{
    heap h = {0, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER};
    zt_file *file = open_with(&h, path, ZT_MODE_MAP);
    zt_buffer *borrowed = NULL, *made = NULL;
    struct DLManagedTensorVersioned *tensor = NULL;
    zt_tensor view;
    INIT(view);
    CHECK_STATUS(zt_component_load(component_of(file, "raw", "data"), NULL, &borrowed), ZT_OK);
    CHECK(h.calls == 0 && h.held == 0);
    CHECK_STATUS(zt_component_load(component_of(file, "zstd", "data"), NULL, &made), ZT_OK);
    CHECK(h.calls == 1 && h.held == whole && memcmp(zt_buffer_data(made), data, (size_t)whole) == 0);
    CHECK_STATUS(zt_object_to_dlpack(zt_object_find(file, "zstd"), &tensor), ZT_OK);
    CHECK(h.calls == 2 && h.held == 2 * whole);
    CHECK_STATUS(zt_tensor_find(file, "zstd", &view), ZT_OK);
    CHECK_STATUS(zt_tensor_find(file, "zstd", &view), ZT_OK); /* the same memory */
    CHECK(h.calls == 3 && h.held == 3 * whole && memcmp(view.data, data, (size_t)whole) == 0);
    zt_close(file);
    CHECK(h.held == 3 * whole); /* the buffers keep the file */
    zt_buffer_free(made);
    zt_buffer_free(borrowed);
    CHECK(h.held == 2 * whole && memcmp(tensor->data, data, (size_t)whole) == 0);
    tensor->deleter(tensor);
    CHECK(h.held == 0 && h.calls == 3);
}

/* The allocator returns NULL at each call in turn: the status is out of memory, nothing leaks, and the file
 * is still usable. */
static void no_memory(void)
{
    size_t n;
    for (n = 1; n <= 3; n++) {
        heap h = {0, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER};
        zt_file *file = open_with(&h, path, ZT_MODE_READ);
        zt_buffer *one = (zt_buffer *)data, *two = (zt_buffer *)data;
        zt_read_options o;
        zt_tensor view;
        INIT(o);
        INIT(view);
        h.fail_at = n;
        CHECK_STATUS(zt_component_load(component_of(file, "raw", "data"), NULL, &one), n == 1 ? ZT_ERROR_OUT_OF_MEMORY : ZT_OK);
        CHECK_STATUS(zt_component_load(component_of(file, "zstd", "data"), &o, &two), n == 2 ? ZT_ERROR_OUT_OF_MEMORY : ZT_OK);
        CHECK_STATUS(zt_tensor_find(file, "zstd", &view), n == 3 ? ZT_ERROR_OUT_OF_MEMORY : ZT_OK);
        CHECK((one == NULL) == (n == 1) && (two == NULL) == (n == 2) && (view.data == NULL) == (n == 3));
        CHECK(h.held == 2 * whole);
        CHECK_STATUS(zt_tensor_find(file, "zstd", &view), ZT_OK);
        zt_buffer_free(one);
        zt_buffer_free(two);
        zt_close(file);
        CHECK(h.held == 0);
    }
}

static void bad_memory(void)
{
    heap h = {0, 0, 0, 8, PTHREAD_MUTEX_INITIALIZER};
    zt_file *file = open_with(&h, path, ZT_MODE_READ);
    zt_buffer *buffer = (zt_buffer *)data;
    zt_allocator a;
    zt_open_options o;
    CHECK_STATUS(zt_component_load(component_of(file, "raw", "data"), NULL, &buffer), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(buffer == NULL && h.held == 0);
    zt_close(file);
    INIT(a);
    INIT(o);
    o.allocator = &a; /* without its functions */
    file = (zt_file *)data;
    CHECK_STATUS(zt_open(path, &o, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL);
    a.allocate = heap_allocate;
    CHECK_STATUS(zt_open(path, &o, &file), ZT_ERROR_INVALID_ARGUMENT);
}

/* ---- options */

typedef struct watch { uint64_t calls, last, total, stop_at, done; zt_status status; } watch;

static int32_t see(void *context, uint64_t done, uint64_t total)
{
    watch *w = (watch *)context;
    CHECK(done >= w->last && done <= total);
    w->last = done;
    w->total = total;
    return ++w->calls == w->stop_at;
}

static void done(void *context, uint64_t tag, zt_status status, const char *message)
{
    watch *w = (watch *)context;
    CHECK(tag == 0 && (status == ZT_OK) == (message[0] == 0));
    w->done++;
    w->status = status;
}

static void load(zt_file *file, const char *name, uint32_t verify, uint64_t stop_at, zt_status want)
{
    watch w = {0, 0, 0, 0, 0, ZT_OK};
    zt_buffer *buffer = (zt_buffer *)data;
    zt_read_options o;
    INIT(o);
    o.threads = 2;
    o.verify = verify;
    o.context = &w;
    o.on_done = done;
    o.progress = see;
    w.stop_at = stop_at;
    CHECK_STATUS(zt_component_load(component_of(file, name, "data"), &o, &buffer), want);
    CHECK((buffer == NULL) == (want != ZT_OK));
    if (want == ZT_OK) {
        CHECK(w.calls > 1 && w.last == whole && w.total == whole && w.done == 1 && w.status == ZT_OK);
        CHECK(memcmp(zt_buffer_data(buffer), data, (size_t)whole) == 0);
    } else if (want == ZT_ERROR_CANCELLED) {
        CHECK(w.calls >= stop_at); /* another thread may be about to report */
    }
    zt_buffer_free(buffer);
}

/* In both modes, progress is reported and can stop the call, and the digest is checked. */
static void loading(void)
{
    static const zt_mode modes[] = {ZT_MODE_MAP, ZT_MODE_READ};
    const char *damaged = scratch_path("component_load-damaged.zt");
    zt_file *file;
    size_t i, size;
    unsigned char *bytes = read_file(path, &size);
    for (i = 0; i < COUNT(modes); i++) {
        zt_open_options o;
        INIT(o);
        o.mode = modes[i];
        CHECK_STATUS(zt_open(path, &o, &file), ZT_OK);
        load(file, "raw", 1, 0, ZT_OK);
        load(file, "raw", 1, 1, ZT_ERROR_CANCELLED);
        load(file, "raw", 1, 2, ZT_ERROR_CANCELLED);
        load(file, "zstd", 1, 0, ZT_OK);
        load(file, "zstd", 1, 1, ZT_ERROR_CANCELLED);
        load(file, "zstd", 1, 2, ZT_ERROR_CANCELLED);
        if (o.mode == ZT_MODE_MAP || reports_what_is_cached(path)) { /* on several threads */
            load(file, "zstd", 0, 0, ZT_OK);
            load(file, "zstd", 0, 2, ZT_ERROR_CANCELLED);
        }
        bytes[component_info(component_of(file, "raw", "data")).offset + whole / 2] ^= 1;
        write_file(damaged, bytes, size);
        bytes[component_info(component_of(file, "raw", "data")).offset + whole / 2] ^= 1;
        zt_close(file);
        CHECK_STATUS(zt_open(damaged, &o, &file), ZT_OK);
        load(file, "raw", 1, 0, ZT_ERROR_DIGEST_MISMATCH);
        zt_close(file);
    }
    free(bytes);
    CHECK(remove(damaged) == 0);
}

int main(void)
{
    size_t i;
    path = scratch_path("component_load.zt");
    data = (unsigned char *)malloc(SIZE);
    REQUIRE(data != NULL);
    for (i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(i * i >> 7);
    write_both();
    memory();
    no_memory();
    bad_memory();
    loading();
    CHECK(remove(path) == 0);
    free(data);
    return check_done("component_load");
}
