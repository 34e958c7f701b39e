/* Chapter "component": the descriptions of components, the calls that work on them, and their bytes. */
#include "digests.h"
#include "support.h"

typedef struct row {
    const char *file, *object, *role;
    zt_dtype dtype;
    zt_type type;
    const char *type_name;
    zt_encoding encoding;
    uint64_t offset, stored, size;
    const char *digest;
    const char *sha256; /* of the decoded little-endian bytes */
} row;

/* From the manifest.json files beside the data. */
static const row rows[] = {
    {"v0.1/py-0.1.0-dense.zt", "f32", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 64, 24, 24, NULL,
     "c4ab2772f64a7c5a59235f409f3a0ba09129b9e431bf320d0ac6da69f4d6dbec"},
    {"v0.1/rs-0.1.0-big-endian.zt", "f64", "data", ZT_DTYPE_F64, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 64, 80, 80, NULL,
     "b50924324ce94f568703651d13547e1a8063a95b9968ebe22633b6f2c963246c"},
    {"v0.1/rs-0.1.0-big-endian.zt", "i16", "data", ZT_DTYPE_I16, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 576, 20, 20, NULL,
     "704f9afc8a2ac954f4ea5c354ca274a21acd534624bf81fdeade1263d45fa58a"},
    {"v0.1/rs-0.1.0-zstd.zt", "bf16", "data", ZT_DTYPE_BF16, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 768, 139, 256, NULL,
     "2dfc2b6f4b034be6e68c082eb8f61044609e6607fcb3fcc9b245f7a387920ade"},
    {"v0.1/rs-0.1.0-crc32c.zt", "zstd", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 128, 170, 400,
     "crc32c:0x316D694E",
     "6015bec0a40fd6544f1d65c1da8d992f59f46f30ef32a3d29e5a9188b4c9ff95"},
    {"v0.1/oracle-sha256.zt", "z", "data", ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 128, 39, 77,
     "sha256:74133ccfa6f7fca741d637888b6005e8707b1688ad9f102bdfa0bb9b3a799bfc",
     "bd47513cd307e760e1d3bf063c4129a6c54a4ffe9e335ced9bbb2797e2796968"},
    {"v0.1/rs-0.1.0-sparse-layouts.zt", "csr", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 128, 40, 40, NULL,
     "f7f10de04b9adf56f99463b6f936a33040174f7f1e90dc49088f0091f0b8f180"},
    {"v1.0/py-1.0.1-shapes.zt", "s4", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 192, 480, 480, NULL,
     "89382a1ea1c535a41dbdbef8f1504a46f1b8732079d5534f62b8701dbdc1f191"},
    {"v1.1/oracle-f8-complex.zt", "e4m3", "data", ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FN, "f8_e4m3fn", ZT_ENCODING_RAW, 64, 16, 16, NULL,
     "bdc000d3c8ca9dd90f01baa68102817b874765616e6ba6ba6692bd092236abce"},
    {"v1.1/oracle-f8-complex.zt", "c64z", "data", ZT_DTYPE_F32, ZT_TYPE_COMPLEX64, "complex64", ZT_ENCODING_ZSTD, 320, 64, 64, NULL,
     "770deb83a126441f58f66ed067ab0058fa4c817b0711ab2fb9f47df51b715114"},
    {"v1.1/rs-1.1.1-sparse-zstd-digest.zt", "coo", "coords", ZT_DTYPE_U64, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 512, 51, 160,
     "crc32c:0x57AF62B3",
     "70debbc0735d3a5c7c55c1480c9966175befc2b95d5c7049a60bfd2feb798e39"},
    {"v1.1/rs-1.1.1-sparse-zstd-digest.zt", "csr", "values", ZT_DTYPE_F64, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 64, 143, 144,
     "sha256:8e498a863158b5943177e761a8385ffab61aa7ff7f03ba4929b0e5612012d320",
     "bf02c5f15ac23837b6622dc020d632058a2bebfbe49d448ed455fa6091cdda38"},
    {"v1.1/rs-1.1.1-digests.zt", "emptyz", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 1280, 9, 0,
     "crc32c:0x869ADF38",
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"v1.1/rs-1.1.1-1m.zt", "zstd", "data", ZT_DTYPE_BF16, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 819264, 190623, 524288,
     "crc32c:0xC99BAAC6",
     "dd8d964735027a5364ac37d2d8e3006089b06571d12dc64405d08f879c7630ee"},
    {"v1.2/py-1.2.3-all-dtypes.zt", "bool", "data", ZT_DTYPE_BOOL, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 1024, 15, 15, NULL,
     "faaa7fbd9b6306032473e63e7ce931e6d4f5a575390f3772e7c230c3deb617d2"},
    {"v1.2/py-1.2.3-all-dtypes.zt", "u64", "data", ZT_DTYPE_U64, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 704, 120, 120, NULL,
     "170ca82cbb8a8134da74b1f083e4ea0d5f92034a1293ec554a207a8616cf4c8f"},
    {"v1.2/py-1.2.3-logical.zt", "complex128", "data", ZT_DTYPE_F64, ZT_TYPE_COMPLEX128, "complex128", ZT_ENCODING_RAW, 448, 192, 192, NULL,
     "6257d8e161a0473e5a69ee88cfb4dc7e50d9b00f3381e7f55d8dd48f9c21ea62"},
    {"v1.2/py-1.2.3-logical.zt", "f8_e5m2fnuz", "data", ZT_DTYPE_U8, ZT_TYPE_F8_E5M2FNUZ, "f8_e5m2fnuz", ZT_ENCODING_RAW, 256, 12, 12, NULL,
     "c9a48132bbcca5bbd23b2aaab897f6ada87a1e8d3a759435d980c515e080abc2"},
    {"v1.2/py-1.2.3-logical.zt", "f8-zero", "data", ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FN, "f8_e4m3fn", ZT_ENCODING_RAW, 768, 0, 0, NULL,
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"v1.2/py-1.2.3-unknown-type.zt", "i4x2", "data", ZT_DTYPE_U8, ZT_TYPE_OTHER, "vendor.int4x2", ZT_ENCODING_RAW, 128, 5, 5, NULL,
     "d470ad39a9b850439d7cd377dcc01cb2c6810d394c735e6942c7c36b3bd3dc3f"},
    {"v1.2/oracle-plain-crc.zt", "t", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 64, 12, 12,
     "crc32c:d78b0356",
     "64b23759fc0f0ccaa311963515cf616b8e1c8c8ab24080a4d48567651e3aeb19"},
    {"v1.2/py-1.2.3-quantized.zt", "gptq-z", "packed_weight", ZT_DTYPE_I32, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 256, 265, 256,
     "crc32c:0x0E4563D4",
     "0a5ba6c54beaeb06b9209a8cc1839412bd321f43f9fdda50a2f912395714cccd"},
    {"v1.2/rs-1.2.3-1m.zt", "raw", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 64, 819200, 819200,
     "sha256:28dfcf7b52f2935f2a39f13862834031fa94edb2c7ade1b768103fe3bae4aa5e",
     "28dfcf7b52f2935f2a39f13862834031fa94edb2c7ade1b768103fe3bae4aa5e"},
    {"v1.2/rs-1.2.3-1m.zt", "zstd", "data", ZT_DTYPE_BF16, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 819264, 190552, 524288,
     "crc32c:0xA40E1D38",
     "968feee7d710813ddbf9e5281b8a3276f98849c0aca67ae73cf49b6eba1c6a19"},
    {"valid-odd/unknown-format.zt", "x", "leaf", ZT_DTYPE_F16, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 128, 2, 2, NULL,
     "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"},
    {"valid-odd/zstd-two-frames.zt", "z", "data", ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 64, 136, 500, NULL,
     "070c4835261b49252946abad7faa8afad165d0fc703f7b4b11a4937ee63f8c99"},
    {"valid-odd/zstd-rle-1m.zt", "z", "data", ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 64, 38, 1048576, NULL,
     "51b12eb838732b786b4d45c660a974ddf3860ae09084fd293fa6e5df46581a6c"},
    {"valid-odd/type-equals-dtype.zt", "a", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, "f32", ZT_ENCODING_RAW, 64, 16, 16, NULL,
     "c0522e48b7d17602f6f09ca7182ed4d283708f66fdbf9312f398ec28af7e109b"},
    {"valid-odd/zstd-skippable.zt", "z", "data", ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 64, 140, 500, NULL,
     "070c4835261b49252946abad7faa8afad165d0fc703f7b4b11a4937ee63f8c99"},
    {"valid-odd/zstd-empty.zt", "z", "data", ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, ZT_ENCODING_ZSTD, 64, 9, 0, NULL,
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"valid-odd/digest-crc-0X.zt", "x", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 64, 16, 16,
     "crc32c:0XF81C8CF5",
     "c0522e48b7d17602f6f09ca7182ed4d283708f66fdbf9312f398ec28af7e109b"},
    {"valid-odd/raw-with-ulength.zt", "a", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 64, 16, 16, NULL,
     "c0522e48b7d17602f6f09ca7182ed4d283708f66fdbf9312f398ec28af7e109b"},
    {"valid-odd/explicit-defaults.zt", "a", "data", ZT_DTYPE_F32, ZT_TYPE_NONE, NULL, ZT_ENCODING_RAW, 64, 16, 16, NULL,
     "c0522e48b7d17602f6f09ca7182ed4d283708f66fdbf9312f398ec28af7e109b"},
};

/* Little-endian bytes from the host's order, in the file's order, to compute the digest. */
static void to_little_endian(unsigned char *bytes, size_t size, size_t width)
{
    size_t i, j;
    if (!is_big_endian())
        return;
    for (i = 0; i < size; i += width)
        for (j = 0; j < width / 2; j++) {
            unsigned char kept = bytes[i + j];
            bytes[i + j] = bytes[i + width - 1 - j];
            bytes[i + width - 1 - j] = kept;
        }
}

static void one_row(const row *r, zt_mode mode)
{
    zt_file *file = open_data_mode(r->file, mode);
    const zt_component *c = component_of(file, r->object, r->role);
    uint32_t caps = zt_component_caps(c);
    int other_order = zt_dtype_size(r->dtype) > 1 && (strstr(r->file, "big-endian") != NULL) != is_big_endian();
    int checkable = r->digest != NULL;
    unsigned char *bytes;
    size_t size;
    char hex[65];
    CHECK_STR(zt_component_role(c), r->role);
    CHECK_U64(component_info(c).role_length, strlen(r->role));
    CHECK_U64(zt_component_dtype(c), r->dtype);
    CHECK_STR(dtype_name(c), zt_dtype_name(r->dtype));
    CHECK_U64(zt_component_type(c), r->type);
    if (r->type != ZT_TYPE_NONE)
        CHECK_STR(type_name(c), r->type_name);
    else
        CHECK(type_name(c) == NULL); /* also if the file repeats the dtype */
    CHECK_U64(zt_component_encoding(c), r->encoding);
    CHECK_STR(encoding_name(c), zt_encoding_name(r->encoding));
    CHECK_U64(component_info(c).offset, r->offset);
    CHECK_U64(component_info(c).stored_size, r->stored);
    {
        uint64_t measured = 0;
        CHECK(zt_component_size(c) == r->size || zt_component_size(c) == ZT_UNKNOWN_SIZE);
        CHECK_STATUS(zt_component_measure(c, NULL, NULL, &measured), ZT_OK);
        CHECK_U64(measured, r->size);
        CHECK_U64(zt_component_size(c), r->size);
    }
    if (r->digest)
        CHECK_STR(zt_component_digest(c), r->digest);
    else
        CHECK(zt_component_digest(c) == NULL);
    CHECK(caps & ZT_CAP_READ);
    CHECK(!(caps & ZT_CAP_MAP) == (r->encoding != ZT_ENCODING_RAW || other_order || mode == ZT_MODE_READ));
    CHECK(r->encoding != ZT_ENCODING_RAW || (caps & ZT_CAP_RANGE));
    CHECK(!(caps & ZT_CAP_VERIFY) == !checkable);
    CHECK(!(caps & ZT_CAP_DIRECT)); /* none starts at a multiple of 4096 */
    CHECK(!(caps & ~(uint32_t)63));
    bytes = read_component(c, &size);
    CHECK_U64(size, r->size);
    to_little_endian(bytes, size, zt_dtype_size(r->dtype));
    sha256_hex(bytes, size, hex);
    CHECK_STR(hex, r->sha256);
    free(bytes);
    CHECK_STATUS(verify_component(file, c), checkable || r->stored == 0 ? ZT_OK : ZT_ERROR_UNSUPPORTED);
    zt_close(file);
}

static void unknown_names(void)
{
    unsigned char got[64];
    zt_file *file = open_data("invalid/dtype-unknown.zt");
    const zt_component *c = component_of(file, "a", "data");
    const void *ptr = NULL;
    zt_buffer *buffer = NULL;
    CHECK_U64(zt_component_dtype(c), ZT_DTYPE_OTHER);
    CHECK_STR(dtype_name(c), "f24");
    CHECK_U64(component_info(c).stored_size, 16);
    CHECK(!(zt_component_caps(c) & (ZT_CAP_READ | ZT_CAP_MAP | ZT_CAP_RANGE | ZT_CAP_DIRECT)));
    CHECK_STATUS(zt_component_ptr(c, &ptr, NULL), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_component_read(c, got, sizeof got), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "f24") != NULL);
    CHECK_STATUS(zt_component_read_range(c, 0, got, 4), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_component_load(c, NULL, &buffer), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_object_read_as(zt_object_at(file, 0), ZT_DTYPE_F32, got, sizeof got, NULL), ZT_ERROR_UNSUPPORTED);
    zt_close(file);

    file = open_data("invalid/encoding-lz4.zt");
    c = component_of(file, "a", "data");
    CHECK_U64(zt_component_encoding(c), ZT_ENCODING_OTHER);
    CHECK_STR(encoding_name(c), "lz4");
    CHECK(!(zt_component_caps(c) & (ZT_CAP_READ | ZT_CAP_MAP | ZT_CAP_RANGE | ZT_CAP_DIRECT)));
    CHECK_STATUS(zt_component_ptr(c, &ptr, NULL), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_component_read(c, got, sizeof got), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "lz4") != NULL);
    CHECK_STATUS(zt_component_read_range(c, 0, got, 4), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_object_read_as(zt_object_at(file, 0), ZT_DTYPE_F32, got, sizeof got, NULL), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_component_load(c, NULL, &buffer), ZT_ERROR_UNSUPPORTED);
    CHECK(buffer == NULL && ptr == NULL);
    zt_close(file);

    /* The bytes of an unknown logical type can be read, but not converted. */
    file = open_data("valid-odd/unknown-type.zt");
    c = component_of(file, "x", "data");
    CHECK_U64(zt_component_type(c), ZT_TYPE_OTHER);
    CHECK_STR(type_name(c), "f4_e2m1x2");
    CHECK_STATUS(zt_component_ptr(c, &ptr, NULL), ZT_OK);
    CHECK(memcmp(ptr, "12345", 5) == 0);
    CHECK_STATUS(zt_object_read_as(zt_object_at(file, 0), ZT_DTYPE_F32, got, sizeof got, NULL), ZT_ERROR_UNSUPPORTED);
    zt_close(file);
}

/* Components on separate pages are in writer_layout.c. */
static void page_exclusive(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-all-dtypes.zt"); /* all in one page */
    CHECK(!(zt_component_caps(component_of(file, "f32", "data")) & ZT_CAP_PAGE_EXCLUSIVE));
    zt_close(file);
    file = open_data("valid-odd/gaps.zt"); /* alone, but inside a page */
    CHECK(!(zt_component_caps(component_of(file, "x", "data")) & ZT_CAP_PAGE_EXCLUSIVE));
    zt_close(file);
    file = open_data("valid-odd/alias.zt");
    CHECK(!(zt_component_caps(component_of(file, "a", "data")) & ZT_CAP_PAGE_EXCLUSIVE));
    zt_close(file);
}

static void digests(void)
{
    static const struct { const char *file; zt_status status; int cap; } broken[] = {
        {"invalid/digest-sha256-flipped-bit.zt", ZT_ERROR_DIGEST_MISMATCH, 1},
        {"invalid/digest-crc32c-flipped-bit.zt", ZT_ERROR_DIGEST_MISMATCH, 1},
        {"invalid/digest-crc32c-plain-flipped-bit.zt", ZT_ERROR_DIGEST_MISMATCH, 1},
        {"invalid/digest-crc32-not-c.zt", ZT_ERROR_DIGEST_MISMATCH, 1},
        {"invalid/digest-of-decoded.zt", ZT_ERROR_DIGEST_MISMATCH, 1},
        {"invalid/digest-zstd-mismatch.zt", ZT_ERROR_DIGEST_MISMATCH, 1},
        {"invalid/v0.1-checksum-mismatch.zt", ZT_ERROR_DIGEST_MISMATCH, 1},
        {"invalid/digest-form-no-colon.zt", ZT_ERROR_CORRUPT, 0},
        {"invalid/digest-form-63.zt", ZT_ERROR_CORRUPT, 0},
        {"invalid/digest-form-not-hex.zt", ZT_ERROR_CORRUPT, 0},
        {"invalid/digest-form-crc-9.zt", ZT_ERROR_CORRUPT, 0},
        {"invalid/digest-unknown-algorithm.zt", ZT_ERROR_UNSUPPORTED, 0},
        {"valid-odd/digest-upper-hex.zt", ZT_OK, 1},
        {"valid-odd/digest-crc-0x-lower.zt", ZT_OK, 1},
    };
    size_t i, mode;
    for (i = 0; i < COUNT(broken); i++) {
        for (mode = 0; mode < 2; mode++) {
            zt_file *file = open_data_mode(broken[i].file, (zt_mode)mode);
            const zt_component *c = zt_component_at(zt_object_at(file, 0), 0);
            unsigned char got[4096];
            CHECK(zt_component_digest(c) != NULL);
            CHECK(!(zt_component_caps(c) & ZT_CAP_VERIFY) == !broken[i].cap);
            CHECK_STATUS(verify_component(file, c), broken[i].status);
            /* Reading does not check digests. */
            CHECK_STATUS(zt_component_read(c, got, sizeof got), ZT_OK);
            zt_close(file);
        }
    }
}

int main(void)
{
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        one_row(&rows[i], ZT_MODE_MAP);
        one_row(&rows[i], ZT_MODE_READ);
    }
    unknown_names();
    page_exclusive();
    digests();
    return check_done("component");
}
