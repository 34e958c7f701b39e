/* Chapter "verify": zt_repair removes an unfinished append and leaves everything else unchanged. */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

#include "support.h"

static zt_repair_report repaired(const char *path, uint32_t dry_run, zt_status want)
{
    zt_repair_options o;
    zt_repair_report r;
    INIT(o);
    INIT(r);
    o.dry_run = dry_run;
    r.old_size = 77;
    CHECK_STATUS(zt_repair(path, &o, &r), want);
    CHECK(want == ZT_OK || (r.old_size == 77 && r.new_size == 0 && r.objects == 0)); /* untouched on failure */
    return r;
}

/* A good file, followed by `more` bytes of an unfinished append. */
static void unfinished(const char *name, size_t more, unsigned char fill)
{
    const char *path = scratch_path("unfinished.zt");
    size_t size;
    unsigned char *good = read_file(data_path(name), &size);
    unsigned char *bytes = (unsigned char *)malloc(size + more);
    zt_file *file = open_data(name);
    size_t objects = zt_object_count(file);
    zt_repair_report r;
    char end[32];
    REQUIRE(bytes != NULL);
    zt_close(file);
    memcpy(bytes, good, size);
    memset(bytes + size, fill, more);
    write_file(path, bytes, size + more);
    file = (zt_file *)bytes;
    CHECK_STATUS(zt_open(path, NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(file == NULL);
    snprintf(end, sizeof end, "%lu", (unsigned long)size);
    CHECK(strstr(zt_last_error(), end) != NULL); /* the message gives the last good end */

    r = repaired(path, 1, ZT_OK);
    CHECK(r.old_size == size + more && r.new_size == size && r.objects == objects);
    CHECK(file_is(path, bytes, size + more)); /* a dry run only reports */
    r = repaired(path, 0, ZT_OK);
    CHECK(r.old_size == size + more && r.new_size == size && r.objects == objects);
    CHECK(file_is(path, good, size));
    file = open_path(path);
    CHECK_U64(zt_object_count(file), objects);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
    r = repaired(path, 0, ZT_OK); /* nothing to repair */
    CHECK(r.old_size == size && r.new_size == size && r.objects == objects);
    CHECK(file_is(path, good, size));
    CHECK(remove(path) == 0);
    free(bytes);
    free(good);
}

/* An append by this library, truncated at various bytes. */
static void cut_append(void)
{
    static const float values[64] = {1, 2, 3};
    static const uint64_t shape = 64;
    const char *path = scratch_path("cut.zt");
    size_t before, after, cut;
    unsigned char *old = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &before), *now;
    zt_writer *writer = NULL;
    write_file(path, old, before);
    CHECK_STATUS(zt_write_append(path, NULL, &writer), ZT_OK);
    CHECK_STATUS(zt_write_dense(writer, "added", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &shape, 1, values, sizeof values), ZT_OK);
    CHECK_STATUS(zt_write_finish(writer, NULL), ZT_OK);
    now = read_file(path, &after);
    REQUIRE(after > before);
    /* Until the new footer is written, the old manifest is there. */
    for (cut = before + 1; cut < after; cut += 1 + (after - before) / 40) {
        unsigned char *bytes = (unsigned char *)malloc(cut);
        zt_file *file = NULL;
        zt_repair_report r;
        REQUIRE(bytes != NULL);
        memcpy(bytes, now, cut);
        memcpy(bytes, old, before);
        write_file(path, bytes, cut);
        CHECK_STATUS(zt_open(path, NULL, &file), ZT_ERROR_CORRUPT);
        r = repaired(path, 0, ZT_OK);
        CHECK(r.new_size == before && r.objects == 13);
        CHECK(file_is(path, old, before));
        free(bytes);
    }
    CHECK(remove(path) == 0);
    free(now);
    free(old);
}

/* An append by this library, killed in a tensor that contains a complete file. Its record gives the old end.
 * Without the record there are two candidates, and the caller chooses. */
static void held_file(void)
{
    const char *path = scratch_path("held.zt");
    size_t before, held, size, i;
    unsigned char *old = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &before);
    unsigned char *inner = read_file(data_path("v1.1/rs-1.1.1-attributes.zt"), &held);
    static unsigned char large[1 << 20];
    const uint64_t shape = sizeof large;
    unsigned char *bytes;
    zt_writer *writer = NULL;
    zt_file *file = NULL;
    zt_repair_options o;
    zt_repair_report r;
    char end[64];
    for (i = 0; i + held < sizeof large; i += held)
        memcpy(large + i, inner, held);
    write_file(path, old, before);
    CHECK_STATUS(zt_write_append(path, NULL, &writer), ZT_OK);
    CHECK_STATUS(zt_write_dense(writer, "held", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, large, sizeof large), ZT_OK);
    bytes = read_file(path, &size); /* the state after a kill */
    zt_write_abort(writer);
    CHECK(file_is(path, old, before));
    REQUIRE(size > before + 64 + held);
    CHECK(memcmp(bytes + 8, "ZTAPPEND", 8) == 0);
    for (i = 0; i < 2; i++) {
        size = before + 64 - before % 64 + held + 10 * (i == 1); /* once at the end of the contained file */
        if (i == 1)
            memset(bytes + 8, 0, 32);
        write_file(path, bytes, size);
        CHECK_STATUS(zt_open(path, NULL, &file), ZT_ERROR_CORRUPT);
        snprintf(end, sizeof end, i == 0 ? "last good end at byte %lu of" : "at byte %lu (13 objects)", (unsigned long)before);
        CHECK(strstr(zt_last_error(), end) != NULL);
        INIT(o);
        INIT(r);
        o.cut_at = size + 1;
        CHECK_STATUS(zt_repair(path, &o, &r), ZT_ERROR_INVALID_ARGUMENT);
        o.cut_at = before - 1;
        CHECK_STATUS(zt_repair(path, &o, &r), i == 0 ? ZT_ERROR_INVALID_ARGUMENT : ZT_ERROR_CORRUPT);
        if (i == 0) {
            o.cut_at = size; /* a complete file ends there, but not this one */
            CHECK_STATUS(zt_repair(path, &o, &r), ZT_ERROR_INVALID_ARGUMENT);
            r = repaired(path, 0, ZT_OK);
        } else {
            repaired(path, 0, ZT_ERROR_CORRUPT);
            CHECK(file_is(path, bytes, size));
            o.cut_at = before;
            CHECK_STATUS(zt_repair(path, &o, &r), ZT_OK);
        }
        CHECK(r.old_size == size && r.new_size == before && r.objects == 13);
        CHECK(file_is(path, old, before));
    }
    CHECK(remove(path) == 0);
    free(bytes);
    free(inner);
    free(old);
}

static void left_alone(void)
{
    static const struct { const char *file; size_t objects; } good[] = {
        {"v0.1/py-0.1.4-all-dtypes.zt", 13}, {"v1.0/py-1.0.1-shapes.zt", 6}, {"v1.1/oracle-quantized.zt", 1},
        {"v1.2/py-1.2.3-appended.zt", 4}, {"v1.2/py-1.2.3-empty.zt", 0}, {"valid-odd/gaps.zt", 1}};
    static const struct { const char *file; zt_status status; } bad[] = {
        {"invalid/truncated-in-first-blob.zt", ZT_ERROR_CORRUPT}, {"invalid/truncated-after-manifest.zt", ZT_ERROR_CORRUPT},
        {"invalid/truncated-one-short.zt", ZT_ERROR_CORRUPT}, {"invalid/v3-container.zt", ZT_ERROR_UNSUPPORTED},
        {"invalid/version-2.zt", ZT_ERROR_UNSUPPORTED}, {"invalid/empty-file.zt", ZT_ERROR_UNKNOWN_CONTAINER}};
    const char *path = scratch_path("alone.zt");
    size_t i, size;
    for (i = 0; i < COUNT(good); i++) {
        unsigned char *bytes = read_file(data_path(good[i].file), &size);
        zt_repair_report r;
        write_file(path, bytes, size);
        r = repaired(path, 0, ZT_OK);
        CHECK(r.old_size == size && r.new_size == size && r.objects == good[i].objects);
        CHECK(file_is(path, bytes, size));
        CHECK_STATUS(zt_repair(path, NULL, NULL), ZT_OK);
        free(bytes);
    }
    for (i = 0; i < COUNT(bad); i++) {
        unsigned char *bytes = read_file(data_path(bad[i].file), &size);
        write_file(path, bytes, size);
        repaired(path, 0, bad[i].status);
        repaired(path, 1, bad[i].status);
        CHECK(file_is(path, bytes, size));
        free(bytes);
    }
    write_file(path, "neither this nor that, but long enough to be looked at", 54);
    repaired(path, 0, ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK(remove(path) == 0);
    repaired(path, 0, ZT_ERROR_NO_FILE); /* the file is gone */
    CHECK(!file_exists(path));
    repaired(data_path("v1.2"), 0, ZT_ERROR_IO);
}

static void bad_calls(void)
{
    zt_repair_options o;
    zt_repair_report r;
    CHECK_STATUS(zt_repair(NULL, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    INIT(r);
    o.reserved = 1;
    CHECK_STATUS(zt_repair(data_path("v1.2/py-1.2.3-empty.zt"), &o, &r), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.dry_run = 2;
    CHECK_STATUS(zt_repair(data_path("v1.2/py-1.2.3-empty.zt"), &o, &r), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.dry_run = 1;
    o.max_manifest_size = 10;
    CHECK_STATUS(zt_repair(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &o, &r), ZT_ERROR_LIMIT);
}

int main(void)
{
    unfinished("v1.2/py-1.2.3-all-dtypes.zt", 1000, 0);
    unfinished("v1.2/py-1.2.3-all-dtypes.zt", 1, 0);
    unfinished("v1.2/py-1.2.3-all-dtypes.zt", 70000, 0x5a);
    unfinished("v1.1/rs-1.1.1-attributes.zt", 333, 'Z');
    unfinished("v1.2/py-1.2.3-empty.zt", 64, 0xff);
    cut_append();
    held_file();
    left_alone();
    bad_calls();
    return check_done("repair");
}
