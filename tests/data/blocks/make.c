/* Writes vectors.txt: blocks of every type of ggml, and the SHA-256 of the elements that ggml's C makes of them.
 * See make.sh. */
#define GGML_COMMON_DECL_C
#include "ggml-common.h"
#include "ggml-quants.h"
#include "ggml-impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct type {
    const char *name;
    size_t elements, bytes;
    void (*decode)(const void *, float *, int64_t);
    int scales[2]; /* where the f16 are; -1 for none */
} types[] = {
#define TYPE(name, c_name, elements, ...) \
    {name, elements, sizeof(block_##c_name), (void (*)(const void *, float *, int64_t))dequantize_row_##c_name, {__VA_ARGS__}}
    TYPE("q1_0", q1_0, 128, 0, -1), TYPE("q2_0", q2_0, 64, 0, -1), TYPE("q4_0", q4_0, 32, 0, -1),
    TYPE("q4_1", q4_1, 32, 0, 2), TYPE("q5_0", q5_0, 32, 0, -1), TYPE("q5_1", q5_1, 32, 0, 2),
    TYPE("q8_0", q8_0, 32, 0, -1), TYPE("q8_1", q8_1, 32, 0, -1), TYPE("q2_k", q2_K, 256, 80, 82),
    TYPE("q3_k", q3_K, 256, 108, -1), TYPE("q4_k", q4_K, 256, 0, 2), TYPE("q5_k", q5_K, 256, 0, 2),
    TYPE("q6_k", q6_K, 256, 208, -1), TYPE("q8_k", q8_K, 256, 2, -1), TYPE("iq1_s", iq1_s, 256, 0, -1),
    TYPE("iq1_m", iq1_m, 256, -1, -1), TYPE("iq2_xxs", iq2_xxs, 256, 0, -1), TYPE("iq2_xs", iq2_xs, 256, 0, -1),
    TYPE("iq2_s", iq2_s, 256, 0, -1), TYPE("iq3_xxs", iq3_xxs, 256, 0, -1), TYPE("iq3_s", iq3_s, 256, 0, -1),
    TYPE("iq4_nl", iq4_nl, 32, 0, -1), TYPE("iq4_xs", iq4_xs, 256, 0, -1), TYPE("mxfp4", mxfp4, 32, -1, -1),
    TYPE("nvfp4", nvfp4, 64, -1, -1), TYPE("tq1_0", tq1_0, 256, 52, -1), TYPE("tq2_0", tq2_0, 256, 64, -1),
};

/* Zero, both signs, subnormal, smallest, largest, infinite, NaN. */
static const uint16_t edges[] = {0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfe00};

static uint64_t state = 40;

static uint8_t random_byte(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(state >> 56);
}

static void set_scales(const struct type *type, uint8_t *block, uint16_t first, uint16_t second)
{
    if (type->scales[0] >= 0)
        memcpy(block + type->scales[0], &first, 2);
    if (type->scales[1] >= 0)
        memcpy(block + type->scales[1], &second, 2);
    if (strcmp(type->name, "iq1_m") == 0) /* four bits of it in each of its scales */
        for (int i = 0; i < 4; i++)
            block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 0x0f) | (first >> 4 * i & 15) << 4);
}

int main(void)
{
    static uint8_t block[512];
    static float elements[256];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const struct type *type = &types[t];
        for (int i = 0; i < BLOCKS; i++) {
            for (size_t at = 0; at < type->bytes; at++)
                block[at] = random_byte();
            if (i < 2) /* all zero, all one */
                memset(block, -i, type->bytes);
            else if (i < 10)
                set_scales(type, block, edges[i - 2], edges[(i + 1) % 8]);
            else if (i < 14) /* as in a model */
                set_scales(type, block, 0x1c00 | (block[3] << 3), 0x1c00 | (block[5] << 3));
            type->decode(block, elements, (int64_t)type->elements);
            printf("%s ", type->name);
            for (size_t at = 0; at < type->bytes; at++)
                printf("%02x", block[at]);
            printf(" ");
            for (size_t at = 0; at < type->elements; at++) {
                uint32_t bits;
                memcpy(&bits, &elements[at], 4);
                if (elements[at] != elements[at])
                    bits = 0x7fc00000; /* NaN are one class */
                printf("%08x", bits);
            }
            printf("\n");
        }
    }
    return 0;
}
