// Loads a model of block-quantized weights in every way, from GGUF and from the converted .zt, and multiplies
// with each matrix. The products must equal those that ggml computes with weights from its own reader.
//     test_quantized ORIGINAL.gguf FILE...
#include "zt_ggml.hpp"

#include <cstdio>
#include <cstring>
#include <ggml-cpu.h>
#include <gguf.h>
#include <vector>

static int passed, wrong;

static void check(bool is_right, const char *file, const char *what)
{
    if (is_right) {
        passed++;
        return;
    }
    wrong++;
    fprintf(stderr, "FAILED %s: %s\n", file, what);
}

// The product of some of a matrix's rows with generated numbers.
static std::vector<float> multiply(ggml_tensor *matrix)
{
    const int64_t rows = std::min<int64_t>(matrix->ne[1], 64);
    ggml_context *c = ggml_init({static_cast<size_t>(matrix->ne[0]) * 8 + (4 << 20), nullptr, false});
    ggml_tensor *some = ggml_view_2d(c, matrix, matrix->ne[0], rows, matrix->nb[1], 0);
    ggml_tensor *numbers = ggml_new_tensor_1d(c, GGML_TYPE_F32, matrix->ne[0]);
    for (int64_t i = 0; i < matrix->ne[0]; i++)
        static_cast<float *>(numbers->data)[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    ggml_tensor *product = ggml_mul_mat(c, some, numbers);
    ggml_cgraph *graph = ggml_new_graph(c);
    ggml_build_forward_expand(graph, product);
    std::vector<float> out(static_cast<size_t>(rows));
    if (ggml_graph_compute_with_ctx(c, graph, 1) == GGML_STATUS_SUCCESS)
        memcpy(out.data(), product->data, out.size() * sizeof(float));
    ggml_free(c);
    return out;
}

static void test(const char *path, bool map, const gguf_context *original, ggml_context *tensors)
{
    ggml_backend_t cpu = ggml_backend_cpu_init();
    {
        zt_ggml::model m(path);
        zt_ggml::load_options how;
        how.map = map;
        zt_ggml::load_stats stats = m.load(cpu, how);
        check(map ? stats.mapped > 0 && stats.read == 0 : stats.read > 0 && stats.mapped == 0, path, "loaded in the wrong way");
        check(static_cast<int64_t>(m.count()) == gguf_get_n_tensors(original), path, "a different number of tensors");
        size_t products = 0, quantized = 0;
        for (int64_t id = 0; id < gguf_get_n_tensors(original); id++) {
            const char *name = gguf_get_tensor_name(original, id);
            ggml_tensor *wanted = ggml_get_tensor(tensors, name), *found = m.at(name);
            bool is_same = found->type == wanted->type && ggml_are_same_shape(found, wanted) &&
                           memcmp(found->data, wanted->data, ggml_nbytes(wanted)) == 0;
            if (is_same && ggml_n_dims(wanted) == 2) {
                is_same = multiply(found) == multiply(wanted);
                products++;
                quantized += ggml_is_quantized(wanted->type);
            }
            check(is_same, path, name);
        }
        check(quantized > 0, path, "no product of quantized blocks");
        printf("%s, %s: %zu products, %zu with quantized blocks\n", path, map ? "mapped" : "read", products, quantized);
    }
    ggml_backend_free(cpu);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: test_quantized ORIGINAL.gguf FILE...\n");
        return 2;
    }
    ggml_context *tensors = nullptr;
    gguf_context *original = gguf_init_from_file(argv[1], {false, &tensors});
    if (!original)
        return 1;
    for (int i = 2; i < argc; i++)
        for (bool map : {true, false})
            try {
                test(argv[i], map, original, tensors);
            } catch (const std::exception &e) {
                check(false, argv[i], e.what());
            }
    gguf_free(original);
    ggml_free(tensors);
    printf("quantized: %d passed, %d failed\n", passed, wrong);
    return wrong != 0;
}
