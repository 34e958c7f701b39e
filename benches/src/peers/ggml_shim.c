// What gguf.cpp has only through ggml's own structs, as plain functions.
#include "ggml.h"
#include "gguf.h"

struct gguf_context *shim_open(const char *path, int load, struct ggml_context **data) {
    struct gguf_init_params p = {.no_alloc = !load, .ctx = load ? data : NULL};
    return gguf_init_from_file(path, p);
}

void shim_free_data(struct ggml_context *data) { ggml_free(data); }

const void *shim_data(struct ggml_context *data) { return ggml_get_mem_buffer(data); }
