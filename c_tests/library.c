/* Chapter "library" of the header: versions, the numbers and their names, the last error. */
#include "support.h"

typedef struct named { int32_t number; int32_t pinned; const char *name; } named;

/* Numbers never change, so each is listed here again. */
static const named statuses[] = {
    {ZT_OK, 0, "ZT_OK"},
    {ZT_ERROR_INVALID_ARGUMENT, 1, "ZT_ERROR_INVALID_ARGUMENT"},
    {ZT_ERROR_IO, 2, "ZT_ERROR_IO"},
    {ZT_ERROR_NOT_FOUND, 3, "ZT_ERROR_NOT_FOUND"},
    {ZT_ERROR_UNKNOWN_CONTAINER, 4, "ZT_ERROR_UNKNOWN_CONTAINER"},
    {ZT_ERROR_CORRUPT, 5, "ZT_ERROR_CORRUPT"},
    {ZT_ERROR_DIGEST_MISMATCH, 6, "ZT_ERROR_DIGEST_MISMATCH"},
    {ZT_ERROR_UNSUPPORTED, 7, "ZT_ERROR_UNSUPPORTED"},
    {ZT_ERROR_LIMIT, 8, "ZT_ERROR_LIMIT"},
    {ZT_ERROR_BUFFER_SIZE, 9, "ZT_ERROR_BUFFER_SIZE"},
    {ZT_ERROR_NOT_MAPPABLE, 10, "ZT_ERROR_NOT_MAPPABLE"},
    {ZT_ERROR_STATE, 11, "ZT_ERROR_STATE"},
    {ZT_ERROR_EXISTS, 12, "ZT_ERROR_EXISTS"},
    {ZT_ERROR_CANCELLED, 13, "ZT_ERROR_CANCELLED"},
    {ZT_ERROR_OUT_OF_MEMORY, 14, "ZT_ERROR_OUT_OF_MEMORY"},
    {ZT_ERROR_INTERNAL, 15, "ZT_ERROR_INTERNAL"},
    {ZT_ERROR_NO_FILE, 16, "ZT_ERROR_NO_FILE"},
    {ZT_ERROR_TIMEOUT, 17, "ZT_ERROR_TIMEOUT"},
    {ZT_ERROR_BUSY, 18, "ZT_ERROR_BUSY"},
};

typedef struct dtype_row { zt_dtype number; zt_dtype pinned; const char *name; const char *name_0_1; size_t size; } dtype_row;

static const dtype_row dtypes[] = {
    {ZT_DTYPE_F64, 1, "f64", "float64", 8},   {ZT_DTYPE_F32, 2, "f32", "float32", 4},
    {ZT_DTYPE_F16, 3, "f16", "float16", 2},   {ZT_DTYPE_BF16, 4, "bf16", "bfloat16", 2},
    {ZT_DTYPE_I64, 5, "i64", "int64", 8},     {ZT_DTYPE_I32, 6, "i32", "int32", 4},
    {ZT_DTYPE_I16, 7, "i16", "int16", 2},     {ZT_DTYPE_I8, 8, "i8", "int8", 1},
    {ZT_DTYPE_U64, 9, "u64", "uint64", 8},    {ZT_DTYPE_U32, 10, "u32", "uint32", 4},
    {ZT_DTYPE_U16, 11, "u16", "uint16", 2},   {ZT_DTYPE_U8, 12, "u8", "uint8", 1},
    {ZT_DTYPE_BOOL, 13, "bool", "bool", 1},
};

static const named types[] = {
    {ZT_TYPE_F8_E4M3FN, 1, "f8_e4m3fn"},     {ZT_TYPE_F8_E5M2, 2, "f8_e5m2"},
    {ZT_TYPE_F8_E4M3FNUZ, 3, "f8_e4m3fnuz"}, {ZT_TYPE_F8_E5M2FNUZ, 4, "f8_e5m2fnuz"},
    {ZT_TYPE_COMPLEX64, 5, "complex64"},     {ZT_TYPE_COMPLEX128, 6, "complex128"},
    {ZT_TYPE_F8_E8M0, 8, "f8_e8m0"},         {ZT_TYPE_F4_E2M1, 9, "f4_e2m1"},
    {ZT_TYPE_F6_E2M3, 10, "f6_e2m3"},        {ZT_TYPE_F6_E3M2, 11, "f6_e3m2"},
    {ZT_TYPE_COMPLEX32, 12, "complex32"},    {ZT_TYPE_GGUF_Q4_0, 32, "gguf.q4_0"},
    {ZT_TYPE_GGUF_IQ4_XS, 51, "gguf.iq4_xs"}, {ZT_TYPE_GGUF_Q2_0, 58, "gguf.q2_0"},
};

static const named formats[] = {
    {ZT_FORMAT_DENSE, 1, "dense"},
    {ZT_FORMAT_SPARSE_CSR, 2, "sparse_csr"},
    {ZT_FORMAT_SPARSE_COO, 3, "sparse_coo"},
    {ZT_FORMAT_QUANTIZED_GROUP, 4, "quantized_group"},
};

static const named encodings[] = {
    {ZT_ENCODING_RAW, 1, "raw"},
    {ZT_ENCODING_ZSTD, 2, "zstd"},
    {ZT_ENCODING_DEFLATE, 4, "deflate"},
    {ZT_ENCODING_ZSTD_SEEKABLE, 5, "zt.zstd-seekable/1"},
};

static const int32_t strange[] = {100, 1000, -1, -2, INT32_MAX, INT32_MIN};

static void versions(void)
{
    char want[64];
    snprintf(want, sizeof want, "%d.%d.%d", ZT_VERSION_MAJOR, ZT_VERSION_MINOR, ZT_VERSION_PATCH);
    CHECK_STR(zt_version(), want);
    CHECK(zt_version() == zt_version());
    CHECK_U64(zt_abi_version(), ZT_ABI_VERSION);
    CHECK_U64(ZT_ABI_VERSION, 1);
}

static void last_error(void)
{
    char kept[512];
    zt_dtype dtype;
    CHECK_STR(zt_last_error(), "no error");
    CHECK_STATUS(zt_dtype_from_name("f32", &dtype), ZT_OK);
    CHECK_STR(zt_last_error(), "no error");
    CHECK_STATUS(zt_dtype_from_name("no such dtype", &dtype), ZT_ERROR_NOT_FOUND);
    CHECK(strcmp(zt_last_error(), "no error") != 0);
    CHECK(strlen(zt_last_error()) > 0);
    CHECK(strchr(zt_last_error(), '\n') == NULL);
    CHECK(strstr(zt_last_error(), "no such dtype") != NULL);
    snprintf(kept, sizeof kept, "%s", zt_last_error());
    CHECK_STATUS(zt_dtype_from_name("f32", &dtype), ZT_OK);
    CHECK_STR(zt_last_error(), kept);
    /* A message with a name that contains a line break and a quote is still one line. */
    CHECK_STATUS(zt_dtype_from_name("a\nb\"c", &dtype), ZT_ERROR_NOT_FOUND);
    CHECK(strchr(zt_last_error(), '\n') == NULL);
    CHECK(strcmp(zt_last_error(), kept) != 0);
}

static void status_names(void)
{
    size_t i;
    for (i = 0; i < COUNT(statuses); i++) {
        CHECK_U64(statuses[i].number, statuses[i].pinned);
        CHECK_STR(zt_status_name(statuses[i].number), statuses[i].name);
    }
    CHECK_STR(zt_status_name(19), "ZT_ERROR_UNKNOWN");
    for (i = 0; i < COUNT(strange); i++)
        CHECK_STR(zt_status_name(strange[i]), "ZT_ERROR_UNKNOWN");
}

static void dtype_names(void)
{
    static const char *const unknown[] = {"", "F32", "f32 ", " f32", "f", "float", "f128", "half", "f8_e4m3", "complex64"};
    zt_dtype dtype;
    size_t i;
    for (i = 0; i < COUNT(dtypes); i++) {
        CHECK_U64(dtypes[i].number, dtypes[i].pinned);
        CHECK_STR(zt_dtype_name(dtypes[i].number), dtypes[i].name);
        CHECK_U64(zt_dtype_size(dtypes[i].number), dtypes[i].size);
        dtype = -7;
        CHECK_STATUS(zt_dtype_from_name(dtypes[i].name, &dtype), ZT_OK);
        CHECK_U64(dtype, dtypes[i].number);
        dtype = -7;
        CHECK_STATUS(zt_dtype_from_name(dtypes[i].name_0_1, &dtype), ZT_OK);
        CHECK_U64(dtype, dtypes[i].number);
    }
    for (i = 0; i < COUNT(unknown); i++) {
        dtype = -7;
        CHECK_STATUS(zt_dtype_from_name(unknown[i], &dtype), ZT_ERROR_NOT_FOUND);
        CHECK(dtype == -7);
    }
    CHECK_U64(ZT_DTYPE_OTHER, 0);
    CHECK(zt_dtype_name(ZT_DTYPE_OTHER) == NULL && zt_dtype_size(ZT_DTYPE_OTHER) == 0);
    CHECK(zt_dtype_name((zt_dtype)COUNT(dtypes) + 1) == NULL && zt_dtype_size((zt_dtype)COUNT(dtypes) + 1) == 0);
    for (i = 0; i < COUNT(strange); i++)
        CHECK(zt_dtype_name(strange[i]) == NULL && zt_dtype_size(strange[i]) == 0);
    CHECK_STATUS(zt_dtype_from_name(NULL, &dtype), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_dtype_from_name("f32", NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_dtype_from_name(NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
}

static void containers_and_blocks(void)
{
    static const char *const names[] = {"zTensor 0.1", "zTensor 1.0", "zTensor 1.1", "zTensor 1.2", "zTensor 2",
                                        "safetensors", "GGUF", "npz", "PyTorch"};
    size_t elements = 7, bytes = 7, i;
    zt_type type;
    for (i = 0; i < COUNT(names); i++)
        CHECK_STR(zt_container_name((zt_container)i + 1), names[i]);
    CHECK(zt_container_name((zt_container)i + 1) == NULL);
    CHECK(ZT_CONTAINER_ZT_0_1 == 1 && ZT_CONTAINER_SAFETENSORS == 6 && ZT_CONTAINER_TORCH == 9);
    CHECK(zt_container_name(ZT_CONTAINER_NONE) == NULL && zt_container_name(255) == NULL);
    CHECK_STATUS(zt_type_block(ZT_TYPE_NONE, &elements, &bytes), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_type_block(ZT_TYPE_OTHER, &elements, &bytes), ZT_ERROR_INVALID_ARGUMENT);
    for (i = 0; i < COUNT(strange); i++) {
        CHECK_STATUS(zt_type_block(strange[i], &elements, &bytes), ZT_ERROR_INVALID_ARGUMENT);
        CHECK(zt_container_name(strange[i]) == NULL);
    }
    CHECK(elements == 7 && bytes == 7);
    CHECK_STATUS(zt_type_block(ZT_TYPE_F4_E2M1, &elements, &bytes), ZT_OK);
    CHECK(elements == 2 && bytes == 1);
    CHECK_STATUS(zt_type_block(ZT_TYPE_COMPLEX64, NULL, &bytes), ZT_OK);
    CHECK(bytes == 8);
    CHECK_STATUS(zt_type_block(ZT_TYPE_GGUF_Q6_K, &elements, NULL), ZT_OK);
    CHECK(elements == 256);
    for (type = ZT_TYPE_GGUF_Q4_0; type <= ZT_TYPE_GGUF_Q2_0; type++) {
        CHECK_STATUS(zt_type_block(type, &elements, &bytes), ZT_OK);
        CHECK(elements >= 32 && bytes >= 17 && zt_type_name(type) != NULL);
    }
}

/* Numbers of enum ggml_type in ggml.h. */
static void ggml_numbers(void)
{
    static const struct {
        int32_t number;
        zt_dtype dtype;
        zt_type type;
    } some[] = {{0, ZT_DTYPE_F32, ZT_TYPE_NONE},          {1, ZT_DTYPE_F16, ZT_TYPE_NONE},
                {2, ZT_DTYPE_U8, ZT_TYPE_GGUF_Q4_0},      {8, ZT_DTYPE_U8, ZT_TYPE_GGUF_Q8_0},
                {14, ZT_DTYPE_U8, ZT_TYPE_GGUF_Q6_K},     {24, ZT_DTYPE_I8, ZT_TYPE_NONE},
                {27, ZT_DTYPE_I64, ZT_TYPE_NONE},         {28, ZT_DTYPE_F64, ZT_TYPE_NONE},
                {30, ZT_DTYPE_BF16, ZT_TYPE_NONE},        {39, ZT_DTYPE_U8, ZT_TYPE_GGUF_MXFP4}};
    static const int32_t unknown[] = {-1, 4, 31, 1000, INT32_MAX, INT32_MIN};
    zt_dtype dtype;
    zt_type type;
    int32_t number, known = 0;
    size_t i;
    for (i = 0; i < COUNT(some); i++) {
        CHECK_STATUS(zt_type_from_ggml(some[i].number, &dtype, &type), ZT_OK);
        CHECK(dtype == some[i].dtype && type == some[i].type);
    }
    for (i = 0; i < COUNT(unknown); i++) {
        dtype = type = 77;
        CHECK_STATUS(zt_type_from_ggml(unknown[i], &dtype, &type), ZT_ERROR_NOT_FOUND);
        CHECK(dtype == 77 && type == 77);
    }
    /* Converts in both directions: the block types, and eight types without blocks. */
    for (i = 0; i < 100; i++) {
        if (zt_type_from_ggml((int32_t)i, &dtype, &type) != ZT_OK)
            continue;
        CHECK_STATUS(zt_type_ggml(dtype, type, &number), ZT_OK);
        CHECK(number == (int32_t)i);
        known++;
    }
    CHECK(known == 8 + ZT_TYPE_GGUF_Q2_0 - ZT_TYPE_GGUF_Q4_0 + 1);
    number = 77;
    CHECK_STATUS(zt_type_ggml(ZT_DTYPE_U64, ZT_TYPE_NONE, &number), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(zt_type_ggml(ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FN, &number), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(zt_type_ggml(ZT_DTYPE_F32, ZT_TYPE_GGUF_Q4_0, &number), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(zt_type_ggml(999, ZT_TYPE_NONE, &number), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_type_ggml(ZT_DTYPE_F32, ZT_TYPE_OTHER, &number), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(number == 77);
}

static void type_names(void)
{
    static const char *const unknown[] = {"", "F8_E5M2", "f8", "f4_e3m0", "complex", "complex256"};
    zt_type type;
    size_t i;
    for (i = 0; i < COUNT(types); i++) {
        CHECK_U64(types[i].number, types[i].pinned);
        CHECK_STR(zt_type_name(types[i].number), types[i].name);
        type = -7;
        CHECK_STATUS(zt_type_from_name(types[i].name, &type), ZT_OK);
        CHECK_U64(type, types[i].number);
    }
    for (i = 0; i < COUNT(unknown); i++) {
        type = -7;
        CHECK_STATUS(zt_type_from_name(unknown[i], &type), ZT_ERROR_NOT_FOUND);
        CHECK(type == -7);
    }
    CHECK(ZT_TYPE_NONE == 0 && ZT_TYPE_OTHER == 7);
    CHECK(zt_type_name(ZT_TYPE_NONE) == NULL);
    CHECK(zt_type_name(ZT_TYPE_OTHER) == NULL);
    CHECK(zt_type_name(255) == NULL);
    containers_and_blocks();
    ggml_numbers();
    for (i = 0; i < COUNT(strange); i++)
        CHECK(zt_type_name(strange[i]) == NULL);
    CHECK_STATUS(zt_type_from_name(NULL, &type), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_type_from_name("complex64", NULL), ZT_ERROR_INVALID_ARGUMENT);
}

static void format_and_encoding_names(void)
{
    size_t i;
    for (i = 0; i < COUNT(formats); i++) {
        CHECK_U64(formats[i].number, formats[i].pinned);
        CHECK_STR(zt_format_name(formats[i].number), formats[i].name);
    }
    for (i = 0; i < COUNT(encodings); i++) {
        CHECK_U64(encodings[i].number, encodings[i].pinned);
        CHECK_STR(zt_encoding_name(encodings[i].number), encodings[i].name);
    }
    CHECK(ZT_FORMAT_OTHER == 0 && ZT_ENCODING_DEFAULT == 0 && ZT_ENCODING_OTHER == 3);
    CHECK(zt_format_name(ZT_FORMAT_OTHER) == NULL && zt_format_name(5) == NULL);
    CHECK(zt_encoding_name(ZT_ENCODING_DEFAULT) == NULL && zt_encoding_name(ZT_ENCODING_OTHER) == NULL);
    CHECK(zt_encoding_name(encodings[COUNT(encodings) - 1].number + 1) == NULL);
    for (i = 0; i < COUNT(strange); i++)
        CHECK(zt_format_name(strange[i]) == NULL && zt_encoding_name(strange[i]) == NULL);
}

static void other_numbers(void)
{
    CHECK(ZT_DIGEST_DEFAULT == 0 && ZT_DIGEST_NONE == 1 && ZT_DIGEST_CRC32C == 2 && ZT_DIGEST_SHA256 == 3);
    CHECK(ZT_DIGEST_XXH3 == 4 && ZT_SPEC_2 == 20000);
    CHECK(ZT_MODE_MAP == 0 && ZT_MODE_READ == 1 && ZT_MODE_AUTO == 2 && ZT_MODE_PRIVATE == 3);
    CHECK(ZT_ADVICE_NONE == 0 && ZT_ADVICE_SEQUENTIAL == 1 && ZT_ADVICE_WILLNEED == 3);
    CHECK(ZT_ADVICE_POPULATE == 4 && ZT_ADVICE_EVICT == 6);
    CHECK(ZT_ADVICE_RELEASE == 7);
    CHECK(ZT_DIRECT_AUTO == 0 && ZT_DIRECT_NEVER == 1 && ZT_DIRECT_ALWAYS == 2);
    CHECK(ZT_SPEC_DEFAULT == 0 && ZT_SPEC_0_1_0 == 100 && ZT_SPEC_1_1_0 == 10100 && ZT_SPEC_1_2_0 == 10200);
    CHECK(ZT_VALUE_KIND_NULL == 0 && ZT_VALUE_KIND_BOOL == 1 && ZT_VALUE_KIND_INT == 2 && ZT_VALUE_KIND_FLOAT == 3);
    CHECK(ZT_VALUE_KIND_STRING == 4 && ZT_VALUE_KIND_BYTES == 5 && ZT_VALUE_KIND_ARRAY == 6 && ZT_VALUE_KIND_MAP == 7);
    CHECK(ZT_VALUE_KIND_TAG == 8 && ZT_VALUE_KIND_OTHER == 9);
    CHECK(ZT_CAP_MAP == 1 && ZT_CAP_READ == 2 && ZT_CAP_RANGE == 4);
    CHECK(ZT_CAP_DIRECT == 8 && ZT_CAP_VERIFY == 16 && ZT_CAP_PAGE_EXCLUSIVE == 32);
    CHECK(ZT_VERIFY_DIGESTS == 1 && ZT_VERIFY_CONTENTS == 2 && ZT_VERIFY_PADDING == 4);
}

int main(void)
{
    last_error(); /* first, because nothing has failed yet */
    versions();
    status_names();
    dtype_names();
    type_names();
    format_and_encoding_names();
    other_numbers();
    return check_done("library");
}
