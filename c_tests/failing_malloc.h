/* Replaces the allocation functions of the C library, also for the library under test. While `armed`, the
 * allocation at which `left` is 1 fails; with `persistent`, all later ones fail too. `live` counts
 * allocations that are not freed. */
#ifndef ZTENSOR_TEST_FAILING_MALLOC_H
#define ZTENSOR_TEST_FAILING_MALLOC_H

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
#define NOTHROW throw()
extern "C" {
#else
#define NOTHROW
#endif
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

/* Several threads count: uses the compiler's atomics, which work in C99 and C++17. */
static int armed, persistent;
static long left, live, refused;

static int refuse(void)
{
    long before;
    if (!__atomic_load_n(&armed, __ATOMIC_RELAXED))
        return 0;
    before = __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED);
    if (before == 1 || (persistent && before < 1)) {
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
        errno = ENOMEM;
        return 1;
    }
    return 0;
}

static void *counted(void *memory)
{
    if (memory)
        __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return memory;
}

void *malloc(size_t size) NOTHROW
{
    return refuse() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) NOTHROW
{
    return refuse() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size) NOTHROW
{
    if (refuse())
        return NULL;
    return memory ? __libc_realloc(memory, size) : counted(__libc_realloc(memory, size));
}

int posix_memalign(void **place, size_t alignment, size_t size) NOTHROW
{
    void *memory = refuse() ? NULL : counted(__libc_memalign(alignment, size));
    if (memory)
        *place = memory;
    return memory ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) NOTHROW
{
    return refuse() ? NULL : counted(__libc_memalign(alignment, size));
}

void free(void *memory) NOTHROW
{
    if (memory)
        __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    __libc_free(memory);
}

/* On other systems the system call has a different form. */
#if defined(__x86_64__) || defined(__aarch64__)
/* Mappings without a file are memory, too. Mappings of files fail in the same way. */
static void *map(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    if (refuse())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

#if !defined(_FILE_OFFSET_BITS) || _FILE_OFFSET_BITS != 64 /* otherwise it is another name for mmap64 */
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) NOTHROW
{
    return map(at, size, protection, flags, fd, offset);
}
#endif

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) NOTHROW
{
    return map(at, size, protection, flags, fd, offset);
}
#endif
#ifdef __cplusplus
}
#endif

#endif
