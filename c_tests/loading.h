/* Common code of the tests of loads: a file of tensors with computed bytes, requests for them, and a
 * consumer. */
#ifndef LOADING_H
#define LOADING_H

#include "writing.h"

/* The byte at an offset of tensor n. */
static inline unsigned char byte_of(size_t n, size_t at)
{
    return (unsigned char)((at * 7 + (at >> 8) * 13 + n * 31) & 0xff);
}

static inline void fill_tensor(unsigned char *bytes, size_t n, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++)
        bytes[i] = byte_of(n, i);
}

/* Writes tensors t0, t1, ... of these sizes. */
static inline void write_tensors(const char *path, const size_t *sizes, size_t count, zt_encoding encoding, zt_digest digest)
{
    zt_write_options options;
    zt_writer *writer = NULL;
    size_t i;
    INIT(options);
    options.encoding = encoding;
    options.digest = digest;
    REQUIRE(zt_write_create(path, &options, &writer) == ZT_OK);
    for (i = 0; i < count; i++) {
        unsigned char *bytes = (unsigned char *)malloc(sizes[i] + 1);
        uint64_t shape[1];
        char name[32];
        REQUIRE(bytes != NULL);
        shape[0] = sizes[i];
        fill_tensor(bytes, i, sizes[i]);
        snprintf(name, sizeof name, "t%lu", (unsigned long)i);
        REQUIRE(zt_write_dense(writer, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, shape, 1, bytes, sizes[i]) == ZT_OK);
        free(bytes);
    }
    REQUIRE(zt_write_finish(writer, NULL) == ZT_OK);
}

/* Requests for all objects of a file, without memory. Their tag is the object's index plus first. */
static inline size_t request_all(const zt_file *file, zt_read_request *requests, uint64_t first)
{
    size_t i, count = zt_object_count(file);
    for (i = 0; i < count; i++) {
        INIT(requests[i]);
        requests[i].component = zt_component_find(zt_object_at(file, i), "data");
        requests[i].length = ZT_WHOLE;
        requests[i].tag = first + i;
    }
    return count;
}

/* The received bytes of each tensor. */
typedef struct received {
    uint64_t bytes[512];
    unsigned ended[512], failed[512];
    size_t events, wrong;
} received;

/* Checks the bytes of an event. */
static inline void receive(received *got, const zt_load_event *event)
{
    size_t i, n = (size_t)event->tag;
    const unsigned char *bytes = (const unsigned char *)event->data;
    got->events++;
    if (n >= COUNT(got->bytes) || got->ended[n]) {
        got->wrong++;
        return;
    }
    got->ended[n] = event->last;
    if (event->kind == ZT_LOAD_KIND_FAILED) {
        got->failed[n]++;
        got->wrong += event->status == ZT_OK || event->message[0] == '\0' || !event->last;
        return;
    }
    got->wrong += event->kind != ZT_LOAD_KIND_DATA || event->status != ZT_OK || event->message[0] != '\0';
    for (i = 0; i < event->size; i++)
        if (bytes[i] != byte_of(n, (size_t)event->offset + i) && !got->wrong++)
            fprintf(stderr, "tensor %lu: byte %lu of %lu at %lu, slot %u\n", (unsigned long)n, (unsigned long)i, (unsigned long)event->size, (unsigned long)event->offset, event->slot);
    got->bytes[n] += event->size;
}

/* Takes and releases all events of a load. Returns how it ended. */
static inline zt_status drain(zt_load *load, received *got)
{
    zt_load_event event;
    for (;;) {
        INIT(event);
        REQUIRE(zt_load_next(load, -1, &event) == ZT_OK);
        if (event.kind == ZT_LOAD_KIND_DONE)
            return event.status;
        receive(got, &event);
        zt_load_release(load, &event);
    }
}

/* Whether each of the tensors was received completely, and nothing else. */
static inline int all_received(const received *got, const size_t *sizes, size_t count)
{
    size_t i, wrong = got->wrong;
    for (i = 0; i < count; i++)
        wrong += got->bytes[i] != sizes[i] || !got->ended[i] || got->failed[i];
    if (wrong)
        fprintf(stderr, "%lu of %lu wrong, %lu events\n", (unsigned long)wrong, (unsigned long)count, (unsigned long)got->events);
    return wrong == 0;
}

/* A load that was started. */
static inline zt_load *start_load(const zt_read_request *requests, size_t count, const zt_load_options *options)
{
    zt_load *load = NULL;
    CHECK_STATUS(zt_load_start(requests, count, options, &load), ZT_OK);
    REQUIRE(load != NULL);
    return load;
}

#endif
