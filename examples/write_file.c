/*
 * Writes a .zt file: a tensor in one call, a compressed one with attributes, a sparse matrix, and a tensor
 * whose bytes are written in pieces.
 *
 *     write_file FILE
 */
#include <stdio.h>
#include <ztensor_advanced.h>

static zt_status write_weight(zt_writer *writer)
{
    static const float weight[2][3] = {{1, 2, 3}, {4, 5, 6}};
    static const uint64_t shape[] = {2, 3};

    return zt_write_dense(writer, "weight", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, weight, sizeof weight);
}

static zt_status write_embedding(zt_writer *writer)
{
    static const uint16_t embedding[256] = {0x3c00, 0xc000}; /* the bits of 1 and -2; the rest is 0 */
    static const uint64_t shape[] = {16, 16};
    const zt_component_desc data = {
        .struct_size = sizeof data,
        .role = "data",
        .dtype = ZT_DTYPE_F16,
        .encoding = ZT_ENCODING_ZSTD,
        .digest = ZT_DIGEST_SHA256,
        .data = embedding,
        .size = sizeof embedding,
    };
    const zt_object_desc object = {
        .struct_size = sizeof object,
        .name = "embedding",
        .format = ZT_FORMAT_DENSE,
        .shape = shape,
        .rank = 2,
        .components = &data,
        .component_count = 1,
        .attributes_json = "{\"trained\": true, \"scale\": 0.5}",
    };

    return zt_write_object(writer, &object);
}

/* The rows (0 7 0 0) (0 0 0 0) (8 0 0 9). */
static zt_status write_sparse(zt_writer *writer)
{
    static const uint64_t shape[] = {3, 4}, columns[] = {1, 0, 3}, row_starts[] = {0, 1, 1, 3};
    static const double values[] = {7, 8, 9};

    return zt_write_csr(writer, "sparse", 0, ZT_DTYPE_F64, ZT_TYPE_NONE, shape, 3, values, sizeof values, columns,
                        row_starts);
}

/* A component may be larger than memory: only one piece is in memory at a time. */
static zt_status write_counter(zt_writer *writer)
{
    static const uint64_t shape[] = {100, 10};
    const zt_object_desc object = {.struct_size = sizeof object, .name = "counter", .format = ZT_FORMAT_DENSE,
                                   .shape = shape, .rank = 2};
    const zt_component_desc data = {.struct_size = sizeof data, .role = "data", .dtype = ZT_DTYPE_I32};
    zt_status status = zt_write_begin(writer, &object);

    if (status == ZT_OK)
        status = zt_write_component(writer, &data);
    for (int32_t row = 0; row < 100 && status == ZT_OK; row++) {
        int32_t piece[10];
        for (int32_t i = 0; i < 10; i++)
            piece[i] = row * 10 + i;
        status = zt_write_data(writer, piece, sizeof piece);
    }
    return status == ZT_OK ? zt_write_end(writer) : status;
}

int main(int argc, char **argv)
{
    const zt_write_options options = {.struct_size = sizeof options, .digest = ZT_DIGEST_CRC32C};
    zt_write_summary summary = ZT_INIT(zt_write_summary);
    zt_writer *writer;

    if (argc != 2) {
        fprintf(stderr, "usage: write_file FILE\n");
        return 2;
    }
    if (zt_write_create(argv[1], &options, &writer) != ZT_OK ||
        zt_write_attribute(writer, NULL, 0, "made by", &ZT_ATTRIBUTE_STRING("write_file.c")) != ZT_OK ||
        write_weight(writer) != ZT_OK || write_embedding(writer) != ZT_OK || write_sparse(writer) != ZT_OK ||
        write_counter(writer) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        zt_write_abort(writer); /* accepts NULL, which zt_write_create stores on failure */
        return 1;
    }
    /* Only now FILE exists, complete. This frees the writer, whatever it returns. */
    if (zt_write_finish(writer, &summary) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    printf("%s: %d objects, %d bytes\n", argv[1], (int)summary.objects, (int)summary.file_size);
    return 0;
}
