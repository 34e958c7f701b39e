/* If the system stops a write (here with a limit on file sizes), the destination does not change. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "writing.h"

static const uint64_t shape = 1 << 20;
static unsigned char *data;

static struct rlimit usual; /* limits at the start of this process */

static void limit(rlim_t most)
{
    struct rlimit r = usual;
    r.rlim_cur = most;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &r) == 0);
}

static size_t files_in(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    REQUIRE(d != NULL);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Writes a mebibyte with a smaller limit, and returns whether it failed. */
static void fails(zt_writer *w, int give_up)
{
    zt_status status;
    REQUIRE(w != NULL);
    limit(300000);
    status = zt_write_dense(w, "large", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, (size_t)shape);
    if (status != ZT_OK) {
        CHECK_STATUS(status, ZT_ERROR_IO);
        CHECK_STATUS(zt_write_dense(w, "more", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 0, data, 1), ZT_ERROR_STATE);
    }
    if (give_up)
        zt_write_abort(w);
    else
        CHECK_STATUS(zt_write_finish(w, NULL), status == ZT_OK ? ZT_ERROR_IO : ZT_ERROR_STATE);
    limit(usual.rlim_cur);
}

int main(void)
{
    const char *folder = scratch_path("full"), *path = scratch_path("full/x.zt");
    zt_write_options o;
    zt_writer *w = NULL;
    size_t size, i;
    unsigned char *old = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &size);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &usual) == 0);
    signal(SIGXFSZ, SIG_IGN); /* so that writes fail instead of ending the process */
    data = (unsigned char *)malloc((size_t)shape);
    REQUIRE(data != NULL && mkdir(folder, 0700) == 0);
    fill_any(data, (size_t)shape, 12);
    for (i = 0; i < 8; i++) {
        INIT(o);
        o.encoding = i / 2 % 2 ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW; /* random bytes do not compress */
        o.durable = (uint32_t)(i / 4);
        CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
        fails(w, i % 2 == 0);
        CHECK_U64(files_in(folder), 0);

        write_file(path, old, size);
        CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
        fails(w, i % 2 == 0);
        CHECK(file_is(path, old, size));

        CHECK_STATUS(zt_write_append(path, &o, &w), ZT_OK);
        fails(w, i % 2 == 0);
        CHECK(file_is(path, old, size));
        CHECK_U64(files_in(folder), 1);
        CHECK(remove(path) == 0);
    }
    CHECK(rmdir(folder) == 0);
    free(data);
    free(old);
    return check_done("writer_full");
}
