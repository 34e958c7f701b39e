/* Prints hashes of the decoded numbers of every block type, and of blocks made from numbers, to compare two
 * platforms. examples/ggml/test_blocks.cpp compares the same blocks with ggml.
 *     blocks . SCRATCH_FILE */
#include "../data/blocks/blocks.h"
#include "print.h"

#define BLOCKS 10000

static const char *scratch;

static void stop(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, zt_last_error());
    exit(1);
}

static void *memory_for(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        stop("no memory");
    return memory;
}

/* Writes one object and opens the file. */
static zt_file *written(zt_dtype dtype, zt_type type, size_t elements, const void *data, size_t size)
{
    const uint64_t shape[2] = {100, elements / 100};
    zt_writer *writer = NULL;
    zt_file *file = NULL;
    if (zt_write_create(scratch, NULL, &writer) != ZT_OK ||
        zt_write_dense(writer, "w", 0, dtype, type, shape, 2, data, size) != ZT_OK || zt_write_finish(writer, NULL) != ZT_OK ||
        zt_open(scratch, NULL, &file) != ZT_OK)
        stop("cannot write");
    return file;
}

static void print_decoded(const struct block_type *type)
{
    const size_t elements = BLOCKS * type->elements, size = BLOCKS * type->bytes;
    uint8_t *blocks = (uint8_t *)memory_for(size);
    uint32_t *numbers = (uint32_t *)memory_for(elements * 4);
    zt_type of;
    zt_dtype dtype;
    zt_file *file;
    zt_status status;
    size_t i, written_size, nan = 0;
    state = 40;
    for (i = 0; i < BLOCKS; i++)
        make_block(type, blocks + i * type->bytes, i);
    if (zt_type_from_ggml(type->ggml, &dtype, &of) != ZT_OK)
        stop(type->name);
    file = written(dtype, of, elements, blocks, size);
    if (zt_object_read_as(zt_object_at(file, 0), ZT_DTYPE_F32, numbers, elements * 4, &written_size) != ZT_OK ||
        written_size != elements * 4)
        stop(type->name);
    for (i = 0; i < elements; i++)
        if ((numbers[i] & 0x7fffffff) > 0x7f800000) { /* all NaN are equal */
            numbers[i] = 0x7fc00000;
            nan++;
        }
    printf("%s: %d blocks, %lu NaN, f32 %016" PRIx64, type->name, BLOCKS, (unsigned long)nan,
           hash_of_elements(numbers, elements * 4, 4));
    status = zt_object_read_as(zt_object_at(file, 0), ZT_DTYPE_BF16, numbers, elements * 4, &written_size);
    if (status != ZT_OK) {
        printf(" bf16 %s\n", zt_status_name(status));
    } else {
        uint16_t *halves = (uint16_t *)numbers;
        for (i = 0; i < elements; i++)
            if ((halves[i] & 0x7fff) > 0x7f80)
                halves[i] = 0x7fc0;
        printf(" bf16 %016" PRIx64 "\n", hash_of_elements(halves, elements * 2, 2));
    }
    zt_close(file);
    free(numbers);
    free(blocks);
}

/* Within the range of the scales of all types. */
static float limited(float x)
{
    return x > 60000 ? 60000 : x < -60000 ? -60000 : x;
}

static void print_quantized(const struct block_type *type, int kind)
{
    const size_t elements = BLOCKS / NUMBER_KINDS * type->elements;
    size_t size;
    float *numbers = (float *)memory_for(elements * 4);
    uint8_t *blocks = (uint8_t *)memory_for(elements * 4);
    zt_copy_options options;
    zt_writer *writer = NULL;
    zt_file *file, *made = NULL;
    const zt_component *data;
    char *path = (char *)memory_for(strlen(scratch) + 3);
    size_t i, k;
    state = 40;
    for (i = 0; i < elements; i += type->elements) {
        const uint32_t of_block = next();
        for (k = 0; k < type->elements; k++)
            numbers[i + k] = limited(number(kind, of_block));
    }
    file = written(ZT_DTYPE_F32, ZT_TYPE_NONE, elements, numbers, elements * 4);
    INIT(options);
    if (zt_type_from_ggml(type->ggml, NULL, &options.type) != ZT_OK)
        stop(type->name);
    sprintf(path, "%s.2", scratch);
    if (zt_write_create(path, NULL, &writer) != ZT_OK)
        stop("cannot write");
    if (zt_write_copy(writer, zt_object_at(file, 0), &options) != ZT_OK || zt_write_finish(writer, NULL) != ZT_OK ||
        zt_open(path, NULL, &made) != ZT_OK)
        stop("cannot quantize");
    data = zt_component_find(zt_object_at(made, 0), "data");
    size = (size_t)zt_component_size(data);
    if (size != elements / type->elements * type->bytes || zt_component_read(data, blocks, size) != ZT_OK)
        stop("cannot read");
    printf("%s of numbers of kind %d: %016" PRIx64 "\n", type->name, kind, hash_of(blocks, size));
    zt_close(made);
    zt_close(file);
    remove(path);
    free(path);
    free(blocks);
    free(numbers);
}

int main(int argc, char **argv)
{
    size_t i;
    int kind;
    if (argc != 3) {
        fprintf(stderr, "usage: blocks . SCRATCH_FILE\n");
        return 2;
    }
    print_plain_lines();
    scratch = argv[2];
    for (i = 0; i < BLOCK_TYPES; i++)
        print_decoded(&block_types[i]);
    for (i = 0; i < QUANTIZED_TYPES; i++)
        for (kind = 0; kind < NUMBER_KINDS; kind++)
            print_quantized(block_type_of(quantized_types[i]), kind);
    remove(scratch);
    return 0;
}
