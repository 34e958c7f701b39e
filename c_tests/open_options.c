/* Chapter "open": the effects of zt_open_options. */
#include "advice.h"
#include "opening.h"

static void unknown_options(void)
{
    const char *path = data_path("v1.2/py-1.2.3-all-dtypes.zt");
    zt_open_options options;
    size_t i;
    INIT(options);
    options.mode = 4;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    options.mode = -1;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    for (i = 0; i < 32; i++) {
        size_t known = 0;
        while (known < COUNT(all_advice) && all_advice[known] != i)
            known++;
        INIT(options);
        options.advice = (zt_advice)i;
        if (known == COUNT(all_advice))
            expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    }
    INIT(options);
    options.verify = 2;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    INIT(options);
    options.strict = 2;
    expect_failure(path, &options, ZT_ERROR_INVALID_ARGUMENT);
    for (i = 0; i < COUNT(all_advice); i++) {
        zt_file *file = NULL;
        zt_status status;
        INIT(options);
        options.advice = all_advice[i];
        status = zt_open(path, &options, &file);
        CHECK_STATUS(status, ZT_OK);
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
    /* 1000 names and objects use between 16 KiB and 1 MiB. */
    INIT(options);
    options.max_memory = 16 << 10;
    expect_failure(data_path("v1.2/py-1.2.3-1000.zt"), &options, ZT_ERROR_LIMIT);
    expect_failure(data_path("v0.1/py-0.1.4-1000.zt"), &options, ZT_ERROR_LIMIT);
    options.max_memory = 1 << 20;
    CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-1000.zt"), &options, &file), ZT_OK);
    zt_close(file);
    /* A component above the limit does not make the file unreadable. */
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
    /* The limit only applies to compressed components: 819200 raw bytes may be read. */
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
        {"invalid/digest-unknown-algorithm.zt", ZT_ERROR_UNSUPPORTED},
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
        zt_file *file = open_data(rows[i].name); /* without verification all can be opened */
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
        zt_close(open_data(rows[i].name)); /* a lenient open accepts each */
        if (rows[i].status == ZT_OK) {
            CHECK_STATUS(zt_open(data_path(rows[i].name), &options, &file), ZT_OK);
            zt_close(file);
        } else {
            expect_failure(data_path(rows[i].name), &options, rows[i].status);
        }
    }
    /* Contents are checked when they are read or verified. */
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

/* The content determines the container. */
static void containers(void)
{
    zt_open_options options;
    zt_file *file;
    const zt_component *data;
    const void *bytes;
    size_t size;
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-metadata-last.safetensors"), NULL, &file), ZT_OK);
    CHECK(part_info(file, 0).container == ZT_CONTAINER_SAFETENSORS);
    CHECK_STR(zt_file_version(file), "");
    CHECK_U64(zt_value_count(zt_file_attributes(file)), 200);
    data = component_of(file, "enc.1.attn.k.weight.67", "data");
    CHECK(component_info(data).offset == 7382 && zt_component_dtype(data) == ZT_DTYPE_F32);
    zt_close(file);
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-all-dtypes-rust.safetensors"), NULL, &file), ZT_OK);
    data = component_of(file, "enc.0.norm.gain.39", "data");
    CHECK(zt_component_type(data) == ZT_TYPE_F4_E2M1 && component_info(data).stored_size == 4);
    zt_close(file);
    /* Elements that are not aligned to their size are copied, not borrowed. */
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-unaligned-header.safetensors"), NULL, &file), ZT_OK);
    data = component_of(file, "enc.1.attn.k.weight.55", "data");
    CHECK(component_info(data).offset == 161 && (zt_component_caps(data) & ZT_CAP_MAP) == 0);
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
    CHECK(part_info(file, 0).container == ZT_CONTAINER_ZT_1_2);
    zt_close(file);
    options.containers = 1;
    expect_failure(data_path("v1.2/py-1.2.3-1000.zt"), &options, ZT_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    unknown_options();
    limits();
    verify_at_open();
    strict();
    containers();
    return check_done("open_options");
}
