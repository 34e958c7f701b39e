/*
 * Uploads a model to a GPU through a ring of four slots of pinned memory. A load fills slots while the device
 * copies from others. A slot is released when the event of its copy is done.
 *
 *     gpu_upload FILE [SLOT_SIZE [check]]        check: reads all back and compares it with the file
 *
 * The CUDA driver is loaded at run time, so the program compiles everywhere. Without a driver it prints that
 * it is skipped. ZT_CUDA names another driver.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ztensor.h>

enum { SLOTS = 4, COPIES = 64, ALIGNMENT = 256, CUDA_SUCCESS = 0, CUDA_NOT_READY = 600 };

/* The needed part of the driver's interface, from cuda.h. */
typedef unsigned long long address;
#define DRIVER(F) \
    F(cuInit, (unsigned flags)) F(cuDeviceGet, (int *device, int ordinal)) \
    F(cuDevicePrimaryCtxRetain, (void **context, int device)) F(cuDevicePrimaryCtxRelease_v2, (int device)) \
    F(cuCtxSetCurrent, (void *context)) F(cuMemAlloc_v2, (address *at, size_t size)) F(cuMemFree_v2, (address at)) \
    F(cuMemHostAlloc, (void **host, size_t size, unsigned flags)) F(cuMemFreeHost, (void *host)) \
    F(cuStreamCreate, (void **stream, unsigned flags)) F(cuStreamSynchronize, (void *stream)) F(cuStreamDestroy_v2, (void *stream)) \
    F(cuEventCreate, (void **event, unsigned flags)) \
    F(cuEventRecord, (void *event, void *stream)) F(cuEventQuery, (void *event)) F(cuEventSynchronize, (void *event)) \
    F(cuEventDestroy_v2, (void *event)) F(cuMemcpyHtoDAsync_v2, (address to, const void *from, size_t size, void *stream)) \
    F(cuMemcpyDtoH_v2, (void *to, address from, size_t size))
#define MEMBER(name, parameters) int (*name) parameters;
#define NAME(name, parameters) #name,
struct cuda {
    DRIVER(MEMBER)
};
static const char *const names[] = {DRIVER(NAME)};

struct gpu {
    struct cuda cuda;
    int device;
    void *context, *stream, *ring;
    address weights;
    /* Copies in progress, oldest first: each has its source and its event. */
    zt_load_event copied[COPIES];
    void *done[COPIES];
    size_t first, under_way;
    uint64_t copies, bytes;
};

static int failed(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 0;
}

static int good(int result, const char *what)
{
    return result == CUDA_SUCCESS || (fprintf(stderr, "CUDA error %d: ", result), failed(what));
}

/* 0: no driver, or no device. */
static int find_driver(struct cuda *cuda)
{
    const char *path = getenv("ZT_CUDA");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(library, names[i]);
        if (!symbol) {
            printf("skipped: the CUDA driver has no %s\n", names[i]);
            return 0;
        }
        /* ISO C does not have a cast for this */
        memcpy((char *)cuda + i * sizeof symbol, &symbol, sizeof symbol);
    }
    if (library && cuda->cuInit(0) == CUDA_SUCCESS)
        return 1;
    printf("skipped: %s\n", library ? "the CUDA driver finds no device" : "CUDA driver not found");
    return 0;
}

static int set_up(struct gpu *gpu, size_t weights, size_t ring)
{
    const struct cuda *cuda = &gpu->cuda;

    if (!good(cuda->cuDeviceGet(&gpu->device, 0), "cuDeviceGet") ||
        !good(cuda->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device), "cuDevicePrimaryCtxRetain"))
        return 0;
    if (!good(cuda->cuCtxSetCurrent(gpu->context), "cuCtxSetCurrent") ||
        !good(cuda->cuStreamCreate(&gpu->stream, 1 /* not after the default stream */), "cuStreamCreate") ||
        !good(cuda->cuMemAlloc_v2(&gpu->weights, weights), "cuMemAlloc") ||
        !good(cuda->cuMemHostAlloc(&gpu->ring, ring, 0), "cuMemHostAlloc"))
        return 0;
    for (size_t i = 0; i < COPIES; i++)
        if (!good(cuda->cuEventCreate(&gpu->done[i], 2 /* no times */), "cuEventCreate"))
            return 0;
    return 1;
}

/* Call it after the load has ended, because it frees the load's ring. */
static void tear_down(struct gpu *gpu)
{
    const struct cuda *cuda = &gpu->cuda;

    for (size_t i = 0; i < COPIES; i++)
        if (gpu->done[i])
            cuda->cuEventDestroy_v2(gpu->done[i]);
    if (gpu->ring)
        cuda->cuMemFreeHost(gpu->ring);
    if (gpu->weights)
        cuda->cuMemFree_v2(gpu->weights);
    if (gpu->stream)
        cuda->cuStreamDestroy_v2(gpu->stream);
    if (gpu->context)
        cuda->cuDevicePrimaryCtxRelease_v2(gpu->device);
}

/* Releases the events of finished copies, oldest first. With waits, waits for the oldest. */
static int release_copies(struct gpu *gpu, const zt_load *load, int waits)
{
    for (; gpu->under_way > 0; waits = 0, gpu->under_way--) {
        void *done = gpu->done[gpu->first];
        int result = waits ? gpu->cuda.cuEventSynchronize(done) : gpu->cuda.cuEventQuery(done);
        if (result != CUDA_SUCCESS)
            return result == CUDA_NOT_READY || good(result, "the event of a copy");
        zt_load_release(load, &gpu->copied[gpu->first]);
        gpu->first = (gpu->first + 1) % COPIES;
    }
    return 1;
}

static int begin_copy(struct gpu *gpu, const zt_load *load, const zt_load_event *event)
{
    address to = gpu->weights + event->tag + event->offset;
    size_t last;

    if (event->size == 0)
        return 1; /* nothing to copy from a slot */
    if (gpu->under_way == COPIES && !release_copies(gpu, load, 1))
        return 0;
    last = (gpu->first + gpu->under_way) % COPIES;
    if (!good(gpu->cuda.cuMemcpyHtoDAsync_v2(to, event->data, event->size, gpu->stream), "cuMemcpyHtoDAsync") ||
        !good(gpu->cuda.cuEventRecord(gpu->done[last], gpu->stream), "cuEventRecord"))
        return 0;
    gpu->copied[last] = *event;
    gpu->under_way++;
    gpu->copies++;
    gpu->bytes += event->size;
    return 1;
}

static int upload(struct gpu *gpu, const zt_load *load)
{
    for (;;) {
        zt_load_event event = ZT_INIT(zt_load_event);

        /* While copies are in progress, only poll: the load may be waiting for their slots. */
        if (!release_copies(gpu, load, 0))
            return 0;
        if (zt_load_next(load, gpu->under_way ? 0 : -1, &event) != ZT_OK)
            return failed(zt_last_error());
        if (event.kind == ZT_LOAD_KIND_FAILED || (event.kind == ZT_LOAD_KIND_DONE && event.status != ZT_OK))
            return failed(event.message);
        if (event.kind == ZT_LOAD_KIND_DONE && !gpu->under_way)
            return 1;
        if (!(event.kind == ZT_LOAD_KIND_DATA ? begin_copy(gpu, load, &event) : release_copies(gpu, load, 1)))
            return 0;
    }
}

/* A request for each component. Its tag is the offset in the device's memory. Sizes come from the file and
 * may be wrong. */
static int plan(const zt_file *file, zt_read_request *requests, size_t *count, uint64_t *total)
{
    *count = 0, *total = 0;
    for (size_t i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        for (size_t j = 0; j < zt_component_count(object); j++, ++*count) {
            const zt_component *component = zt_component_at(object, j);
            uint64_t size = zt_component_size(component);
            if (size > SIZE_MAX / 2 - *total)
                return failed("the tensors are larger than memory");
            if (requests)
                requests[*count] = (zt_read_request){.struct_size = sizeof *requests, .component = component,
                                                     .length = ZT_WHOLE, .tag = *total};
            *total += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    return 1;
}

static int check(const struct gpu *gpu, const zt_read_request *requests, size_t count)
{
    int same = 1;

    for (size_t i = 0; i < count && same; i++) {
        size_t size = (size_t)zt_component_size(requests[i].component);
        char *there = malloc(2 * size + 1), *here = there ? there + size : NULL;
        if (size > 0)
            same = here && good(gpu->cuda.cuMemcpyDtoH_v2(there, gpu->weights + requests[i].tag, size), "cuMemcpyDtoH") &&
                   zt_component_read(requests[i].component, here, size) == ZT_OK && memcmp(there, here, size) == 0;
        free(there);
    }
    return same ? 1 : failed("the bytes on the device differ from the file's");
}

/* The exit status. */
static int run(struct cuda cuda, const zt_file *file, size_t slot_size, int checks)
{
    struct gpu gpu = {.cuda = cuda};
    zt_load *load = NULL;
    size_t count;
    uint64_t total;
    zt_read_request *requests = plan(file, NULL, &count, &total) ? calloc(count + 1, sizeof *requests) : NULL;
    int done = requests && plan(file, requests, &count, &total) && set_up(&gpu, (size_t)total + 1, SLOTS * slot_size);
    if (done) {
        zt_load_options options = {.struct_size = sizeof options, .pinned = 1, .ring = gpu.ring,
                                   .slot_size = slot_size, .slot_count = SLOTS};
        done = zt_load_start(requests, count, &options, &load) == ZT_OK ? upload(&gpu, load) : failed(zt_last_error());
        /* Also after an error, free the ring only when no copy is in progress and the load has ended. */
        done = good(gpu.cuda.cuStreamSynchronize(gpu.stream), "cuStreamSynchronize") && done;
        done = (zt_load_finish(load, NULL) == ZT_OK || !load) && done;
    }
    done = done && (!checks || check(&gpu, requests, count));
    if (done)
        printf("%zu tensors, %" PRIu64 " bytes in %" PRIu64 " copies\n", count, gpu.bytes, gpu.copies);
    tear_down(&gpu);
    free(requests);
    return !done;
}

int main(int argc, char **argv)
{
    size_t slot_size = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : (size_t)64 << 20;
    struct cuda cuda;
    zt_file *file;
    int status;

    if (argc < 2 || argc > 4 || slot_size == 0 || slot_size > SIZE_MAX / SLOTS || (argc == 4 && strcmp(argv[3], "check") != 0)) {
        fprintf(stderr, "usage: gpu_upload FILE [SLOT_SIZE [check]]\n");
        return 2;
    }
    if (!find_driver(&cuda))
        return 0;
    if (zt_open(argv[1], NULL, &file) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    status = run(cuda, file, slot_size, argc == 4);
    zt_close(file);
    return status;
}
