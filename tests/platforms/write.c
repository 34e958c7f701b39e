/* Writes files with computed values, and copies of files, and prints the hash of each, to compare two
 * platforms. The bytes must be the same everywhere.
 *     cd tests/data && find . -type f | LC_ALL=C sort | write . SCRATCH_FILE */
#include "print.h"

#define ELEMENTS 6000

static const zt_spec versions[] = {ZT_SPEC_0_1_0, ZT_SPEC_1_1_0, ZT_SPEC_1_2_0, ZT_SPEC_2};
static const char *scratch;
static uint32_t random_state;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* Compressible elements in host order. */
static void fill(unsigned char *bytes, zt_dtype dtype)
{
    size_t i, width = zt_dtype_size(dtype);
    for (i = 0; i < ELEMENTS; i++) {
        uint32_t value = next_random() & (dtype == ZT_DTYPE_BOOL ? 1 : 0x3ff);
        double f64 = (double)value * 0.25;
        float f32 = (float)value * 0.25f;
        uint64_t u64 = value * 0x100000001ull;
        uint32_t u32 = value * 0x10001u;
        uint16_t u16 = (uint16_t)(value * 3);
        uint8_t u8 = (uint8_t)value;
        const void *element = dtype == ZT_DTYPE_F64   ? (const void *)&f64
                              : dtype == ZT_DTYPE_F32 ? (const void *)&f32
                              : width == 8            ? (const void *)&u64
                              : width == 4            ? (const void *)&u32
                              : width == 2            ? (const void *)&u16
                                                      : (const void *)&u8;
        memcpy(bytes + i * width, element, width);
    }
}

/* The hash of the finished file, or the error. */
static void print_finished(zt_writer *writer)
{
    unsigned char *bytes;
    long size;
    FILE *file;
    zt_status status = zt_write_finish(writer, NULL);
    printf(" %s", zt_status_name(status));
    file = status == ZT_OK ? fopen(scratch, "rb") : NULL;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
        rewind(file);
        bytes = (unsigned char *)memory_of((size_t)size);
        if (fread(bytes, 1, (size_t)size, file) == (size_t)size)
            printf(" %ld %016" PRIx64, size, hash_of(bytes, (size_t)size));
        free(bytes);
    }
    if (file)
        fclose(file);
    printf("\n");
}

/* The results of all calls, as one number. */
static void add(uint32_t *outcomes, zt_status status)
{
    *outcomes = *outcomes * 31 + (uint32_t)status;
}

static void write_streamed(zt_writer *writer, zt_dtype dtype, const unsigned char *bytes, size_t size, uint32_t *outcomes)
{
    static const uint64_t shape[] = {ELEMENTS / 100, 100};
    char name[32];
    zt_object_desc object;
    zt_component_desc component;
    size_t at, length;
    INIT(object), INIT(component);
    snprintf(name, sizeof name, "streamed %d", (int)dtype);
    object.name = name;
    object.format = ZT_FORMAT_DENSE;
    object.shape = shape;
    object.rank = 2;
    component.role = "data";
    component.dtype = dtype;
    component.size = size;
    add(outcomes, zt_write_begin(writer, &object));
    add(outcomes, zt_write_component(writer, &component));
    for (at = 0; at < size; at += length) { /* pieces may end within elements */
        length = 1 + next_random() % 777;
        if (length > size - at)
            length = size - at;
        add(outcomes, zt_write_data(writer, bytes + at, length));
    }
    add(outcomes, zt_write_end(writer));
}

static void write_dense(zt_writer *writer, zt_dtype dtype, uint32_t *outcomes)
{
    static const uint64_t shape[] = {ELEMENTS / 100, 100};
    static unsigned char bytes[ELEMENTS * 8];
    char names[3][32];
    size_t i, size = ELEMENTS * zt_dtype_size(dtype);
    zt_write_request requests[2];
    fill(bytes, dtype);
    for (i = 0; i < 3; i++)
        snprintf(names[i], sizeof names[i], "dense %d %d", (int)i, (int)dtype);
    add(outcomes, zt_write_dense(writer, names[0], 0, dtype, ZT_TYPE_NONE, shape, 2, bytes, size));
    for (i = 0; i < 2; i++) {
        INIT(requests[i]);
        requests[i].name = names[i + 1];
        requests[i].shape = shape;
        requests[i].rank = 2;
        requests[i].data = bytes;
        requests[i].size = size;
        requests[i].dtype = dtype;
    }
    add(outcomes, zt_write_batch(writer, requests, 2));
    write_streamed(writer, dtype, bytes, size, outcomes);
}

static void write_structures(zt_writer *writer, uint32_t *outcomes)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    static const uint64_t indices[] = {0, 3, 1, 2, 4, 0}, indptr[] = {0, 2, 5, 6}, shape[] = {3, 5};
    static const uint64_t coords[] = {0, 0, 1, 1, 1, 2, 0, 3, 1, 2, 4, 0}, two[] = {2}, weights_shape[] = {4, 8};
    static const double complex[] = {1, 2, 3, 4};
    static const uint32_t weights[] = {0x12345678, 0x9abcdef0, 1, 2};
    static const uint16_t scales[] = {0x3c00, 0x3c01, 0x4000, 0x4100};
    static const char *const texts[] = {"a", "\xc3\xbc"};
    static const float numbers[] = {0.1f, -2, 3e30f};
    zt_quantized_desc quantized;
    zt_attribute attribute;
    add(outcomes, zt_write_csr(writer, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 6, values, sizeof values, indices, indptr));
    add(outcomes, zt_write_coo(writer, "coo", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, 6, values, sizeof values, coords));
    add(outcomes, zt_write_dense(writer, "complex", 0, ZT_DTYPE_F64, ZT_TYPE_COMPLEX128, two, 1, complex, sizeof complex));
    INIT(quantized);
    quantized.bits = 4;
    quantized.group_size = 8;
    quantized.packed_weight = weights;
    quantized.packed_weight_size = sizeof weights;
    quantized.packed_weight_dtype = ZT_DTYPE_U32;
    quantized.scales = scales;
    quantized.scales_size = sizeof scales;
    quantized.scales_dtype = ZT_DTYPE_F16;
    add(outcomes, zt_write_quantized(writer, "quantized", 0, weights_shape, 2, &quantized));
    INIT(attribute);
    attribute.kind = ZT_ATTRIBUTE_KIND_F64;
    attribute.f64 = 0.1;
    add(outcomes, zt_write_attribute(writer, NULL, 0, "f64", &attribute));
    attribute.kind = ZT_ATTRIBUTE_KIND_I64;
    attribute.i64 = -5000000000ll;
    add(outcomes, zt_write_attribute(writer, NULL, 0, "i64", &attribute));
    attribute.kind = ZT_ATTRIBUTE_KIND_JSON;
    attribute.data = "{\"a\":[1,2.5,null,true,{\"b\":1e300}]}";
    add(outcomes, zt_write_attribute(writer, NULL, 0, "json", &attribute));
    attribute.kind = ZT_ATTRIBUTE_KIND_NUMBERS;
    attribute.dtype = ZT_DTYPE_F32;
    attribute.data = numbers;
    attribute.count = COUNT(numbers);
    add(outcomes, zt_write_attribute(writer, NULL, 0, "numbers", &attribute));
    attribute.kind = ZT_ATTRIBUTE_KIND_STRINGS;
    attribute.dtype = 0;
    attribute.data = texts;
    attribute.count = COUNT(texts);
    add(outcomes, zt_write_attribute(writer, NULL, 0, "strings", &attribute));
}

static void write_all(zt_spec version, zt_encoding encoding, zt_digest digest, int32_t level, uint64_t frame_size)
{
    zt_write_options options;
    zt_writer *writer = NULL;
    zt_dtype dtype;
    uint32_t outcomes = 0;
    INIT(options);
    options.spec = version;
    options.encoding = encoding;
    options.digest = digest;
    options.zstd_level = level;
    options.frame_size = frame_size;
    random_state = 2463534242u;
    if (zt_write_create(scratch, &options, &writer) != ZT_OK) {
        printf("cannot create: %s\n", zt_last_error());
        return;
    }
    for (dtype = ZT_DTYPE_F64; dtype <= ZT_DTYPE_BOOL; dtype++)
        write_dense(writer, dtype, &outcomes);
    write_structures(writer, &outcomes);
    printf("version %u encoding %d digest %d level %d outcomes %08x", (unsigned)version, (int)encoding, (int)digest, (int)level,
           (unsigned)outcomes);
    print_finished(writer);
}

/* Copies a file to each version: unchanged, and decoded and compressed again. */
static void write_copies(const char *path, const char *name)
{
    size_t i, k, anew;
    zt_file *file = NULL;
    if (zt_open(path, NULL, &file) != ZT_OK)
        return;
    for (i = 0; i < COUNT(versions); i++)
        for (anew = 0; anew < 2; anew++) {
            zt_write_options options;
            zt_writer *writer = NULL;
            uint32_t outcomes = 0;
            zt_copy_options copy;
            INIT(options), INIT(copy);
            copy.encoding = ZT_ENCODING_ZSTD, copy.digest = ZT_DIGEST_CRC32C;
            options.spec = versions[i];
            if (zt_write_create(scratch, &options, &writer) != ZT_OK)
                continue;
            add(&outcomes, zt_write_copy_attributes(writer, file));
            for (k = 0; k < zt_object_count(file); k++) {
                const zt_object *object = zt_object_at(file, k);
                add(&outcomes, zt_write_copy(writer, object, anew ? &copy : NULL));
            }
            printf("%s to %u%s outcomes %08x", name, (unsigned)versions[i], anew ? " anew" : "", (unsigned)outcomes);
            print_finished(writer);
        }
    zt_close(file);
}

int main(int argc, char **argv)
{
    static const struct {
        int32_t level;
        uint64_t frame_size;
    } levels[] = {{0, 0}, {1, 4096}, {12, 0}};
    size_t i, k;
    zt_digest digest;
    if (argc != 3) {
        fprintf(stderr, "usage: write FOLDER SCRATCH_FILE <PATHS\n");
        return 2;
    }
    print_plain_lines();
    scratch = argv[2];
    for (i = 0; i < COUNT(versions); i++)
        for (digest = ZT_DIGEST_NONE; digest <= ZT_DIGEST_XXH3; digest++) {
            write_all(versions[i], ZT_ENCODING_RAW, digest, 0, 0);
            for (k = 0; k < COUNT(levels); k++)
                write_all(versions[i], ZT_ENCODING_ZSTD, digest, levels[k].level, levels[k].frame_size);
        }
    each_path(argv[1], write_copies);
    remove(scratch);
    return 0;
}
