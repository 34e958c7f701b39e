/* Writes blocks of every type of ggml with the elements that ggml's C makes of them: the lines of vectors.txt. Or,
 * with three arguments, the blocks that it makes of numbers. See make.sh. */
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

/* Numbers to quantise. src/convert/blocks/quantize_tests.rs has the same ones. */
static uint32_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static float of_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

/* -1 to 1 */
static float unit(void)
{
    return (float)(int32_t)next() * 0x1p-31f;
}

/* With an exponent from there on; 0 gives subnormal numbers. */
static float with_exponent(uint32_t first, uint32_t count)
{
    uint32_t bits = next() & 0x807fffff;
    return of_bits(bits | (first + next() % count) << 23);
}

static float number(int kind, uint32_t of_block)
{
    switch (kind) {
    case 0:
        return unit();
    case 1: { /* as in a model */
        float sum = unit();
        for (int i = 0; i < 3; i++)
            sum += unit();
        return sum * 0.03125f;
    }
    case 2: /* any */
        return with_exponent(0, of_block % 2 ? 142 : 255);
    case 3: /* tiny */
        return with_exponent(0, 24);
    case 4: /* where iq4_nl has no scale */
        return with_exponent(70, 10);
    case 5: /* at the largest scale */
        return with_exponent(136, 14);
    case 6: { /* zeros of both signs, and few others */
        uint32_t bits = next();
        return bits % 4 ? of_bits(bits & 0x80000000) : unit();
    }
    case 7: /* ties */
        return (float)((int)(next() % 31) - 15) * 0.5f;
    case 8: { /* just below a power of two */
        uint32_t which = of_block % 276, power = which < 22 ? 2u << which : (which - 21) << 23;
        return of_bits((power - next() % 64 % power) | (next() & 0x80000000));
    }
    default: /* one magnitude */
        return of_bits((of_block & 0x007fffff) | (100 + of_block % 40) << 23 | (next() & 0x80000000));
    }
}

static void iq4_nl(const float *x, void *block, int64_t count)
{
    quantize_iq4_nl(x, block, 1, count, NULL);
}

static int quantize(const char *name, int kind, long count)
{
    static const struct {
        const char *name;
        void (*quantize)(const float *, void *, int64_t);
    } all[] = {
#define QUANTIZER(name) {#name, (void (*)(const float *, void *, int64_t))quantize_row_##name##_ref}
        QUANTIZER(q4_0), QUANTIZER(q4_1), QUANTIZER(q5_0), QUANTIZER(q5_1), QUANTIZER(q8_0),
        QUANTIZER(mxfp4), QUANTIZER(tq1_0), QUANTIZER(tq2_0), {"iq4_nl", iq4_nl},
    };
    const struct type *type = types;
    size_t q = 0;
    while (strcmp(type->name, name) != 0)
        type++;
    while (strcmp(all[q].name, name) != 0)
        q++;
    for (; count > 0; count--) {
        static uint8_t block[512];
        static float x[256];
        uint32_t of_block = next();
        int fits = 1;
        for (size_t at = 0; at < type->elements; at++)
            x[at] = number(kind, of_block);
        all[q].quantize(x, block, (int64_t)type->elements);
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
