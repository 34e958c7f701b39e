/* Chapter "writer": a replaced file and the processes that have it open. */
#include "support.h"

static const uint64_t shape = 300000;
static unsigned char before[300000], after[300000];

/* Writes a file with one object to path. Returns the status of finish. */
static zt_status written(const char *path, const unsigned char *data, uint32_t durable)
{
    zt_write_options o;
    zt_writer *w = NULL;
    INIT(o);
    o.durable = durable;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    REQUIRE(w != NULL);
    CHECK_STATUS(zt_write_dense(w, "a", 1, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, (size_t)shape), ZT_OK);
    return zt_write_finish(w, NULL);
}

static void expect_bytes(zt_file *file, const unsigned char *want)
{
    size_t size;
    unsigned char *got = read_component(component_of(file, "a", "data"), &size);
    CHECK(size == shape && memcmp(got, want, size) == 0);
    free(got);
}

/* Whether replacing it was rejected. */
static int replaced(zt_mode mode, uint32_t durable)
{
    const char *path = scratch_path("replaced.zt");
    zt_open_options options;
    zt_file *reader = NULL, *next = NULL;
    zt_status status;
    CHECK_STATUS(written(path, before, 0), ZT_OK);
    INIT(options);
    options.mode = mode;
    CHECK_STATUS(zt_open(path, &options, &reader), ZT_OK);
    REQUIRE(reader != NULL);
    status = written(path, after, durable);
    CHECK(status == ZT_OK || status == ZT_ERROR_IO);
    expect_bytes(reader, before); /* in both cases */
    CHECK_STATUS(zt_verify(reader, NULL, NULL), ZT_OK);
    CHECK_STATUS(zt_open(path, NULL, &next), ZT_OK);
    REQUIRE(next != NULL);
    expect_bytes(next, status == ZT_OK ? after : before);
    zt_close(next);
    zt_close(reader);
    CHECK_STATUS(written(path, after, durable), ZT_OK); /* not open in any process */
    next = open_path(path);
    expect_bytes(next, after);
    zt_close(next);
    CHECK(remove(path) == 0);
    return status != ZT_OK;
}

int main(void)
{
    size_t i;
    uint32_t durable;
    for (i = 0; i < sizeof before; i++) {
        before[i] = (unsigned char)(i * 7);
        after[i] = (unsigned char)(i * 11 + 1);
    }
    for (durable = 0; durable <= 1; durable++) {
        const int read = replaced(ZT_MODE_READ, durable), mapped = replaced(ZT_MODE_MAP, durable);
        const int changed = replaced(ZT_MODE_PRIVATE, durable);
#ifdef _WIN32
        printf("writer_replace: refused of a file that is read: %d, mapped: %d, private: %d\n", read, mapped, changed);
        /* if a file open for reading cannot be replaced, a mapped one cannot either */
        CHECK(!read || mapped);
#else
        CHECK(!read && !mapped && !changed);
#endif
    }
    return check_done("writer_replace");
}
