/* System calls that fail when a test asks. The program defines the functions of libc, which replaces them for
 * the shared and for the static library. If disarmed, they only call libc. Needs _GNU_SOURCE before the first
 * header. Linux only. */
#ifndef FAULTS_H
#define FAULTS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "support.h"

/* System calls of the library for files (see nm -D). */
#define CALLS(X) \
    X(OPEN, "open64") X(READ, "read") X(PREAD, "pread64") X(WRITE, "write") X(WRITEV, "writev") X(PWRITE, "pwrite64") \
    X(FSYNC, "fsync") X(FDATASYNC, "fdatasync") X(FTRUNCATE, "ftruncate64") X(LSEEK, "lseek64") X(RENAME, "rename") \
    X(UNLINK, "unlink") X(CHMOD, "chmod") X(FCHMOD, "fchmod") X(STATX, "statx") X(STAT, "stat64") X(FSTAT, "fstat64") \
    X(LSTAT, "lstat64") X(REALPATH, "realpath") X(READLINK, "readlink") X(MMAP, "mmap64") X(MADVISE, "madvise") \
    X(FADVISE, "posix_fadvise64") X(DUP, "fcntl") X(FALLOCATE, "fallocate64") X(COPY, "copy_file_range") \
    X(SENDFILE, "sendfile64") X(OPENAT, "openat64") X(PREADV, "preadv64")
#define CALL_ENUM(name, text) CALL_##name,
#define CALL_TEXT(name, text) text,
enum { CALLS(CALL_ENUM) CALL_COUNT };
static const char *const call_names[] = {CALLS(CALL_TEXT) NULL};
#define BIT(name) (1ul << CALL_##name)
#define ANY_CALL (BIT(PREADV) * 2 - 1)
#define READ_CALLS (BIT(READ) | BIT(PREAD) | BIT(PREADV))
#define WRITE_CALLS (BIT(WRITE) | BIT(WRITEV) | BIT(PWRITE) | BIT(COPY) | BIT(SENDFILE))

/* A kind of failure: an error number, half of the requested size, or nothing. */
enum { FAIL_ERRNO, FAIL_SHORT, FAIL_ZERO };
static const struct fault_kind {
    const char *name;
    int effect, number;
    unsigned long calls;  /* calls that can fail in this way */
    int lasting;          /* that call and all later ones fail */
    int hidden;           /* the caller must not notice it */
    int direct;           /* only for direct writes and opens for them */
} fault_kinds[] = {
    {"EIO", FAIL_ERRNO, EIO, ANY_CALL, 0, 0, 0},
    {"ENOSPC", FAIL_ERRNO, ENOSPC, ANY_CALL & ~READ_CALLS, 0, 0, 0},
    {"EAGAIN", FAIL_ERRNO, EAGAIN, ANY_CALL, 0, 0, 0},
    {"EINTR", FAIL_ERRNO, EINTR,
     READ_CALLS | WRITE_CALLS | BIT(OPEN) | BIT(OPENAT) | BIT(FSYNC) | BIT(FDATASYNC) | BIT(FTRUNCATE) | BIT(FALLOCATE), 0, 1, 0},
    {"a short count", FAIL_SHORT, 0, READ_CALLS | WRITE_CALLS, 0, 1, 0},
    {"a count of zero", FAIL_ZERO, 0, READ_CALLS | WRITE_CALLS, 0, 0, 0},
    {"EIO from then on", FAIL_ERRNO, EIO, ANY_CALL, 1, 0, 0},
    {"ENOSPC from then on", FAIL_ERRNO, ENOSPC, ANY_CALL & ~READ_CALLS & ~BIT(UNLINK), 1, 0, 0},
    {"short counts from then on", FAIL_SHORT, 0, READ_CALLS | WRITE_CALLS, 1, 1, 0},
    {"a refused direct write", FAIL_ERRNO, EINVAL, BIT(PWRITE), 0, 1, 1},
    {"refused direct writes from then on", FAIL_ERRNO, EINVAL, BIT(PWRITE), 1, 1, 1},
    {"no direct writes", FAIL_ERRNO, EINVAL, BIT(OPEN), 1, 1, 1},
    {"no room ahead from then on", FAIL_ERRNO, EOPNOTSUPP, BIT(FALLOCATE), 1, 1, 0},
};

static struct {
    const struct fault_kind *kind; /* NULL: disarmed */
    unsigned long n, seen;         /* the call that fails, from 1; calls so far */
    unsigned long hit;             /* number of calls that failed */
    unsigned long met[CALL_COUNT]; /* calls of each kind while armed */
} fault;

static inline void fault_arm(const struct fault_kind *kind, unsigned long n)
{
    fault.n = n;
    fault.seen = 0;
    fault.hit = 0;
    fault.kind = kind;
}

static inline void fault_disarm(void)
{
    fault.kind = NULL;
}

/* Whether this call fails, and how. */
static inline const struct fault_kind *fault_of(int call, int direct)
{
    const struct fault_kind *kind = fault.kind;
    unsigned long at;
    if (!kind)
        return NULL;
    __sync_add_and_fetch(&fault.met[call], 1);
    if (!(kind->calls >> call & 1) || (kind->direct && !direct))
        return NULL;
    at = __sync_add_and_fetch(&fault.seen, 1);
    if (at != fault.n && !(kind->lasting && at > fault.n))
        return NULL;
    __sync_or_and_fetch(&fault.hit, 1ul << call);
    errno = kind->number;
    return kind;
}

static inline const struct fault_kind *fault_now(int call)
{
    return fault_of(call, 0);
}

static inline void fault_real(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    memcpy(function, &found, sizeof found);
}

/* real_NAME: libc's function. fault_NAME: its replacement, which has libc's name for the linker. */
#ifdef __cplusplus
#define FAULT_C extern "C"
#else
#define FAULT_C
#endif
#define IN_FRONT(result, id, label, parameters) \
    FAULT_C result fault_##id parameters __asm__(label); \
    FAULT_C result fault_##id parameters
#define REAL(result, label, types) \
    static result(*real) types; \
    if (!real) \
        fault_real(&real, label)
/* A call that succeeds or fails. */
#define PLAIN(result, id, CALL, label, parameters, arguments, failed) \
    IN_FRONT(result, id, label, parameters) \
    { \
        REAL(result, label, parameters); \
        return fault_now(CALL_##CALL) ? failed : real arguments; \
    }
/* Complete blocks if the size is one: direct reads end early only at blocks. */
static inline size_t fault_half(size_t n)
{
    if (n % 4096 == 0 && n > 0)
        return n > 4096 ? n / 8192 * 4096 : n;
    return n > 1 ? n / 2 : n;
}
/* A call that transfers up to n bytes. */
#define MOVING(id, CALL, label, parameters, arguments) MOVES(id, CALL, label, parameters, arguments, 0)
#define MOVES(id, CALL, label, parameters, arguments, direct) \
    IN_FRONT(ssize_t, id, label, parameters) \
    { \
        const struct fault_kind *kind; \
        REAL(ssize_t, label, parameters); \
        kind = fault_of(CALL_##CALL, direct); \
        if (kind && kind->effect == FAIL_ERRNO) \
            return -1; \
        if (kind && kind->effect == FAIL_ZERO) \
            return 0; \
        if (kind) \
            n = fault_half((size_t)n); \
        return real arguments; \
    }

MOVING(read, READ, "read", (int fd, void *to, size_t n), (fd, to, n))
MOVING(pread, PREAD, "pread64", (int fd, void *to, size_t n, int64_t at), (fd, to, n, at))
MOVING(write, WRITE, "write", (int fd, const void *from, size_t n), (fd, from, n))
MOVES(pwrite, PWRITE, "pwrite64", (int fd, const void *from, size_t n, int64_t at), (fd, from, n, at),
      fcntl(fd, F_GETFL) & O_DIRECT)
MOVING(writev, WRITEV, "writev", (int fd, const struct iovec *from, int n), (fd, from, n))
MOVING(preadv, PREADV, "preadv64", (int fd, const struct iovec *to, int n, int64_t at), (fd, to, n, at))
MOVING(copy, COPY, "copy_file_range", (int in, int64_t *from, int out, int64_t *to, size_t n, unsigned flags),
       (in, from, out, to, n, flags))
MOVING(sendfile, SENDFILE, "sendfile64", (int out, int in, int64_t *from, size_t n), (out, in, from, n))
PLAIN(int, ftruncate, FTRUNCATE, "ftruncate64", (int fd, int64_t size), (fd, size), -1)
PLAIN(int, fallocate, FALLOCATE, "fallocate64", (int fd, int mode, int64_t at, int64_t n), (fd, mode, at, n), -1)
PLAIN(int64_t, lseek, LSEEK, "lseek64", (int fd, int64_t at, int whence), (fd, at, whence), -1)
PLAIN(int, rename, RENAME, "rename", (const char *from, const char *to), (from, to), -1)
PLAIN(int, unlink, UNLINK, "unlink", (const char *path), (path), -1)
PLAIN(int, chmod, CHMOD, "chmod", (const char *path, mode_t mode), (path, mode), -1)
PLAIN(int, fchmod, FCHMOD, "fchmod", (int fd, mode_t mode), (fd, mode), -1)
PLAIN(int, stat, STAT, "stat64", (const char *path, void *to), (path, to), -1)
PLAIN(int, lstat, LSTAT, "lstat64", (const char *path, void *to), (path, to), -1)
PLAIN(int, fstat, FSTAT, "fstat64", (int fd, void *to), (fd, to), -1)
PLAIN(int, statx, STATX, "statx", (int fd, const char *path, int flags, unsigned mask, void *to), (fd, path, flags, mask, to), -1)
PLAIN(char *, realpath, REALPATH, "realpath", (const char *path, char *to), (path, to), NULL)
PLAIN(ssize_t, readlink, READLINK, "readlink", (const char *path, char *to, size_t n), (path, to, n), -1)
PLAIN(int, madvise, MADVISE, "madvise", (void *at, size_t n, int advice), (at, n, advice), -1)
PLAIN(int, fadvise, FADVISE, "posix_fadvise64", (int fd, off_t at, off_t n, int advice), (fd, at, n, advice), errno)
PLAIN(void *, mmap, MMAP, "mmap64", (void *at, size_t n, int protection, int flags, int fd, int64_t offset),
      (at, n, protection, flags, fd, offset), (void *)-1)

/* Power cuts are not tested here: sync calls return without syncing, which is faster. */
IN_FRONT(int, fsync, "fsync", (int fd))
{
    return fault_now(CALL_FSYNC) ? -1 : fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}
IN_FRONT(int, fdatasync, "fdatasync", (int fd))
{
    return fault_now(CALL_FDATASYNC) ? -1 : fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}
IN_FRONT(int, open, "open64", (const char *path, int flags, ...))
{
    va_list more;
    mode_t mode = 0;
    REAL(int, "open64", (const char *, int, ...));
    va_start(more, flags);
    if (flags & O_CREAT)
        mode = va_arg(more, mode_t);
    va_end(more);
    return fault_of(CALL_OPEN, flags & O_DIRECT && flags & O_WRONLY) ? -1 : real(path, flags, mode);
}
IN_FRONT(int, openat, "openat64", (int folder, const char *path, int flags, ...))
{
    va_list more;
    mode_t mode = 0;
    REAL(int, "openat64", (int, const char *, int, ...));
    va_start(more, flags);
    if (flags & O_CREAT)
        mode = va_arg(more, mode_t);
    va_end(more);
    return fault_now(CALL_OPENAT) ? -1 : real(folder, path, flags, mode);
}
IN_FRONT(int, fcntl, "fcntl", (int fd, int command, ...))
{
    va_list more;
    long argument;
    REAL(int, "fcntl", (int, int, ...));
    va_start(more, command);
    argument = va_arg(more, long);
    va_end(more);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && fault_now(CALL_DUP))
        return -1;
    return real(fd, command, argument);
}

#endif
