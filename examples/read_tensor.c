/*
 * Reads one tensor: its bytes without a copy, its elements as float from any dtype, and one row of it.
 *
 *     read_tensor FILE NAME
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <ztensor.h>

static int fail(void)
{
    fprintf(stderr, "%s\n", zt_last_error());
    return 1;
}

/* The bytes in the file's mapping, or decoded once and kept by the file. */
static int print_view(const zt_file *file, const char *name)
{
    zt_tensor tensor = ZT_INIT(zt_tensor);

    if (zt_tensor_find(file, name, &tensor) != ZT_OK)
        return fail();
    printf("%s: %s [", name, zt_dtype_name(tensor.dtype));
    for (size_t i = 0; i < tensor.rank; i++)
        printf("%s%" PRIu64, i ? ", " : "", tensor.shape[i]);
    printf("], %zu bytes\n", tensor.size);
    return 0;
}

/* All elements as float, converted from f16, bf16, integers and 8-bit floats. */
static int print_values(const zt_object *object)
{
    uint64_t size;
    size_t written, count;
    float *values;
    double sum = 0;

    if (zt_object_size_as(object, ZT_DTYPE_F32, &size) != ZT_OK)
        return fail();
    values = size < SIZE_MAX ? malloc((size_t)size + 1) : NULL;
    if (!values) {
        fprintf(stderr, "cannot allocate %" PRIu64 " bytes\n", size);
        return 1;
    }
    if (zt_object_read_as(object, ZT_DTYPE_F32, values, (size_t)size, &written) != ZT_OK) {
        free(values);
        return fail();
    }
    count = written / sizeof *values;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    printf("first:");
    for (size_t i = 0; i < count && i < 4; i++)
        printf(" %g", values[i]);
    printf("\nsum: %g\n", sum);
    free(values);
    return 0;
}

/* The last row of a matrix: only these bytes are read. */
static int print_last_row(const zt_object *object)
{
    const uint64_t *shape = zt_object_shape(object);
    const uint64_t start[] = {shape[0] - 1, 0}, count[] = {1, shape[1]};
    uint64_t size = zt_component_size(zt_component_find(object, "data")) / shape[0];
    void *row = malloc(size ? (size_t)size : 1);
    int failed = !row || zt_object_read_slice(object, start, count, NULL, row, (size_t)size) != ZT_OK;

    if (!failed)
        printf("last row: %" PRIu64 " bytes\n", size);
    free(row);
    return failed ? fail() : 0;
}

int main(int argc, char **argv)
{
    const zt_object *object;
    zt_file *file;
    int failed;

    if (argc != 3) {
        fprintf(stderr, "usage: read_tensor FILE NAME\n");
        return 2;
    }
    if (zt_open(argv[1], NULL, &file) != ZT_OK)
        return fail();
    failed = print_view(file, argv[2]); /* fails if the object does not exist or is not dense */
    object = zt_object_find(file, argv[2]);
    failed = failed || print_values(object);
    if (!failed && zt_object_rank(object) == 2 && zt_object_shape(object)[0] > 0)
        failed = print_last_row(object);
    zt_close(file);
    return failed;
}
