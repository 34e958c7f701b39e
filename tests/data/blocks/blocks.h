/* Blocks and numbers for tests: arithmetic makes them, the same ones on every platform. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stdint.h>
#include <string.h>

/* ggml's block types. `scales`: where the f16 are, -1 for none. */
static const struct block_type {
    const char *name;
    int ggml; /* its enum ggml_type */
    size_t elements, bytes;
    int scales[2];
} block_types[] = {
    {"q1_0", 41, 128, 18, {0, -1}},   {"q2_0", 42, 64, 18, {0, -1}},     {"q4_0", 2, 32, 18, {0, -1}},
    {"q4_1", 3, 32, 20, {0, 2}},      {"q5_0", 6, 32, 22, {0, -1}},      {"q5_1", 7, 32, 24, {0, 2}},
    {"q8_0", 8, 32, 34, {0, -1}},     {"q8_1", 9, 32, 36, {0, -1}},      {"q2_k", 10, 256, 84, {80, 82}},
    {"q3_k", 11, 256, 110, {108, -1}}, {"q4_k", 12, 256, 144, {0, 2}},   {"q5_k", 13, 256, 176, {0, 2}},
    {"q6_k", 14, 256, 210, {208, -1}}, {"q8_k", 15, 256, 292, {2, -1}},  {"iq1_s", 19, 256, 50, {0, -1}},
    {"iq1_m", 29, 256, 56, {-1, -1}}, {"iq2_xxs", 16, 256, 66, {0, -1}}, {"iq2_xs", 17, 256, 74, {0, -1}},
    {"iq2_s", 22, 256, 82, {0, -1}},  {"iq3_xxs", 18, 256, 98, {0, -1}}, {"iq3_s", 21, 256, 110, {0, -1}},
    {"iq4_nl", 20, 32, 18, {0, -1}},  {"iq4_xs", 23, 256, 136, {0, -1}}, {"mxfp4", 39, 32, 17, {-1, -1}},
    {"nvfp4", 40, 64, 36, {-1, -1}},  {"tq1_0", 34, 256, 54, {52, -1}},  {"tq2_0", 35, 256, 66, {64, -1}},
};

/* Those that numbers are quantized to. */
static const char *const quantized_types[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4", "tq1_0", "tq2_0"};

#define BLOCK_TYPES (sizeof block_types / sizeof *block_types)
#define QUANTIZED_TYPES (sizeof quantized_types / sizeof *quantized_types)
#define MAX_BLOCK 292
#define NUMBER_KINDS 10

/* Zero, both signs, subnormal, smallest, largest, infinite, NaN. */
static const uint16_t edges[] = {0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfe00};

static uint64_t state = 40;

static inline uint8_t random_byte(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(state >> 56);
}

static inline void set_scales(const struct block_type *type, uint8_t *block, uint16_t first, uint16_t second)
{
    const uint16_t scales[2] = {first, second};
    int i;
    for (i = 0; i < 2; i++)
        if (type->scales[i] >= 0) {
            block[type->scales[i]] = (uint8_t)scales[i];
            block[type->scales[i] + 1] = (uint8_t)(scales[i] >> 8);
        }
    if (strcmp(type->name, "iq1_m") == 0) /* four bits of it in each of its scales */
        for (i = 0; i < 4; i++)
            block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 0x0f) | (first >> 4 * i & 15) << 4);
}

/* Block number `at`: of 16, two have equal bytes, eight scales at an edge, four those of a model, two any. */
static inline void make_block(const struct block_type *type, uint8_t *block, size_t at)
{
    const size_t kind = at % 16;
    size_t i;
    for (i = 0; i < type->bytes; i++)
        block[i] = random_byte();
    if (kind < 2) /* all zero, all one */
        memset(block, kind ? 0xff : 0, type->bytes);
    else if (kind < 10)
        set_scales(type, block, edges[kind - 2], edges[(kind + 1 + at / 16) % 8]);
    else if (kind < 14) /* as in a model */
        set_scales(type, block, (uint16_t)(0x1c00 | block[3] << 3), (uint16_t)(0x1c00 | block[5] << 3));
}

/* Numbers to quantize. src/convert/blocks/quantize_tests.rs has the same ones. */
static inline uint32_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static inline float of_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

/* -1 to 1 */
static inline float unit(void)
{
    return (float)(int32_t)next() * 0x1p-31f;
}

/* With an exponent from there on; 0 gives subnormal numbers. */
static inline float with_exponent(uint32_t first, uint32_t count)
{
    uint32_t bits = next() & 0x807fffff;
    return of_bits(bits | (first + next() % count) << 23);
}

static inline float number(int kind, uint32_t of_block)
{
    switch (kind) {
    case 0:
        return unit();
    case 1: { /* as in a model */
        float sum = unit();
        int i;
        for (i = 0; i < 3; i++)
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

/* The bits of a float. All NaN are one class. */
static inline uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, 4);
    return number != number ? 0x7fc00000 : bits;
}

static inline const struct block_type *block_type_of(const char *name)
{
    const struct block_type *type = block_types;
    while (strcmp(type->name, name) != 0)
        type++;
    return type;
}

#endif
