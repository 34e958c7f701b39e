/* Common code of read.c and write.c: prints lines that are the same on every platform. */
#ifndef PRINT_H
#define PRINT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ztensor_advanced.h"

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

/* The defaults: zeros except struct_size. */
#define INIT(x) (memset(&(x), 0, sizeof(x)), (void)((x).struct_size = sizeof(x)))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static inline void *memory_of(size_t size)
{
    void *memory = calloc(size + 1, 1);
    if (!memory) {
        fprintf(stderr, "cannot allocate %lu bytes\n", (unsigned long)size);
        exit(1);
    }
    return memory;
}

/* FNV-1a. */
static inline uint64_t hash_of(const void *data, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)data;
    uint64_t hash = 14695981039346656037ull;
    size_t i;
    for (i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211ull;
    return hash;
}

/* Hashes elements of `width` bytes, in the host's byte order, as little-endian elements. An incomplete
 * element at the end is hashed unchanged. */
static inline uint64_t hash_of_elements(const void *data, size_t size, size_t width)
{
    const uint16_t one = 1;
    const unsigned char *bytes = (const unsigned char *)data;
    unsigned char *swapped;
    uint64_t hash;
    const size_t whole = size - size % width;
    size_t i;
    if (width < 2 || *(const unsigned char *)&one == 1)
        return hash_of(data, size);
    swapped = (unsigned char *)memory_of(size);
    for (i = 0; i < size; i++)
        swapped[i] = bytes[i < whole ? i / width * width + (width - 1 - i % width) : i];
    hash = hash_of(swapped, size);
    free(swapped);
    return hash;
}

/* Lines end with \n on every platform. */
static inline void print_plain_lines(void)
{
#ifdef _WIN32
    _setmode(_fileno(stdout), _O_BINARY);
#endif
}

/* Calls `one` with each path in standard input, below folder. */
static inline void each_path(const char *folder, void (*one)(const char *path, const char *name))
{
    static char name[2048], path[4096];
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\r\n")] = 0;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        one(path, name);
    }
}

#endif
