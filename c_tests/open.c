/* Chapter "open": opening by path and by descriptor, and references. Options: open_options.c; memory and
 * callbacks: open_source.c. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <sys/stat.h>

#include "opening.h"

static void every_version(void)
{
    static const struct { const char *name, *version; size_t objects; uint64_t size; } rows[] = {
        {"v0.1/py-0.1.0-dense.zt", "0.1.0", 2, 314},
        {"v0.1/py-0.1.4-1000.zt", "0.1.0", 1000, 0},
        {"v1.0/py-1.0.1-shapes.zt", "1.0", 6, 1240},
        {"v1.1/oracle-quantized.zt", "1.1.0", 1, 713},
        {"v1.2/rs-1.2.3-1m.zt", "1.2.0", 2, 1010165},
        {"v1.2/py-1.2.3-empty.zt", "1.2.0", 0, 48},
        {"v1.2/oracle-next-minor.zt", "1.9.0", 1, 185},
        {"valid-odd/version-later.zt", "1.3.0", 1, 198},
    };
    size_t i, mode;
    for (i = 0; i < COUNT(rows); i++) {
        for (mode = 0; mode < 2; mode++) {
            zt_file *file = open_data_mode(rows[i].name, (zt_mode)mode);
            CHECK_STR(zt_file_version(file), rows[i].version);
            CHECK_U64(zt_object_count(file), rows[i].objects);
            if (rows[i].size)
                CHECK_U64(file_size(file), rows[i].size);
            zt_close(file);
        }
    }
}

static void file_attributes(void)
{
    zt_file *file = open_data("v1.0/oracle-attributes.zt");
    const zt_value *attributes = zt_file_attributes(file);
    const char *text = NULL;
    CHECK(zt_value_get_kind(attributes) == ZT_VALUE_KIND_MAP);
    CHECK_U64(zt_value_count(attributes), 2);
    CHECK_STATUS(zt_value_get_string(zt_value_find(attributes, "license"), &text, NULL), ZT_OK);
    CHECK_STR(text, "MIT");
    zt_close(file);
    file = open_data("v1.2/rs-1.2.3-1m.zt");
    CHECK(zt_file_attributes(file) == NULL);
    zt_close(file);
}

static void what_is_no_file(void)
{
    const char *fifo = scratch_path("fifo");
    const char *missing = scratch_path("missing.zt");
    expect_failure(missing, NULL, ZT_ERROR_NO_FILE);
    CHECK(strstr(zt_last_error(), "missing.zt") != NULL);
    expect_failure("", NULL, ZT_ERROR_NO_FILE);
    expect_failure(data_path("v1.2"), NULL, ZT_ERROR_IO);
    expect_failure(data_path("v1.2/py-1.2.3-empty.zt/x"), NULL, ZT_ERROR_IO);
    REQUIRE(mkfifo(fifo, 0600) == 0);
    expect_failure(fifo, NULL, ZT_ERROR_IO); /* must not wait for a writer */
    CHECK(remove(fifo) == 0);
}

static void what_is_no_ztensor(void)
{
    static const unsigned char version_2[64] = {0x89, 0x5A, 0x54, 0x32, 0x0D, 0x0A, 0x1A, 0x0A};
    const char *path = scratch_path("other.zt");
    char junk[300];
    write_file(path, "", 0);
    expect_failure(path, NULL, ZT_ERROR_UNKNOWN_CONTAINER);
    write_file(path, "hello", 5);
    expect_failure(path, NULL, ZT_ERROR_UNKNOWN_CONTAINER);
    memset(junk, 'z', sizeof junk);
    write_file(path, junk, sizeof junk);
    expect_failure(path, NULL, ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK(strstr(zt_last_error(), "other.zt") != NULL);
    write_file(path, version_2, sizeof version_2);
    expect_failure(path, NULL, ZT_ERROR_CORRUPT);
    CHECK(remove(path) == 0);
    expect_failure(data_path("invalid/v3-container.zt"), NULL, ZT_ERROR_UNSUPPORTED);
    expect_failure(data_path("invalid/version-2.zt"), NULL, ZT_ERROR_UNSUPPORTED);
    expect_failure(data_path("invalid/truncated-one-short.zt"), NULL, ZT_ERROR_CORRUPT);
    expect_failure(data_path("invalid/truncated-after-size.zt"), NULL, ZT_ERROR_CORRUPT);
    expect_failure(data_path("invalid/manifest-size-1gib-plus-1.zt"), NULL, ZT_ERROR_LIMIT);
    expect_failure(data_path("invalid/dup-object-same.zt"), NULL, ZT_ERROR_CORRUPT);
    CHECK(strstr(zt_last_error(), "dup-object-same.zt") != NULL);
}

/* A .zt inside a larger file, at `offset`. Borrowed bytes have the alignment of the offset. */
static void inside(uint64_t offset)
{
    static const char *const name = "v1.2/py-1.2.3-all-dtypes.zt";
    const char *path = scratch_path("container.bin");
    size_t size, i;
    unsigned char *bytes = read_file(data_path(name), &size);
    unsigned char *whole = (unsigned char *)malloc((size_t)offset + size + 100);
    const void *ptr = NULL;
    zt_file *file = NULL;
    const zt_component *component;
    unsigned char got[60];
    int fd;
    REQUIRE(whole != NULL);
    memset(whole, 0x5a, (size_t)offset + size + 100);
    memcpy(whole + offset, bytes, size);
    write_file(path, whole, (size_t)offset + size + 100);
    for (i = 0; i < 2; i++) {
        zt_open_options options;
        INIT(options);
        options.mode = (zt_mode)i;
        fd = open(path, O_RDONLY);
        REQUIRE(fd >= 0);
        CHECK_STATUS(zt_open_fd(fd, offset, size, &options, &file), ZT_OK);
        CHECK(close(fd) == 0);
        REQUIRE(file != NULL);
        CHECK_U64(file_size(file), size);
        CHECK_U64(zt_object_count(file), 13);
        component = component_of(file, "f32", "data");
        CHECK_U64(component_info(component).offset, 192);
        CHECK_STATUS(zt_component_read(component, got, sizeof got), ZT_OK);
        CHECK(are_elements(got, bytes + 192, 60, 4));
        if (i == 0 && offset % 4 == 0 && borrows_little_endian(4)) { /* an f32 has 4 bytes */
            CHECK(zt_component_caps(component) & ZT_CAP_MAP);
            CHECK_STATUS(zt_component_ptr(component, &ptr, NULL), ZT_OK);
            CHECK(is_aligned(ptr, offset % 64 ? (size_t)(offset % 64) : 64) && memcmp(ptr, bytes + 192, 60) == 0);
        } else {
            CHECK(!(zt_component_caps(component) & ZT_CAP_MAP));
            CHECK_STATUS(zt_component_ptr(component, &ptr, NULL), ZT_ERROR_NOT_MAPPABLE);
        }
        CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
        zt_close(file);
    }
    /* Without 100 other bytes after it, length ZT_WHOLE has the same effect. */
    write_file(path, whole, (size_t)offset + size);
    fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0);
    CHECK_STATUS(zt_open_fd(fd, offset, ZT_WHOLE, NULL, &file), ZT_OK);
    CHECK_U64(file_size(file), size);
    zt_close(file);
    file = sentinel;
    CHECK_STATUS(zt_open_fd(fd, offset, size - 1, NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(file == NULL);
    CHECK(zt_open_fd(fd, offset, size + 1, NULL, &file) != ZT_OK && file == NULL);
    CHECK(zt_open_fd(fd, offset, UINT64_MAX - 1, NULL, &file) != ZT_OK && file == NULL);
    /* a part of 0 bytes is not a file */
    CHECK_STATUS(zt_open_fd(fd, offset, 0, NULL, &file), ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK(zt_open_fd(fd, offset + size + 1, ZT_WHOLE, NULL, &file) != ZT_OK && file == NULL);
    CHECK(zt_open_fd(fd, UINT64_MAX, UINT64_MAX, NULL, &file) != ZT_OK && file == NULL);
    CHECK(fcntl(fd, F_GETFD) != -1); /* the caller's descriptor is still open */
    CHECK(close(fd) == 0);
    CHECK(remove(path) == 0);
    free(whole);
    free(bytes);
}

static zt_status size_of(void *context, uint64_t *size)
{
    struct stat st;
    *size = fstat(*(const int *)context, &st) == 0 ? (uint64_t)st.st_size : 0;
    return ZT_OK;
}

static zt_status read_at(void *context, uint64_t offset, void *dst, size_t size)
{
    return pread(*(const int *)context, dst, size, (off_t)offset) == (ssize_t)size ? ZT_OK : ZT_ERROR_IO;
}

/* Every container can also be opened by descriptor, in memory, and through the caller's functions. */
static void every_container(void)
{
    static const struct { const char *name; zt_container container; } rows[] = {
        {"v0.1/py-0.1.0-dense.zt", ZT_CONTAINER_ZT_0_1},
        {"v1.0/py-1.0.1-shapes.zt", ZT_CONTAINER_ZT_1_0},
        {"v1.1/oracle-quantized.zt", ZT_CONTAINER_ZT_1_1},
        {"v1.2/rs-1.2.3-1m.zt", ZT_CONTAINER_ZT_1_2},
        {"v2/cases/k-sound.zt", ZT_CONTAINER_ZT_2},
        {"foreign/valid/amber-wide-padding.safetensors", ZT_CONTAINER_SAFETENSORS},
        {"foreign/valid/amber-all-types-hand.gguf", ZT_CONTAINER_GGUF},
        {"foreign/valid/amber-all-stored.npz", ZT_CONTAINER_NPZ},
        {"foreign/valid/amber-parameters.pt", ZT_CONTAINER_TORCH},
    };
    size_t i, size;
    for (i = 0; i < COUNT(rows); i++) {
        unsigned char *bytes = read_file(data_path(rows[i].name), &size);
        int fd = open(data_path(rows[i].name), O_RDONLY), by;
        zt_source source;
        INIT(source);
        source.context = &fd, source.size = size_of, source.read_at = read_at;
        for (by = 0; by < 4; by++) {
            zt_file *file = sentinel;
            CHECK_STATUS(by == 0   ? zt_open(data_path(rows[i].name), NULL, &file)
                         : by == 1 ? zt_open_fd(fd, 0, ZT_WHOLE, NULL, &file)
                         : by == 2 ? zt_open_memory(bytes, size, NULL, &file)
                                   : zt_open_source(&source, NULL, &file), ZT_OK);
            CHECK(part_info(file, 0).container == rows[i].container && zt_object_count(file) > 0);
            CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
            zt_close(file);
        }
        CHECK(close(fd) == 0);
        free(bytes);
    }
}

static void bad_descriptors(void)
{
    int ends[2];
    zt_file *file = sentinel;
    zt_status status = zt_open_fd(-1, 0, ZT_WHOLE, NULL, &file);
    CHECK(status == ZT_ERROR_IO || status == ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL);
    REQUIRE(pipe(ends) == 0);
    file = sentinel;
    CHECK_STATUS(zt_open_fd(ends[0], 0, ZT_WHOLE, NULL, &file), ZT_ERROR_IO);
    CHECK(file == NULL);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void references(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    const char *name = zt_object_name(zt_object_at(file, 0));
    unsigned char got[60];
    int i;
    CHECK(zt_retain(NULL) == NULL);
    zt_close(NULL);
    for (i = 0; i < 3; i++)
        CHECK(zt_retain(file) == file);
    for (i = 0; i < 3; i++) {
        zt_close(file);
        CHECK_STR(name, "bf16");
        CHECK_STATUS(zt_component_read(component_of(file, "f32", "data"), got, sizeof got), ZT_OK);
    }
    zt_close(file);
}

int main(void)
{
    every_version();
    file_attributes();
    what_is_no_file();
    what_is_no_ztensor();
    inside(0);
    inside(64);
    inside(4096 + 64);
    inside(4096 + 32);
    inside(4);
    inside(2);
    inside(37);
    every_container();
    bad_descriptors();
    references();
    return check_done("open");
}
