/* Whether a batch with ZT_DIRECT_AUTO must use direct reads for a file, from what the kernel reports. Needs
 * _GNU_SOURCE before the first header. */
#ifndef RESIDENCE_H
#define RESIDENCE_H

#include "support.h"

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The number of pages of the file, and of those in memory; 0 if it is not reported. */
static inline int count_pages(const char *path, size_t *there, size_t *all)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size, capacity, i;
    int fd = open(path, O_RDONLY), reported;
    unsigned char *pages;
    void *map;
    REQUIRE(fd >= 0);
    size = (size_t)lseek(fd, 0, SEEK_END);
    map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    *all = (size + page - 1) / page;
    *there = 0;
    capacity = size / 4096 + 1; /* an emulator with larger pages may report the host's */
    pages = (unsigned char *)malloc(capacity);
    REQUIRE(map != MAP_FAILED && pages != NULL);
    memset(pages, 0xfe, capacity);
    reported = mincore(map, size, pages) == 0;
    for (i = *all; i < capacity; i++)
        reported &= pages[i] == 0xfe;
    for (i = 0; i < *all; i++)
        *there += pages[i] & 1;
    munmap(map, size);
    free(pages);
    return reported;
}

/* By number and position: the C library's struct may not have these fields yet. */
static inline const char *why_no_direct_reads(const char *path)
{
#if defined(SYS_statx)
    enum { DIOALIGN = 0x2000, MASK_AT = 0, MEMORY_AT = 152 / 4, OFFSET_AT = 156 / 4 };
    uint32_t reported[64];
    memset(reported, 0, sizeof reported);
    if (syscall(SYS_statx, AT_FDCWD, path, 0, DIOALIGN, reported) != 0 || !(reported[MASK_AT] & DIOALIGN))
        return "the kernel does not report whether the file supports direct reads";
    if (reported[MEMORY_AT] == 0 || reported[OFFSET_AT] == 0)
        return "the file system does not support direct reads";
    if (reported[MEMORY_AT] > 4096 || reported[OFFSET_AT] > 4096)
        return "direct reads must be aligned to more than a page here";
    return NULL;
#else
    (void)path;
    return "the kernel has no query for direct reads";
#endif
}

/* Evicts the file from the page cache. Returns NULL if nearly all of it is evicted and it supports direct
 * reads, so that a batch must use them; otherwise the reason. */
static inline const char *evict(const char *path)
{
    static char space[1 << 20];
    size_t there, all;
    int fd = open(path, O_RDONLY), asked;
    REQUIRE(fd >= 0);
    while (read(fd, space, sizeof space) > 0)
        ; /* pages that are still being read are not evicted or counted: this waits for them */
    asked = fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    close(fd);
    if (!asked || !count_pages(path, &there, &all))
        return "the kernel does not release the file's pages, or does not report them";
    if (there > all / 16)
        return "pages of the file stay in memory";
    return why_no_direct_reads(path);
}

/* Reads of this descriptor do not read ahead. */
static inline int open_without_readahead(const char *path)
{
    int fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
    return fd;
}

/* Reads some bytes of an evicted file into memory again, and nothing else. Returns NULL or the reason for a
 * failure. */
static inline const char *bring_back(const char *path, uint64_t at, size_t size)
{
    static char space[65536];
    size_t there, all;
    int fd = open_without_readahead(path);
    for (; size >= sizeof space; size -= sizeof space, at += sizeof space)
        REQUIRE(pread(fd, space, sizeof space, (off_t)at) == (ssize_t)sizeof space);
    close(fd);
    if (!count_pages(path, &there, &all) || there < all / 5 || there > all / 2)
        return "the kernel reads much more or much less than was requested";
    return NULL;
}
#else
static inline const char *evict(const char *path)
{
    (void)path;
    return "only Linux reports what is in memory here";
}

static inline const char *bring_back(const char *path, uint64_t at, size_t size)
{
    (void)at, (void)size;
    return evict(path);
}
#endif

/* Whether the system reports if bytes of a file are in memory (preadv2). Emulators do not. A compressed
 * component that is read, not mapped, is then decoded by one thread. */
static inline int reports_what_is_cached(const char *path)
{
#if defined(__linux__) && defined(SYS_preadv2)
    char byte = 0;
    struct iovec place;
    int fd = open(path, O_RDONLY);
    long count;
    place.iov_base = &byte;
    place.iov_len = 1;
    count = syscall(SYS_preadv2, fd, &place, 1L, 0L, 0L, 8L /* RWF_NOWAIT */);
    close(fd);
    return count == 1;
#else
    (void)path;
    return 0;
#endif
}

#endif
