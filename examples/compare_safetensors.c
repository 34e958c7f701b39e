/*
 * Compares every tensor of a .zt file, byte for byte, with the safetensors file from which it was converted.
 *
 *     compare_safetensors FILE.zt FILE.safetensors
 *
 * Exit status: 0 equal, 1 a difference or an error, 2 wrong usage.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <ztensor_advanced.h>

#include "safetensors_header.h"

#define MAX_HEADER (100u << 20)

typedef struct comparison {
    const zt_file *file;
    FILE *source;
    uint64_t data; /* at most 8 + MAX_HEADER: the start of the tensors' bytes in the source */
    uint64_t tensors, bytes, different;
} comparison;

static const struct {
    const char *dtype_name;
    zt_dtype dtype;
    zt_type type;
} DTYPES[] = {
    {"F64", ZT_DTYPE_F64, ZT_TYPE_NONE},         {"F32", ZT_DTYPE_F32, ZT_TYPE_NONE},
    {"F16", ZT_DTYPE_F16, ZT_TYPE_NONE},         {"BF16", ZT_DTYPE_BF16, ZT_TYPE_NONE},
    {"I64", ZT_DTYPE_I64, ZT_TYPE_NONE},         {"I32", ZT_DTYPE_I32, ZT_TYPE_NONE},
    {"I16", ZT_DTYPE_I16, ZT_TYPE_NONE},         {"I8", ZT_DTYPE_I8, ZT_TYPE_NONE},
    {"U64", ZT_DTYPE_U64, ZT_TYPE_NONE},         {"U32", ZT_DTYPE_U32, ZT_TYPE_NONE},
    {"U16", ZT_DTYPE_U16, ZT_TYPE_NONE},         {"U8", ZT_DTYPE_U8, ZT_TYPE_NONE},
    {"BOOL", ZT_DTYPE_BOOL, ZT_TYPE_NONE},       {"F8_E4M3", ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FN},
    {"F8_E5M2", ZT_DTYPE_U8, ZT_TYPE_F8_E5M2},   {"F8_E4M3FNUZ", ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FNUZ},
    {"C64", ZT_DTYPE_F32, ZT_TYPE_COMPLEX64},    {"F8_E5M2FNUZ", ZT_DTYPE_U8, ZT_TYPE_F8_E5M2FNUZ},
};

static int same_dtype(const zt_component *component, const char *dtype_name)
{
    for (size_t i = 0; i < sizeof DTYPES / sizeof DTYPES[0]; i++)
        if (strcmp(DTYPES[i].dtype_name, dtype_name) == 0)
            return zt_component_dtype(component) == DTYPES[i].dtype &&
                   zt_component_type(component) == DTYPES[i].type;
    return 0;
}

static int same_shape(const zt_object *object, const st_tensor *tensor)
{
    return zt_object_rank(object) == tensor->rank &&
           memcmp(zt_object_shape(object), tensor->shape, tensor->rank * sizeof tensor->shape[0]) == 0;
}

/* Compares the bytes of the .zt file with those of the source, a piece at a time. */
static const char *compare_bytes(const comparison *c, const zt_component *component, const st_tensor *tensor)
{
    static char piece[1 << 16];
    zt_buffer *buffer;
    const char *bytes, *difference = NULL;
    size_t left;

    if (zt_component_load(component, NULL, &buffer) != ZT_OK)
        return zt_last_error();
    bytes = zt_buffer_data(buffer);
    left = zt_buffer_size(buffer);
    if (left != tensor->end - tensor->begin)
        difference = "has a different size";
    else if (tensor->end > LONG_MAX - c->data || fseek(c->source, (long)(c->data + tensor->begin), SEEK_SET) != 0)
        difference = "cannot be found in the source";
    while (left > 0 && !difference) {
        size_t n = left < sizeof piece ? left : sizeof piece;
        if (fread(piece, 1, n, c->source) != n)
            difference = "cannot be read from the source";
        else if (memcmp(piece, bytes, n) != 0)
            difference = "has different bytes";
        bytes += n;
        left -= n;
    }
    zt_buffer_free(buffer);
    return difference;
}

static int compare(void *context, const st_tensor *tensor)
{
    comparison *c = context;
    const zt_object *object = zt_object_find_n(c->file, tensor->name, tensor->name_length);
    const zt_component *component = zt_component_find(object, "data");
    const char *difference = !component                                ? "is missing"
                             : !same_dtype(component, tensor->dtype)   ? "has a different dtype"
                             : !same_shape(object, tensor)             ? "has a different shape"
                                                                       : compare_bytes(c, component, tensor);

    c->tensors++;
    c->bytes += tensor->end - tensor->begin;
    if (difference) {
        c->different++;
        printf("%s: %s\n", tensor->name, difference);
    }
    return 1;
}

/* Reads the header's JSON; free() it. */
static char *read_header(FILE *source, size_t *size)
{
    unsigned char length[8];
    uint64_t n = 0;
    char *json;

    if (fread(length, 1, 8, source) != 8)
        return NULL;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | length[i];
    if (n == 0 || n > MAX_HEADER)
        return NULL;
    json = malloc((size_t)n);
    if (json && fread(json, 1, (size_t)n, source) != n) {
        free(json);
        json = NULL;
    }
    *size = (size_t)n;
    return json;
}

static int compare_all(const zt_file *file, FILE *source)
{
    comparison c = {.file = file, .source = source};
    size_t size = 0;
    char *json = read_header(source, &size);
    int sound;

    c.data = 8 + size;
    sound = json && st_each(json, size, compare, &c);
    free(json);
    if (!sound) {
        fprintf(stderr, "the source is not a valid safetensors file\n");
        return 1;
    }
    if (c.tensors != zt_object_count(file)) {
        printf("%zu objects, but %" PRIu64 " tensors\n", zt_object_count(file), c.tensors);
        c.different++;
    }
    if (c.different == 0)
        printf("%" PRIu64 " tensors, %" PRIu64 " bytes: all equal\n", c.tensors, c.bytes);
    return c.different != 0;
}

int main(int argc, char **argv)
{
    zt_file *file;
    FILE *source;
    int different;

    if (argc != 3) {
        fprintf(stderr, "usage: compare_safetensors FILE.zt FILE.safetensors\n");
        return 2;
    }
    if (zt_open(argv[1], NULL, &file) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    source = fopen(argv[2], "rb");
    if (!source)
        perror(argv[2]);
    different = source ? compare_all(file, source) : 1;
    if (source)
        fclose(source);
    zt_close(file);
    return different;
}
