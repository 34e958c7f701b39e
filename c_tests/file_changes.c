/* A file that is truncated, overwritten or replaced while it is open. Without a mapping that is an error or
 * different bytes, never a signal. A mapping cannot guarantee that; the test shows the difference. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "writing.h"

enum { SIZE = 1 << 20 };
static unsigned char bytes[SIZE], got[SIZE];
static const char *path;

static void make(zt_encoding encoding)
{
    const uint64_t shape = SIZE;
    zt_write_options o;
    zt_writer *w = NULL;
    INIT(o);
    o.encoding = encoding, o.digest = ZT_DIGEST_CRC32C, o.frame_size = 1 << 16;
    REQUIRE(zt_write_create(path, &o, &w) == ZT_OK);
    REQUIRE(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, bytes, SIZE) == ZT_OK);
    REQUIRE(zt_write_finish(w, NULL) == ZT_OK);
}

static zt_file *open_mode(zt_mode mode)
{
    zt_open_options o;
    zt_file *file = NULL;
    INIT(o);
    o.mode = mode;
    REQUIRE(CHECK_STATUS(zt_open(path, &o, &file), ZT_OK));
    return file;
}

/* Every way to read the bytes fails with one of two statuses. */
static void all_fail(const zt_file *file, zt_status one, zt_status other)
{
    const zt_component *c = component_of(file, "a", "data");
    zt_read_options o;
    zt_read_request r;
    zt_buffer *buffer = NULL;
    zt_tensor t;
    zt_status s[6];
    size_t i;
    INIT(o), INIT(r), INIT(t);
    o.threads = 2, o.verify = 1;
    r.component = c, r.length = ZT_WHOLE, r.dst = got, r.dst_size = SIZE;
    s[0] = verify_component(file, c);
    s[1] = zt_read_batch(file, &r, 1, &o, NULL);
    s[2] = zt_verify(file, NULL, NULL);
    s[3] = zt_component_read(c, got, SIZE);
    s[4] = zt_component_load(c, NULL, &buffer);
    s[5] = zt_tensor_find(file, "a", &t);
    for (i = 0; i < (one == ZT_ERROR_IO ? COUNT(s) : 3); i++) {
        if (!CHECK(s[i] == one || s[i] == other))
            fprintf(stderr, "    way %lu: %s\n", (unsigned long)i, zt_status_name(s[i]));
    }
    CHECK(strlen(zt_last_error()) > 0);
    zt_buffer_free(buffer);
}

static void cut_short(zt_encoding encoding)
{
    zt_file *file;
    make(encoding);
    file = open_mode(ZT_MODE_READ);
    REQUIRE(truncate(path, 4096) == 0);
    all_fail(file, ZT_ERROR_IO, ZT_ERROR_IO);
    zt_close(file);
}

static void overwritten(zt_encoding encoding)
{
    const struct timespec tick = {0, 30000000};
    zt_file *file;
    int fd;
    make(encoding);
    file = open_mode(ZT_MODE_READ);
    fd = open(path, O_WRONLY);
    nanosleep(&tick, NULL); /* for the file system's clock */
    REQUIRE(fd >= 0 && pwrite(fd, "overwritten", 11, (off_t)component_info(component_of(file, "a", "data")).offset + 9) == 11);
    close(fd);
    all_fail(file, ZT_ERROR_IO, ZT_ERROR_IO);
    zt_close(file);
}

/* Another file with the name, or a longer one: the open file does not change. */
static void replaced(zt_mode mode)
{
    zt_file *file;
    FILE *f;
    make(ZT_ENCODING_RAW);
    file = open_mode(mode);
    f = fopen(path, "ab");
    REQUIRE(f != NULL && fwrite("more", 1, 4, f) == 4 && fclose(f) == 0);
    CHECK_STATUS(zt_component_read(component_of(file, "a", "data"), got, SIZE), ZT_OK);
    CHECK(memcmp(got, bytes, SIZE) == 0);
    make(ZT_ENCODING_ZSTD); /* with a rename */
    memset(got, 0, SIZE);
    CHECK_STATUS(zt_component_read(component_of(file, "a", "data"), got, SIZE), ZT_OK);
    CHECK(memcmp(got, bytes, SIZE) == 0);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

/* In a child: opens the file, sees it truncated, and reads its last byte. */
static int child_status(zt_mode mode)
{
    int status = 0;
    pid_t child;
    make(ZT_ENCODING_RAW);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        zt_file *file = open_mode(mode);
        const zt_component *c = component_of(file, "a", "data");
        const void *borrowed = NULL;
        size_t size;
        int fine;
        if (mode == ZT_MODE_MAP)
            REQUIRE(zt_component_ptr(c, &borrowed, &size) == ZT_OK);
        REQUIRE(truncate(path, 4096) == 0);
        if (borrowed)
            fine = ((const volatile unsigned char *)borrowed)[SIZE - 1] == bytes[SIZE - 1];
        else
            fine = zt_component_read(c, got, SIZE) == ZT_ERROR_IO;
        zt_close(file);
        _exit(fine ? 0 : 1);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

/* A forked child can use an open file, with its own threads. Parent and child close it separately. */
static int in_a_child(zt_mode mode, zt_encoding encoding)
{
    zt_open_options o;
    zt_file *file;
    const zt_component *c;
    int status = 0;
    pid_t child;
    make(encoding);
    INIT(o);
    o.mode = mode, o.threads = 4;
    REQUIRE(zt_open(path, &o, &file) == ZT_OK);
    c = component_of(file, "a", "data");
    CHECK_STATUS(zt_component_read(c, got, SIZE), ZT_OK); /* this process has started threads before */
    fflush(NULL);
    child = fork();
    if (child == 0) {
        zt_tensor t;
        int fine;
        INIT(t);
        memset(got, 0, SIZE);
        fine = zt_component_read(c, got, SIZE) == ZT_OK && memcmp(got, bytes, SIZE) == 0 && zt_verify(file, NULL, NULL) == ZT_OK &&
               zt_tensor_find(file, "a", &t) == ZT_OK && memcmp(t.data, bytes, SIZE) == 0;
        zt_close(file);
        _exit(fine ? 0 : 1);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    memset(got, 0, SIZE);
    CHECK_STATUS(zt_component_read(c, got, SIZE), ZT_OK);
    CHECK(memcmp(got, bytes, SIZE) == 0);
    zt_close(file);
    return status;
}

int main(void)
{
    int status;
    path = scratch_path("changing.zt");
    fill_any(bytes, SIZE, 7);
    cut_short(ZT_ENCODING_RAW), cut_short(ZT_ENCODING_ZSTD);
    overwritten(ZT_ENCODING_RAW), overwritten(ZT_ENCODING_ZSTD);
    replaced(ZT_MODE_READ), replaced(ZT_MODE_MAP);
    status = child_status(ZT_MODE_READ);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = child_status(ZT_MODE_MAP);
    CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0);
    CHECK(in_a_child(ZT_MODE_READ, ZT_ENCODING_ZSTD) == 0 && in_a_child(ZT_MODE_MAP, ZT_ENCODING_RAW) == 0);
    remove(path);
    return check_done("file_changes");
}
