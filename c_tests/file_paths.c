/* Paths that are not regular files, and full disks: each fails at once with a status, and no file is left. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unshare */
#endif
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "writing.h"

static const zt_mode modes[] = {ZT_MODE_MAP, ZT_MODE_READ};

static void refused(const char *path, zt_status want)
{
    size_t i;
    for (i = 0; i < COUNT(modes); i++) {
        zt_open_options o;
        zt_file *file = NULL;
        zt_status status;
        INIT(o);
        o.mode = modes[i];
        status = zt_open(path, &o, &file);
        if (!CHECK(status == want && file == NULL))
            fprintf(stderr, "    %.60s: %s\n", path, zt_status_name(status));
        CHECK(strlen(zt_last_error()) > 0);
    }
}

static void odd_sources(void)
{
    static char longest[5001];
    const char *fifo = scratch_path("fifo"), *loop = scratch_path("loop"), *dangling = scratch_path("dangling");
    const char *odd = scratch_path("odd-\xff\xfe.zt"), *link = scratch_path("link.zt");
    size_t size;
    unsigned char *whole = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &size);
    memset(longest, 'x', sizeof longest - 1);
    REQUIRE(mkfifo(fifo, 0600) == 0);
    REQUIRE(symlink(loop, loop) == 0 && symlink("nowhere", dangling) == 0);
    alarm(20); /* must not wait for a writer of the FIFO */
    refused("", ZT_ERROR_NO_FILE), refused(longest, ZT_ERROR_IO), refused("/", ZT_ERROR_IO), refused(fifo, ZT_ERROR_IO);
    refused(loop, ZT_ERROR_IO), refused(dangling, ZT_ERROR_NO_FILE);
    refused("/dev/null", ZT_ERROR_IO), refused("/dev/zero", ZT_ERROR_IO);
    refused("/proc/self/status", ZT_ERROR_UNKNOWN_CONTAINER); /* its declared size is 0 bytes */
    alarm(0);
    write_file(odd, whole, size);
    REQUIRE(symlink(odd, link) == 0);
    zt_close(open_path(odd)), zt_close(open_path(link));
    remove(fifo), remove(loop), remove(dangling), remove(odd), remove(link);
    free(whole);
}

static zt_status write_a_megabyte(const char *path)
{
    static unsigned char data[1 << 20];
    const uint64_t shape = sizeof data;
    zt_writer *w = NULL;
    zt_status status = zt_write_create(path, NULL, &w);
    if (status != ZT_OK)
        return status;
    status = zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data);
    if (status != ZT_OK) {
        zt_write_abort(w);
        return status;
    }
    return zt_write_finish(w, NULL);
}

static void odd_destinations(void)
{
    const char *file = scratch_path("target.zt"), *link = scratch_path("to-target.zt");
    struct stat about;
    CHECK_STATUS(write_a_megabyte("/"), ZT_ERROR_IO);
    CHECK_STATUS(write_a_megabyte("/dev/full"), ZT_ERROR_IO);
    CHECK_STATUS(write_a_megabyte("/dev/null"), ZT_ERROR_IO);
    CHECK_STATUS(write_a_megabyte(scratch_path("missing/file.zt")), ZT_ERROR_NO_FILE);
    REQUIRE(stat("/dev/full", &about) == 0 && S_ISCHR(about.st_mode));
    write_file(file, "old", 3);
    REQUIRE(symlink(file, link) == 0);
    CHECK_STATUS(write_a_megabyte(link), ZT_OK);
    CHECK(lstat(link, &about) == 0 && S_ISLNK(about.st_mode));
    zt_close(open_path(file));
    REQUIRE(chmod(file, 0400) == 0);
    CHECK_STATUS(write_a_megabyte(file), ZT_ERROR_IO);
    zt_close(open_path(file));
    remove(link), remove(file);
}

/* In a child with its own limits; SIGXFSZ has its default action, which ends the process. */
static int in_a_child(int (*body)(const char *), const char *path)
{
    int status = 0;
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(body(path));
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int past_the_size(const char *path)
{
    const uint64_t small = 200000;
    static unsigned char data[200000];
    struct rlimit limit = {100000, 100000};
    zt_writer *w = NULL;
    signal(SIGXFSZ, SIG_DFL);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || write_a_megabyte(path) != ZT_ERROR_IO)
        return 1;
    if (zt_write_append(path, NULL, &w) != ZT_OK)
        return 2;
    if (zt_write_dense(w, "more", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &small, 1, data, sizeof data) == ZT_OK)
        return zt_write_finish(w, NULL) == ZT_ERROR_IO ? 0 : 3;
    zt_write_abort(w);
    return 0;
}

static int without_descriptors(const char *path)
{
    struct rlimit limit = {3, 3};
    zt_file *file = NULL;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return getenv("VALGRIND") ? 0 : 1; /* valgrind keeps its own descriptors */
    return zt_open(path, NULL, &file) == ZT_ERROR_IO && write_a_megabyte(path) == ZT_ERROR_IO ? 0 : 2;
}

static int as_nobody(const char *path)
{
    zt_file *file = NULL;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 0; /* not root, so it cannot be tested */
    return zt_open(path, NULL, &file) == ZT_ERROR_IO && write_a_megabyte(path) == ZT_ERROR_IO ? 0 : 1;
}

static size_t files_in(const char *folder)
{
    size_t count = 0;
    DIR *listed = opendir(folder);
    while (listed && readdir(listed))
        count++;
    if (listed)
        closedir(listed);
    return count - 2; /* without . and .. */
}

enum { FULL_DISK_SKIPPED = 77 };

/* A disk of 800 KiB and a file of one megabyte, with every way to write a file. Then one that fits. */
static int full_disk(const char *folder)
{
    static unsigned char data[1 << 20];
    const uint64_t shape = sizeof data, small = 100000;
    char path[4096];
    size_t size, variant;
    unsigned char *old;
    zt_write_options o;
    zt_writer *w = NULL;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=800k") != 0)
        return FULL_DISK_SKIPPED;
    snprintf(path, sizeof path, "%s/file.zt", folder);
    fill_any(data, sizeof data, 5);
    if (zt_write_create(path, NULL, &w) != ZT_OK ||
        zt_write_dense(w, "old", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &small, 1, data, 100000) != ZT_OK ||
        zt_write_finish(w, NULL) != ZT_OK)
        return 1;
    old = read_file(path, &size);
    for (variant = 0; variant < 8; variant++) {
        zt_status status;
        w = NULL;
        INIT(o);
        o.durable = (variant & 1) != 0;
        o.encoding = variant & 2 ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW;
        status = variant & 4 ? zt_write_append(path, &o, &w) : zt_write_create(path, &o, &w);
        if (status != ZT_OK)
            return 2;
        status = zt_write_dense(w, "new", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, sizeof data);
        if (status == ZT_OK)
            status = zt_write_finish(w, NULL);
        else
            zt_write_abort(w);
        if (status != ZT_ERROR_IO || strstr(zt_last_error(), "No space left") == NULL || !file_is(path, old, size) ||
            files_in(folder) != 1)
            return 10 + (int)variant;
    }
    if (mount("none", folder, "tmpfs", MS_REMOUNT, "size=4m") != 0 || write_a_megabyte(path) != ZT_OK)
        return 3;
    zt_close(open_path(path));
    free(old);
    return check_failures != 0;
}

static void a_full_disk(void)
{
    const char *folder = scratch_path("full-disk");
    int ended;
    REQUIRE(mkdir(folder, 0700) == 0);
    ended = in_a_child(full_disk, folder);
    if (ended == FULL_DISK_SKIPPED)
        printf("file_paths: a full disk: skipped: this process must not mount one\n");
    else
        CHECK_U64(ended, 0);
    rmdir(folder);
}

static void limits(void)
{
    const char *path = scratch_path("limited.zt");
    size_t size;
    unsigned char *old = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &size);
    write_file(path, old, size);
    REQUIRE(chmod(path, 0600) == 0);
    CHECK_U64(in_a_child(past_the_size, path), 0);
    CHECK(file_is(path, old, size));
    CHECK_U64(in_a_child(without_descriptors, path), 0);
    CHECK(file_is(path, old, size));
    CHECK_U64(in_a_child(as_nobody, path), 0);
    CHECK(file_is(path, old, size));
    remove(path);
    free(old);
}

/* A component after 4 GiB of zeros, read in both modes and appended to. */
static void beyond_four_gibibytes(void)
{
    static const char manifest[] = "\xa2gversione1.2.0gobjects\xa1" "aa\xa3" "eshape\x81\x18\x40" "fformatedense" "jcomponents\xa1"
                                   "ddata\xa3" "edtypebu8" "foffset\x1b\0\0\0\x01\0\0\x10\0" "flength\x18\x40";
    const char *path = scratch_path("far.zt");
    unsigned char data[64], got[64], size[8] = {0};
    const uint64_t small = 64;
    zt_writer *w = NULL;
    size_t i;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    fill_any(data, sizeof data, 3);
    size[0] = (unsigned char)(sizeof manifest - 1);
    REQUIRE(fd >= 0 && pwrite(fd, "ZTEN1000", 8, 0) == 8);
    REQUIRE(pwrite(fd, data, 64, 0x100001000) == 64);
    REQUIRE(pwrite(fd, manifest, sizeof manifest - 1, 0x100001040) == (ssize_t)sizeof manifest - 1);
    REQUIRE(pwrite(fd, size, 8, 0x100001040 + (off_t)sizeof manifest - 1) == 8);
    REQUIRE(pwrite(fd, "ZTEN1000", 8, 0x100001048 + (off_t)sizeof manifest - 1) == 8);
    close(fd);
    REQUIRE(CHECK_STATUS(zt_write_append(path, NULL, &w), ZT_OK));
    CHECK_STATUS(zt_write_dense(w, "b", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &small, 1, data, 64), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    for (i = 0; i < COUNT(modes); i++) {
        zt_open_options o;
        zt_file *file = NULL;
        INIT(o);
        o.mode = modes[i];
        if (o.mode == ZT_MODE_MAP && !has_large_mappings()) {
            CHECK_STATUS(zt_open(path, &o, &file), ZT_ERROR_UNSUPPORTED);
            CHECK(strstr(zt_last_error(), "ZT_MODE_READ, or ZT_MODE_AUTO") != NULL);
            o.mode = ZT_MODE_AUTO;
        }
        REQUIRE(CHECK_STATUS(zt_open(path, &o, &file), ZT_OK));
        CHECK_STATUS(zt_component_read(component_of(file, "a", "data"), got, 64), ZT_OK);
        CHECK(memcmp(got, data, 64) == 0);
        memset(got, 0, 64);
        CHECK_STATUS(zt_component_read(component_of(file, "b", "data"), got, 64), ZT_OK);
        CHECK(memcmp(got, data, 64) == 0 && component_info(component_of(file, "b", "data")).offset > 0x100001000);
        zt_close(file);
    }
    remove(path);
}

int main(void)
{
    odd_sources();
    odd_destinations();
    limits();
    a_full_disk();
    beyond_four_gibibytes();
    return check_done("file_paths");
}
