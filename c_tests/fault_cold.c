/* Every allocation fails in turn, once alone and once with all that follow, in a process that has not called the library
 * before: what it does once and for all, and each thread's own memory, may be what is missing. Also where the call fails
 * anyway, and says so without memory. The process lives, prints nothing, and the status is the usual one or
 * ZT_ERROR_OUT_OF_MEMORY. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "entry_points.h"

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

static int armed, persistent;
static long left, refused;

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

/* The program's own take the place of the C library's, for the library under test, too. */
void *malloc(size_t size) NOTHROW
{
    return refuse() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) NOTHROW
{
    return refuse() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) NOTHROW
{
    return refuse() ? NULL : __libc_realloc(memory, size);
}

int posix_memalign(void **place, size_t alignment, size_t size) NOTHROW
{
    void *memory = refuse() ? NULL : __libc_memalign(alignment, size);
    if (memory)
        *place = memory;
    return memory ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) NOTHROW
{
    return refuse() ? NULL : __libc_memalign(alignment, size);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Mappings, too; elsewhere the system call has another form. */
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) NOTHROW
{
    return refuse() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) NOTHROW
{
    return refuse() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
#endif
#ifdef __cplusplus
}
#endif

enum { HIT = 64, BAD = 128 };
static FILE *printed; /* what a child prints goes there */

/* In a child: the status, whether an allocation failed, and whether the message is missing. */
static int try_one(const struct entry_scene *s, long n)
{
    zt_status status;
    const char *message;
    dup2(fileno(printed), 1), dup2(fileno(printed), 2);
    left = n;
    __atomic_store_n(&armed, 1, __ATOMIC_SEQ_CST);
    status = s->run();
    __atomic_store_n(&armed, 0, __ATOMIC_SEQ_CST);
    message = zt_last_error();
    return (int)status | (refused ? HIT : 0) | (status != ZT_OK && strlen(message) < 10 ? BAD : 0);
}

/* 0 when it went so far that no allocation failed any more. */
static int fails_well(const struct entry_scene *s, long n)
{
    int how = 0, good;
    long size;
    pid_t child;
    entry_reset();
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(try_one(s, n));
    REQUIRE(child > 0 && waitpid(child, &how, 0) == child);
    good = CHECK(WIFEXITED(how));
    if (good) {
        zt_status status = WEXITSTATUS(how) & 63;
        good &= CHECK(status == s->status || (WEXITSTATUS(how) & HIT && status == ZT_ERROR_OUT_OF_MEMORY));
        good &= CHECK(!(WEXITSTATUS(how) & BAD));
        if (!good)
            fprintf(stderr, "    status %s\n", zt_status_name(status));
    } else {
        fprintf(stderr, "    signal %d\n", WTERMSIG(how));
    }
    fseek(printed, 0, SEEK_END);
    size = ftell(printed);
    if (!CHECK(size == 0)) {
        char line[400];
        rewind(printed);
        while (fgets(line, sizeof line, printed))
            fprintf(stderr, "    printed: %s\n", line);
        good = 0;
        rewind(printed);
        REQUIRE(ftruncate(fileno(printed), 0) == 0);
    }
    if (!good)
        fprintf(stderr, "    in %s, allocation %ld%s\n", s->name, n, persistent ? " and all after it" : "");
    return !good || WEXITSTATUS(how) & HIT;
}

/* A mapping that the system has no address space for: what it says of that needs no memory either. */
static zt_status no_address_space(void)
{
    struct rlimit none = {1 << 20, 1 << 20};
    zt_file *file = NULL;
    if (setrlimit(RLIMIT_AS, &none) != 0)
        return ZT_ERROR_INTERNAL;
    return zt_open(entry_good, NULL, &file);
}

int main(void)
{
    /* Each is a process: a sample, of which ZT_FAULT_STEP takes a part again. ZT_COLD_STEP=1 has them all, in a minute. */
    const char *all = getenv("ZT_COLD_STEP"), *part = getenv("ZT_FAULT_STEP");
    long step = all ? atol(all) : 17 * (part && atol(part) > 0 ? atol(part) : 1), faults = 0;
    size_t i;
    int how = 0;
    pid_t child;
    entry_begin("fault_cold");
    printed = tmpfile();
    REQUIRE(printed != NULL && step > 0);
    fflush(NULL);
    child = fork(); /* so that this process does not call the library */
    if (child == 0) {
        entry_files();
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    entry_read_good();
    for (persistent = 0; persistent < 2; persistent++) {
        static const struct entry_scene cramped = {"no_address_space", no_address_space, ZT_ERROR_OUT_OF_MEMORY};
        long of_cramped = 1;
        while (of_cramped < 1000 && check_failures < 20 && fails_well(&cramped, of_cramped))
            of_cramped++;
        CHECK(of_cramped > 3 && of_cramped < 1000);
        for (i = 0; i < COUNT(entry_scenes) && check_failures < 20; i++) {
            /* The first ones are what differs from a process that is under way. */
            long n = 1, most = 20000;
            while (n < most && check_failures < 20 && fails_well(&entry_scenes[i], n))
                faults++, n += n < 8 ? 1 : step;
            CHECK(n < most);
            if (getenv("ZT_TEST_VERBOSE"))
                fprintf(stderr, "%s%s: %ld allocations\n", entry_scenes[i].name, persistent ? ", from then on" : "", n);
        }
    }
    CHECK(faults > 200);
    printf("fault_cold: %ld failing allocations\n", faults);
    fclose(printed);
    entry_end();
    return check_done("fault_cold");
}
