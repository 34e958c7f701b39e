/* Writes blocks of every type of ggml with the elements that ggml's C makes of them: the lines of vectors.txt. Or,
 * with three arguments, the blocks that it makes of numbers. See make.sh. */
#define GGML_COMMON_DECL_C
#include "ggml-common.h"
#include "ggml-quants.h"
#include "ggml-impl.h"
#include "blocks.h"
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 16

/* What ggml-quants.c calls to quantise, which is not done here. */
void ggml_abort(const char *file, int line, const char *format, ...) { (void)file, (void)line, (void)format, abort(); }
size_t ggml_row_size(enum ggml_type type, int64_t count) { return (void)type, (void)count, (size_t)0; }
size_t ggml_type_size(enum ggml_type type) { return (void)type, (size_t)0; }
const char *ggml_type_name(enum ggml_type type) { return (void)type, ""; }

/* ggml has no function for q8_1: its scale times its integers. */
static void dequantize_row_q8_1(const block_q8_1 *x, float *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i / 32].qs[i % 32] * GGML_FP16_TO_FP32(x[i / 32].d);
}

/* In the order of block_types. */
static void (*const decoders[])(const void *, float *, int64_t) = {
#define DECODER(name) (void (*)(const void *, float *, int64_t))dequantize_row_##name
    DECODER(q1_0), DECODER(q2_0), DECODER(q4_0), DECODER(q4_1), DECODER(q5_0), DECODER(q5_1), DECODER(q8_0),
    DECODER(q8_1), DECODER(q2_K), DECODER(q3_K), DECODER(q4_K), DECODER(q5_K), DECODER(q6_K), DECODER(q8_K),
    DECODER(iq1_s), DECODER(iq1_m), DECODER(iq2_xxs), DECODER(iq2_xs), DECODER(iq2_s), DECODER(iq3_xxs),
    DECODER(iq3_s), DECODER(iq4_nl), DECODER(iq4_xs), DECODER(mxfp4), DECODER(nvfp4), DECODER(tq1_0), DECODER(tq2_0),
};

static void iq4_nl(const float *x, void *block, int64_t count)
{
    quantize_iq4_nl(x, block, 1, count, NULL);
}

static int quantize(const char *name, int kind, long count)
{
    /* In the order of quantized_types. */
    static void (*const all[])(const float *, void *, int64_t) = {
#define QUANTIZER(name) (void (*)(const float *, void *, int64_t))quantize_row_##name##_ref
        QUANTIZER(q4_0), QUANTIZER(q4_1), QUANTIZER(q5_0), QUANTIZER(q5_1), QUANTIZER(q8_0),
        iq4_nl, QUANTIZER(mxfp4), QUANTIZER(tq1_0), QUANTIZER(tq2_0),
    };
    const struct block_type *type = block_type_of(name);
    size_t q = 0;
    while (strcmp(quantized_types[q], name) != 0)
        q++;
    for (; count > 0; count--) {
        static uint8_t block[512];
        static float x[256];
        uint32_t of_block = next();
        int fits = 1;
        for (size_t at = 0; at < type->elements; at++)
            x[at] = number(kind, of_block);
        all[q](x, block, (int64_t)type->elements);
        for (int at = 0; at < 2; at++)
            if (type->scales[at] >= 0)
                fits &= (block[type->scales[at] + 1] & 0x7c) != 0x7c;
        if (fits) /* its scales are finite */
            fwrite(block, type->bytes, 1, stdout);
    }
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    static uint8_t block[512];
    static float elements[256];
    if (argc == 4)
        return quantize(argv[1], atoi(argv[2]), atol(argv[3]));
    for (size_t t = 0; t < BLOCK_TYPES; t++) {
        const struct block_type *type = &block_types[t];
        for (size_t i = 0; i < BLOCKS; i++) {
            make_block(type, block, i);
            decoders[t](block, elements, (int64_t)type->elements);
            printf("%s ", type->name);
            for (size_t at = 0; at < type->bytes; at++)
                printf("%02x", block[at]);
            printf(" ");
            for (size_t at = 0; at < type->elements; at++)
                printf("%08x", bits_of(elements[at]));
            printf("\n");
        }
    }
    return 0;
}
