/* Chapter "open": by path and by descriptor, options, references. Memory and callbacks: open_source.c. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <sys/stat.h>

#include "support.h"

/* Not NULL, so that a failing open is seen to set it to NULL. */
static zt_file *const sentinel = (zt_file *)&check_count;

static void expect_failure(const char *path, const zt_open_options *options, zt_status want)
{
    zt_file *file = sentinel;
    if (!CHECK_STATUS(zt_open(path, options, &file), want)) {
        fprintf(stderr, "    path: %s\n", path);
        if (file && file != sentinel)
            zt_close(file);
        return;
    }
    CHECK(file == NULL);
    CHECK(strchr(zt_last_error(), '\n') == NULL);
}

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
                CHECK_U64(zt_file_size(file), rows[i].size);
            zt_close(file);
        }
    }
}

static void file_attributes(void)
{
    zt_file *file = open_data("v1.0/oracle-attributes.zt");
    const zt_value *attributes = zt_file_attributes(file);
    const char *text = NULL;
    CHECK(zt_value_kind(attributes) == ZT_VALUE_MAP);
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
    expect_failure(fifo, NULL, ZT_ERROR_IO); /* and does not wait for a writer */
    CHECK(remove(fifo) == 0);
}

static void what_is_no_ztensor(void)
{
    static const unsigned char version_2[64] = {0x89, 0x5A, 0x54, 0x32, 0x0D, 0x0A, 0x1A, 0x0A};
    const char *path = scratch_path("other.zt");
    char junk[300];
    write_file(path, "", 0);
    expect_failure(path, NULL, ZT_ERROR_NOT_ZTENSOR);
    write_file(path, "hello", 5);
    expect_failure(path, NULL, ZT_ERROR_NOT_ZTENSOR);
    memset(junk, 'z', sizeof junk);
    write_file(path, junk, sizeof junk);
    expect_failure(path, NULL, ZT_ERROR_NOT_ZTENSOR);
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

/* A .zt inside a larger file, which starts at `offset` of it: what is borrowed is as aligned as that. */
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
        CHECK_U64(zt_file_size(file), size);
        CHECK_U64(zt_object_count(file), 13);
        component = component_of(file, "f32", "data");
        CHECK_U64(zt_component_offset(component), 192);
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
    /* Without its 100 bytes of something else behind it, length 0 says the same. */
    write_file(path, whole, (size_t)offset + size);
    fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0);
    CHECK_STATUS(zt_open_fd(fd, offset, ZT_WHOLE, NULL, &file), ZT_OK);
    CHECK_U64(zt_file_size(file), size);
    zt_close(file);
    file = sentinel;
    CHECK_STATUS(zt_open_fd(fd, offset, size - 1, NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(file == NULL);
    CHECK(zt_open_fd(fd, offset, size + 1, NULL, &file) != ZT_OK && file == NULL);
    CHECK(zt_open_fd(fd, offset, UINT64_MAX - 1, NULL, &file) != ZT_OK && file == NULL);
    CHECK_STATUS(zt_open_fd(fd, offset, 0, NULL, &file), ZT_ERROR_NOT_ZTENSOR); /* a part of no bytes is no file */
    CHECK(zt_open_fd(fd, offset + size + 1, ZT_WHOLE, NULL, &file) != ZT_OK && file == NULL);
    CHECK(zt_open_fd(fd, UINT64_MAX, UINT64_MAX, NULL, &file) != ZT_OK && file == NULL);
    CHECK(fcntl(fd, F_GETFD) != -1); /* ours, and still open */
    CHECK(close(fd) == 0);
    CHECK(remove(path) == 0);
    free(whole);
    free(bytes);
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

static void unknown_options(void)
{
    const char *path = data_path("v1.2/py-1.2.3-all-dtypes.zt");
    zt_open_options options;
    uint32_t advice;
    INIT(options);
    options.mode = 4;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    options.mode = -1;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    INIT(options);
    options.advice = 9;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    INIT(options);
    options.verify = 2;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    INIT(options);
    options.strict = 2;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    for (advice = ZT_ADVICE_NONE; advice <= ZT_ADVICE_UNLOCK; advice++) {
        zt_file *file = NULL;
        zt_status status;
        INIT(options);
        options.advice = advice;
        status = zt_open(path, &options, &file);
        /* Locking is up to the process's limit. */
        CHECK(status == ZT_OK || (advice == ZT_ADVICE_LOCK && status == ZT_ERROR_IO));
        if (status == ZT_OK) {
            unsigned char got[60];
            CHECK_STATUS(zt_component_read(component_of(file, "f32", "data"), got, sizeof got), ZT_OK);
        }
        zt_close(file);
    }
}

static void limits(void)
{
    zt_open_options options;
    zt_file *file = NULL;
    size_t size;
    unsigned char *bytes = read_file(data_path("v1.2/py-1.2.3-1000.zt"), &size);
    uint64_t manifest = 0;
    const zt_component *component;
    void *decoded = malloc(1048576);
    int i;
    REQUIRE(decoded != NULL);
    for (i = 7; i >= 0; i--) /* the footer: 8 bytes of size, 8 of magic */
        manifest = manifest << 8 | bytes[size - 16 + (size_t)i];
    free(bytes);
    INIT(options);
    options.max_manifest_size = manifest - 1;
    expect_failure(data_path("v1.2/py-1.2.3-1000.zt"), &options, ZT_ERROR_LIMIT);
    options.max_manifest_size = manifest;
    CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-1000.zt"), &options, &file), ZT_OK);
    zt_close(file);
    INIT(options);
    options.max_objects = 999;
    expect_failure(data_path("v1.2/py-1.2.3-1000.zt"), &options, ZT_ERROR_LIMIT);
    expect_failure(data_path("v0.1/py-0.1.4-1000.zt"), &options, ZT_ERROR_LIMIT);
    options.max_objects = 1000;
    CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-1000.zt"), &options, &file), ZT_OK);
    zt_close(file);
    /* 1000 names and objects take more than 16 KiB and less than 1 MiB. */
    INIT(options);
    options.max_memory = 16 << 10;
    expect_failure(data_path("v1.2/py-1.2.3-1000.zt"), &options, ZT_ERROR_LIMIT);
    expect_failure(data_path("v0.1/py-0.1.4-1000.zt"), &options, ZT_ERROR_LIMIT);
    options.max_memory = 1 << 20;
    CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-1000.zt"), &options, &file), ZT_OK);
    zt_close(file);
    /* One component above the limit does not make the file unreadable. */
    INIT(options);
    options.max_decoded_size = 1048575;
    CHECK_STATUS(zt_open(data_path("valid-odd/zstd-rle-1m.zt"), &options, &file), ZT_OK);
    component = component_of(file, "z", "data");
    CHECK_STATUS(zt_component_read(component, decoded, 1048576), ZT_ERROR_LIMIT);
    zt_close(file);
    options.max_decoded_size = 1048576;
    CHECK_STATUS(zt_open(data_path("valid-odd/zstd-rle-1m.zt"), &options, &file), ZT_OK);
    component = component_of(file, "z", "data");
    CHECK_STATUS(zt_component_read(component, decoded, 1048576), ZT_OK);
    zt_close(file);
    /* It is about compressed components: 819200 raw bytes may be read. */
    options.max_decoded_size = 1;
    CHECK_STATUS(zt_open(data_path("v1.2/rs-1.2.3-1m.zt"), &options, &file), ZT_OK);
    CHECK_STATUS(zt_component_read(component_of(file, "raw", "data"), decoded, 1048576), ZT_OK);
    CHECK_STATUS(zt_component_read(component_of(file, "zstd", "data"), decoded, 1048576), ZT_ERROR_LIMIT);
    zt_close(file);
    free(decoded);
}

static void verify_at_open(void)
{
    static const struct { const char *name; zt_status status; } rows[] = {
        {"v1.2/py-1.2.3-digests.zt", ZT_OK},
        {"v1.1/rs-1.1.1-digests.zt", ZT_OK},
        {"v0.1/rs-0.1.0-crc32c.zt", ZT_OK},
        {"v1.2/oracle-plain-crc.zt", ZT_OK},
        {"v1.2/py-1.2.3-all-dtypes.zt", ZT_OK}, /* has none */
        {"invalid/digest-unknown-algorithm.zt", ZT_OK},
        {"invalid/digest-sha256-flipped-bit.zt", ZT_ERROR_DIGEST_MISMATCH},
        {"invalid/digest-crc32c-plain-flipped-bit.zt", ZT_ERROR_DIGEST_MISMATCH},
        {"invalid/digest-of-decoded.zt", ZT_ERROR_DIGEST_MISMATCH},
        {"invalid/v0.1-checksum-mismatch.zt", ZT_ERROR_DIGEST_MISMATCH},
        {"invalid/digest-form-63.zt", ZT_ERROR_CORRUPT},
    };
    zt_open_options options;
    size_t i;
    INIT(options);
    options.verify = 1;
    for (i = 0; i < COUNT(rows); i++) {
        zt_file *file = open_data(rows[i].name); /* all of them open when nothing is verified */
        zt_close(file);
        if (rows[i].status == ZT_OK) {
            file = NULL;
            CHECK_STATUS(zt_open(data_path(rows[i].name), &options, &file), ZT_OK);
            CHECK(file != NULL);
            zt_close(file);
        } else {
            expect_failure(data_path(rows[i].name), &options, rows[i].status);
        }
    }
}

static void strict(void)
{
    static const struct { const char *name; zt_status status; } rows[] = {
        {"v1.2/py-1.2.3-all-dtypes.zt", ZT_OK},
        {"v1.1/oracle-index-dtypes.zt", ZT_OK}, /* 1.1 may */
        {"invalid/dtype-unknown.zt", ZT_ERROR_UNSUPPORTED},
        {"invalid/encoding-lz4.zt", ZT_ERROR_UNSUPPORTED},
        {"valid-odd/unknown-format.zt", ZT_ERROR_UNSUPPORTED},
        {"invalid/digest-form-63.zt", ZT_ERROR_CORRUPT},
        {"invalid/version-suffix.zt", ZT_ERROR_CORRUPT},
        {"invalid/csr-indices-u32-1.2.zt", ZT_ERROR_CORRUPT},
        {"invalid/coo-coords-i64-1.2.zt", ZT_ERROR_CORRUPT},
    };
    zt_open_options options;
    zt_file *file = NULL;
    unsigned char got[16];
    size_t i;
    INIT(options);
    options.strict = 1;
    for (i = 0; i < COUNT(rows); i++) {
        zt_close(open_data(rows[i].name)); /* a lenient open takes each */
        if (rows[i].status == ZT_OK) {
            CHECK_STATUS(zt_open(data_path(rows[i].name), &options, &file), ZT_OK);
            zt_close(file);
        } else {
            expect_failure(data_path(rows[i].name), &options, rows[i].status);
        }
    }
    /* Contents are looked at when they are read or verified. */
    CHECK_STATUS(zt_open(data_path("invalid/bool-2.zt"), &options, &file), ZT_OK);
    CHECK_STATUS(zt_component_read(component_of(file, "b", "data"), got, sizeof got), ZT_ERROR_CORRUPT);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_ERROR_CORRUPT);
    zt_close(file);
    file = open_data("invalid/bool-2.zt");
    CHECK_STATUS(zt_component_read(component_of(file, "b", "data"), got, sizeof got), ZT_OK);
    CHECK(memcmp(got, "\0\1\2\1", 4) == 0);
    zt_close(file);
    CHECK_STATUS(zt_open(data_path("valid-odd/padding-nonzero.zt"), &options, &file), ZT_OK);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_ERROR_CORRUPT);
    zt_close(file);
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

/* What a file is, is told by its content. */
static void containers(void)
{
    zt_open_options options;
    zt_file *file;
    const zt_component *data;
    const void *bytes;
    size_t size;
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-metadata-last.safetensors"), NULL, &file), ZT_OK);
    CHECK(zt_file_container(file, 0) == ZT_CONTAINER_SAFETENSORS && zt_file_container(file, 1) == ZT_CONTAINER_NONE);
    CHECK_STR(zt_file_version(file), "");
    CHECK_U64(zt_value_count(zt_file_attributes(file)), 200);
    data = component_of(file, "enc.1.attn.k.weight.67", "data");
    CHECK(zt_component_offset(data) == 7382 && zt_component_dtype(data) == ZT_DTYPE_F32);
    zt_close(file);
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-all-dtypes-rust.safetensors"), NULL, &file), ZT_OK);
    data = component_of(file, "enc.0.norm.gain.39", "data");
    CHECK(zt_component_type(data) == ZT_TYPE_F4_E2M1 && zt_component_stored_size(data) == 4);
    zt_close(file);
    /* Elements that do not begin at multiples of their size are copied, not lent. */
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-unaligned-header.safetensors"), NULL, &file), ZT_OK);
    data = component_of(file, "enc.1.attn.k.weight.55", "data");
    CHECK(zt_component_offset(data) == 161 && (zt_component_caps(data) & ZT_CAP_MAP) == 0);
    CHECK_STATUS(zt_component_ptr(data, &bytes, &size), ZT_ERROR_NOT_MAPPABLE);
    zt_close(file);
    INIT(options);
    options.containers = 1u << ZT_CONTAINER_SAFETENSORS | 1u << ZT_CONTAINER_ZT_1_1;
    expect_failure(data_path("v1.2/py-1.2.3-1000.zt"), &options, ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-empty.safetensors"), &options, &file), ZT_OK);
    zt_close(file);
    options.containers = 1u << ZT_CONTAINER_ZT_1_2;
    expect_failure(data_path("foreign/valid/amber-empty.safetensors"), &options, ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-1000.zt"), &options, &file), ZT_OK);
    CHECK(zt_file_container(file, 0) == ZT_CONTAINER_ZT_1_2);
    zt_close(file);
    options.containers = 1;
    expect_failure(data_path("v1.2/py-1.2.3-1000.zt"), &options, ZT_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    every_version();
    containers();
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
    bad_descriptors();
    unknown_options();
    limits();
    verify_at_open();
    strict();
    references();
    return check_done("open");
}
