// Plain functions for data of gguf.cpp that otherwise needs ggml's structs.
#include "ggml.h"
#include "gguf.h"

struct gguf_context *shim_open(const char *path, int load, struct ggml_context **data) {
    struct gguf_init_params p = {.no_alloc = !load, .ctx = load ? data : NULL};
    return gguf_init_from_file(path, p);
}

void shim_free_data(struct ggml_context *data) { ggml_free(data); }

// Decodes blocks to floats; returns 0 if ggml has no function for the type.
int shim_to_float(int type, const void *blocks, float *out, int64_t count) {
    ggml_to_float_t f = ggml_get_type_traits(type)->to_float;
    if (f) f(blocks, out, count);
    return f != NULL;
}

// Encodes f16 as blocks, a row at a time, through floats.
void shim_from_f16(int type, const ggml_fp16_t *x, void *blocks, int64_t count, float *row, int64_t length) {
    const struct ggml_type_traits *t = ggml_get_type_traits(type);
    for (int64_t i = 0; i < count; i += length) {
        ggml_fp16_to_fp32_row(x + i, row, length);
        t->from_float_ref(row, (char *)blocks + i / t->blck_size * t->type_size, length);
    }
}

const void *shim_data(struct ggml_context *data) { return ggml_get_mem_buffer(data); }
