/*
 * A CUDA driver without a device, for the test of gpu_upload.c. It also checks the order of calls. It is
 * loaded twice, as one library: as the driver (ZT_CUDA) and before libztensor (LD_PRELOAD), so that it sees
 * the load's events and releases.
 *
 * A copy is made when its event is first seen to be done, as late as a device may make it. It reports each
 * error: a copy from memory that is not an event's, a release or the end of the load before its copies, and
 * memory that is freed too early or never. The exit status is then 99. STUB_FAIL=FUNCTION or FUNCTION:N makes
 * its Nth call fail.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ztensor.h>

enum { MOST = 4096, DONE = 0, NOT_READY = 600, FAILURE = 700, QUERIES = 2 };

typedef unsigned long long address;
struct range {
    const char *at;
    size_t size;
};
struct event {
    size_t after; /* number of copies that must be made before */
    int queries;
};
static struct {
    address to;
    struct range from;
} copies[MOST];             /* of the stream; copy n is at n % MOST */
static size_t begun, made;  /* copies */
static struct range held[MOST], device, host;
static size_t held_count, wrong, resources, bytes;
static int loads;

static void tell(int is_wrong, const char *what)
{
    if (is_wrong) {
        wrong++;
        fprintf(stderr, "cuda_stub: %s\n", what);
    }
}

static int is_within(struct range a, struct range b)
{
    return b.at && a.at >= b.at && a.size <= b.size && (size_t)(a.at - b.at) <= b.size - a.size;
}

static int overlap(struct range a, struct range b)
{
    return a.at < b.at + b.size && b.at < a.at + a.size;
}

static int is_held(struct range part)
{
    for (size_t i = 0; i < held_count; i++)
        if (is_within(part, held[i]))
            return 1;
    return 0;
}

static int fails(const char *name)
{
    static long calls;
    const char *text = getenv("STUB_FAIL");
    size_t length = strlen(name);

    if (!text || strncmp(text, name, length) != 0 || (text[length] && text[length] != ':'))
        return 0;
    return ++calls == (text[length] ? strtol(text + length + 1, NULL, 10) : 1);
}
#define MAY_FAIL do { if (fails(__func__)) return FAILURE; } while (0)

static void make_copies(size_t until)
{
    for (; made < until; made++) {
        struct range from = copies[made % MOST].from;
        tell(!is_held(from), "a copy reads memory that was released");
        memcpy((char *)(uintptr_t)copies[made % MOST].to, from.at, from.size);
        bytes += from.size;
    }
}

static int take(struct range *memory, size_t size)
{
    tell(memory->at != NULL, "a second allocation");
    *memory = (struct range){malloc(size), size};
    if (!memory->at)
        return FAILURE;
    memset((char *)memory->at, 0xA5, size);
    resources++;
    return DONE;
}

static int give(struct range *memory, const void *at)
{
    tell(memory->at != at || made < begun, "memory is freed while copies are in progress");
    free((char *)memory->at);
    *memory = (struct range){NULL, 0};
    resources--;
    return DONE;
}

/* The driver's functions. */
int cuInit(unsigned flags) { MAY_FAIL; return flags ? FAILURE : DONE; }
int cuDeviceGet(int *got, int ordinal) { MAY_FAIL; *got = 7; return ordinal ? FAILURE : DONE; }
int cuCtxSetCurrent(void *context) { MAY_FAIL; return context ? DONE : FAILURE; }
int cuDevicePrimaryCtxRetain(void **context, int from) { MAY_FAIL; resources++; *context = &device; return from == 7 ? DONE : FAILURE; }
int cuMemAlloc_v2(address *at, size_t size) { MAY_FAIL; int result = take(&device, size); *at = (uintptr_t)device.at; return result; }
int cuMemFree_v2(address at) { return give(&device, (void *)(uintptr_t)at); }
int cuMemHostAlloc(void **at, size_t size, unsigned flags) { MAY_FAIL; int result = take(&host, size); *at = (char *)host.at; return flags ? FAILURE : result; }
int cuMemFreeHost(void *at) { tell(loads, "the ring is freed before the load has ended"); return give(&host, at); }
int cuStreamCreate(void **stream, unsigned flags) { MAY_FAIL; resources++; *stream = &made; return flags == 1 ? DONE : FAILURE; }
int cuEventCreate(void **event, unsigned flags) { MAY_FAIL; resources++; *event = calloc(1, sizeof (struct event)); return flags == 2 && *event ? DONE : FAILURE; }

int cuDevicePrimaryCtxRelease_v2(int of)
{
    resources--;
    tell(of != 7 || resources != 0, "the context is destroyed before its resources");
    return DONE;
}

int cuStreamDestroy_v2(void *stream)
{
    tell(stream != &made || made < begun, "the stream is destroyed while copies are in progress");
    resources--;
    return DONE;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    resources--;
    return DONE;
}

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t size, void *stream)
{
    struct range source = {from, size}, target = {(char *)(uintptr_t)to, size};

    MAY_FAIL;
    tell(stream != &made || begun - made == MOST, "too many copies, or another stream");
    tell(!is_within(source, host) || !is_within(target, device), "a copy from or to foreign memory");
    tell(!is_held(source), "a copy reads memory that is not an event's");
    copies[begun % MOST].to = to;
    copies[begun++ % MOST].from = source;
    return DONE;
}

int cuEventRecord(void *event, void *stream)
{
    MAY_FAIL;
    *(struct event *)event = (struct event){begun, 0};
    return stream == &made ? DONE : FAILURE;
}

int cuEventQuery(void *event)
{
    struct event *asked = event;

    MAY_FAIL;
    if (made < asked->after && asked->queries++ < QUERIES)
        return NOT_READY;
    make_copies(asked->after);
    return DONE;
}

int cuEventSynchronize(void *event) { MAY_FAIL; make_copies(((struct event *)event)->after); return DONE; }
/* Waits even if it returns a failure, like the real driver does for earlier failures. */
int cuStreamSynchronize(void *stream) { make_copies(begun); MAY_FAIL; return stream == &made ? DONE : FAILURE; }

int cuMemcpyDtoH_v2(void *to, address from, size_t size)
{
    MAY_FAIL;
    tell(made < begun || !is_within((struct range){(char *)(uintptr_t)from, size}, device), "read back too early, or from foreign memory");
    memcpy(to, (char *)(uintptr_t)from, size);
    return DONE;
}

/* The checks: wrappers of libztensor's functions that look at the arguments. */
static void *next(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    if (!symbol)
        abort();
    return symbol;
}
#define FIND(function, name) do { void *symbol = next(name); memcpy(&(function), &symbol, sizeof symbol); } while (0)

zt_status zt_load_start(const zt_read_request *requests, size_t count, const zt_load_options *options, zt_load **load)
{
    zt_status (*start)(const zt_read_request *, size_t, const zt_load_options *, zt_load **);
    zt_status status;

    FIND(start, "zt_load_start");
    tell(options->ring != host.at, "the ring is not the pinned memory");
    status = start(requests, count, options, load);
    loads += status == ZT_OK;
    return status;
}

zt_status zt_load_next(const zt_load *load, int64_t timeout, zt_load_event *event)
{
    zt_status (*real)(const zt_load *, int64_t, zt_load_event *);
    zt_status status;

    FIND(real, "zt_load_next");
    status = real(load, timeout, event);
    if (status == ZT_OK && event->kind == ZT_LOAD_KIND_DATA && event->slot != ZT_NO_SLOT) {
        tell(held_count == MOST, "too many events are not released");
        held[held_count++ % MOST] = (struct range){event->data, event->size};
    }
    return status;
}

void zt_load_release(const zt_load *load, const zt_load_event *event)
{
    void (*release)(const zt_load *, const zt_load_event *);
    struct range given = {event->data, event->size};
    size_t i = 0;

    for (size_t copy = made; copy < begun; copy++)
        tell(overlap(copies[copy % MOST].from, given), "released before the event of its copy");
    while (i < held_count && held[i].at != given.at)
        i++;
    tell(i == held_count, "released an event that was not held");
    if (i < held_count)
        held[i] = held[--held_count];
    FIND(release, "zt_load_release");
    release(load, event);
}

zt_status zt_load_finish(zt_load *load, zt_read_stats *stats)
{
    zt_status (*finish)(zt_load *, zt_read_stats *);

    tell(made < begun, "the load ends while copies are in progress");
    loads -= load != NULL;
    held_count = 0;
    FIND(finish, "zt_load_finish");
    return finish(load, stats);
}

__attribute__((destructor)) static void at_the_end(void)
{
    tell(resources != 0 || loads != 0, "a resource of the device, or a load, was not freed");
    fflush(NULL);
    if (begun)
        fprintf(stderr, "cuda_stub: %zu bytes by %zu copies, %zu wrong\n", bytes, made, wrong);
    if (wrong)
        _exit(99);
}
