// Compares the decoded numbers of random and extreme blocks of every type with ggml's C code:
//     test_blocks COUNT
// COUNT blocks of each type. They are in GGUF files in memory, one after the other.
#include "blocks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ggml.h>
#include <string>
#include <vector>
#include <ztensor_advanced.h>

// The decoder of the only type without a public function.
extern "C" void dequantize_row_q8_K(const void *blocks, float *numbers, int64_t count);

// ggml has no function for q8_1: its scale times its integers.
static void decode_q8_1(const void *blocks, float *numbers, int64_t count)
{
    const uint8_t *block = static_cast<const uint8_t *>(blocks);
    for (int64_t i = 0; i < count; i++, block += i % 32 ? 0 : 36) {
        ggml_fp16_t scale;
        memcpy(&scale, block, 2);
        numbers[i] = static_cast<float>(static_cast<int8_t>(block[4 + i % 32])) * ggml_fp16_to_fp32(scale);
    }
}

static ggml_to_float_t decoder_of(const block_type &type)
{
    if (type.ggml == GGML_TYPE_Q8_1)
        return decode_q8_1;
    if (type.ggml == GGML_TYPE_Q8_K)
        return dequantize_row_q8_K;
    return ggml_get_type_traits(static_cast<ggml_type>(type.ggml))->to_float;
}

// A GGUF file with rows of blocks, a tensor for each type.
class file_of_blocks {
public:
    file_of_blocks(size_t rows, size_t blocks_in_row, size_t first)
    {
        put<uint32_t>(0x46554747), put<uint32_t>(3), put<uint64_t>(BLOCK_TYPES), put<uint64_t>(0);
        size_t size = 0;
        for (const block_type &type : block_types) {
            const std::string name = type.name;
            put<uint64_t>(name.size());
            bytes.insert(bytes.end(), name.begin(), name.end());
            put<uint32_t>(2), put<uint64_t>(blocks_in_row * type.elements), put<uint64_t>(rows);
            put<uint32_t>(static_cast<uint32_t>(type.ggml)), put<uint64_t>(size);
            offsets.push_back(size);
            size += aligned(rows * blocks_in_row * type.bytes);
        }
        const size_t data = aligned(bytes.size());
        bytes.resize(data + size);
        for (size_t t = 0; t < BLOCK_TYPES; t++) {
            offsets[t] += data;
            for (size_t i = 0; i < rows * blocks_in_row; i++)
                make_block(&block_types[t], &bytes[offsets[t] + i * block_types[t].bytes], first + i);
        }
    }

    std::vector<uint8_t> bytes;
    std::vector<size_t> offsets;

private:
    static size_t aligned(size_t size) { return (size + 31) / 32 * 32; }

    template <typename T> void put(T number)
    {
        for (size_t i = 0; i < sizeof number; i++)
            bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(number) >> 8 * i));
    }
};

static bool compare(const zt_file *file, const block_type &type, const uint8_t *blocks, size_t count)
{
    static std::vector<float> found, wanted;
    found.assign(count * type.elements, -1), wanted.resize(count * type.elements);
    const zt_object *object = zt_object_find(file, type.name);
    size_t written = 0;
    if (!object || zt_object_read_as(object, ZT_DTYPE_F32, found.data(), found.size() * sizeof(float), &written) != ZT_OK) {
        fprintf(stderr, "FAILED %s: %s\n", type.name, zt_last_error());
        return false;
    }
    decoder_of(type)(blocks, wanted.data(), static_cast<int64_t>(wanted.size()));
    if (written != wanted.size() * sizeof(float)) {
        fprintf(stderr, "FAILED %s: %zu bytes were written\n", type.name, written);
        return false;
    }
    for (size_t block = 0; block < count; block++) {
        const float *of_block = &found[block * type.elements], *expected = &wanted[block * type.elements];
        if (memcmp(of_block, expected, type.elements * sizeof(float)) == 0)
            continue;
        for (size_t i = 0; i < type.elements; i++) // NaN may have different bits
            if (bits_of(of_block[i]) != bits_of(expected[i])) {
                fprintf(stderr, "FAILED %s: element %zu of block %zu is %a, ggml gives %a\n", type.name, i, block,
                        static_cast<double>(of_block[i]), static_cast<double>(expected[i]));
                return false;
            }
    }
    return true;
}

int main(int argc, char **argv)
{
    const size_t in_row = 100, rows = 100;
    const size_t count = argc == 2 ? strtoul(argv[1], nullptr, 10) : 0;
    size_t passed[BLOCK_TYPES] = {0}, good = 0;
    bool is_right[BLOCK_TYPES];
    if (count == 0 || count % (in_row * rows)) {
        fprintf(stderr, "usage: test_blocks COUNT, a multiple of %zu\n", in_row * rows);
        return 2;
    }
    std::fill_n(is_right, BLOCK_TYPES, true);
    for (size_t first = 0; first < count; first += in_row * rows) {
        const file_of_blocks made(rows, in_row, first);
        zt_file *file = nullptr;
        if (zt_open_memory(made.bytes.data(), made.bytes.size(), nullptr, &file) != ZT_OK) {
            fprintf(stderr, "FAILED %s\n", zt_last_error());
            return 1;
        }
        for (size_t t = 0; t < BLOCK_TYPES; t++)
            if (is_right[t] && (is_right[t] = compare(file, block_types[t], &made.bytes[made.offsets[t]], in_row * rows)))
                passed[t] += in_row * rows;
        zt_close(file);
    }
    for (size_t t = 0; t < BLOCK_TYPES; t++)
        good += passed[t] == count;
    printf("blocks: %zu of each of %zu types have the numbers that ggml gives\n", count, good);
    printf("blocks: %zu passed, %zu failed\n", good, BLOCK_TYPES - good);
    return good != BLOCK_TYPES;
}
