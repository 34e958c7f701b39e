/* Progress and cancellation of long calls: writing, copying, opening with verification, repair. */
#include "writing.h"

#define MIB ((uint64_t)1 << 20)

typedef struct watch { uint64_t calls, last, gap, total, stop_at; } watch;

static int32_t see(void *context, uint64_t done, uint64_t total)
{
    watch *w = (watch *)context;
    if (done > w->last && done - w->last > w->gap)
        w->gap = done - w->last;
    w->last = done;
    w->total = total;
    return ++w->calls == w->stop_at;
}

static const uint64_t big = 48 * MIB;
static unsigned char *data;

static zt_status write_to(const char *path, zt_encoding encoding, zt_digest digest, uint32_t durable, watch *seen)
{
    zt_write_options o;
    zt_writer *w = NULL;
    zt_status status;
    INIT(o);
    o.encoding = encoding;
    o.digest = digest;
    o.durable = durable;
    o.context = seen;
    o.progress = see;
    REQUIRE(CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK));
    status = zt_write_dense(w, "big", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &big, 1, data, (size_t)big);
    if (status != ZT_OK) {
        CHECK(strstr(zt_last_error(), "stopped") != NULL);
        CHECK_STATUS(zt_write_dense(w, "b", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &big, 1, data, (size_t)big), ZT_ERROR_STATE);
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_ERROR_STATE);
        return status;
    }
    return zt_write_finish(w, NULL);
}

/* Every way to write a file reports progress in steps. If it is stopped, the file at the path does not
 * change. */
static void writing(void)
{
    static const struct { zt_encoding encoding; zt_digest digest; uint32_t durable; } cases[] = {
        {ZT_ENCODING_RAW, ZT_DIGEST_NONE, 0}, {ZT_ENCODING_RAW, ZT_DIGEST_SHA256, 0}, {ZT_ENCODING_RAW, ZT_DIGEST_CRC32C, 1},
        {ZT_ENCODING_ZSTD, ZT_DIGEST_NONE, 0}};
    const char *path = scratch_path("progress.zt");
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        watch seen = {0, 0, 0, 7, 0}, stopped = {0, 0, 0, 0, 2}, late = {0, 0, 0, 0, 0};
        unsigned char *bytes;
        size_t size;
        CHECK_STATUS(write_to(path, cases[i].encoding, cases[i].digest, cases[i].durable, &seen), ZT_OK);
        CHECK(seen.calls >= 3 && seen.gap <= 20 * MIB && seen.total == 0);
        bytes = read_file(path, &size);
        CHECK_U64(seen.last, size); /* the last call before the file is published */
        free(bytes);
        write_file(path, "old", 3);
        CHECK_STATUS(write_to(path, cases[i].encoding, cases[i].digest, cases[i].durable, &stopped), ZT_ERROR_CANCELLED);
        CHECK_U64(stopped.calls, 2);
        late.stop_at = seen.calls; /* all is written but not published */
        CHECK_STATUS(write_to(path, cases[i].encoding, cases[i].digest, cases[i].durable, &late), ZT_ERROR_CANCELLED);
        bytes = read_file(path, &size);
        CHECK(size == 3 && memcmp(bytes, "old", 3) == 0);
        free(bytes);
        CHECK(remove(path) == 0);
    }
}

static void copying_and_opening(void)
{
    const char *path = scratch_path("from.zt"), *copy = scratch_path("copy.zt");
    watch seen = {0, 0, 0, 0, 0}, copied = {0, 0, 0, 0, 2}, verified = {0, 0, 0, 0, 0}, stopped = {0, 0, 0, 0, 1};
    zt_write_options wo;
    zt_open_options o;
    zt_writer *w = NULL;
    zt_file *f;
    CHECK_STATUS(write_to(path, ZT_ENCODING_RAW, ZT_DIGEST_CRC32C, 0, &seen), ZT_OK);
    INIT(o);
    o.verify = 1;
    o.context = &verified;
    o.progress = see;
    f = NULL;
    CHECK_STATUS(zt_open(path, &o, &f), ZT_OK);
    CHECK(verified.calls > 0 && verified.last == big && verified.total == big);
    INIT(wo);
    wo.context = &copied;
    wo.progress = see;
    CHECK_STATUS(zt_write_create(copy, &wo, &w), ZT_OK);
    CHECK_STATUS(zt_write_copy(w, zt_object_at(f, 0), NULL), ZT_ERROR_CANCELLED);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_ERROR_STATE);
    CHECK(!file_exists(copy));
    zt_close(f);
    f = (zt_file *)data;
    o.context = &stopped;
    CHECK_STATUS(zt_open(path, &o, &f), ZT_ERROR_CANCELLED);
    CHECK(f == NULL && stopped.calls == 1);
    stopped.calls = 1; /* not called without verify */
    o.verify = 0;
    CHECK_STATUS(zt_open(path, &o, &f), ZT_OK);
    CHECK_U64(stopped.calls, 1);
    zt_close(f);
    CHECK(remove(path) == 0);
}

/* Repairing a file without an append record searches all of it. If it is stopped, the file does not
 * change. */
static void repairing(void)
{
    const char *path = scratch_path("torn.zt");
    watch seen = {0, 0, 0, 0, 0};
    zt_repair_options o;
    size_t size, torn;
    unsigned char *good, *bytes;
    uint64_t stop_at;
    CHECK_STATUS(write_to(path, ZT_ENCODING_ZSTD, ZT_DIGEST_NONE, 0, &seen), ZT_OK);
    good = read_file(path, &size);
    torn = size + 5 * (size_t)MIB;
    bytes = (unsigned char *)calloc(1, torn);
    REQUIRE(bytes != NULL);
    memcpy(bytes, good, size);
    memset(bytes + size, 7, torn - size);
    write_file(path, bytes, torn);
    INIT(o);
    o.context = &seen;
    o.progress = see;
    memset(&seen, 0, sizeof seen);
    o.dry_run = 1;
    CHECK_STATUS(zt_repair(path, &o, NULL), ZT_OK);
    CHECK(seen.calls >= 5 && seen.last == torn && seen.total == torn && seen.gap <= 2 * MIB);
    o.dry_run = 0;
    for (stop_at = 1; stop_at <= seen.calls; stop_at++) {
        watch stopped = {0, 0, 0, 0, 0};
        stopped.stop_at = stop_at;
        o.context = &stopped;
        CHECK_STATUS(zt_repair(path, &o, NULL), ZT_ERROR_CANCELLED);
        CHECK_U64(stopped.calls, stop_at);
        CHECK(file_is(path, bytes, torn));
    }
    o.context = &seen;
    CHECK_STATUS(zt_repair(path, &o, NULL), ZT_OK);
    CHECK(file_is(path, good, size));
    CHECK(remove(path) == 0);
    free(bytes);
    free(good);
}

int main(void)
{
    data = (unsigned char *)calloc(1, (size_t)big);
    REQUIRE(data != NULL);
    writing();
    copying_and_opening();
    repairing();
    free(data);
    return check_done("progress");
}
