// Loads a model into ggml in every way of zt_ggml.hpp, computes the first layer's attention with the loaded
// weights, and compares it with plain C on the same file. Then tests failures: a stop, a missing name, types
// that ggml does not have.
//     test_ggml MODEL.zt COMPRESSED.zt FOLDER
#include "bert_reference.h"
#include "zt_ggml.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ggml-alloc.h>
#include <ggml-cpu.h>

static int passed, wrong;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            passed++;                                                                                                  \
        } else {                                                                                                       \
            wrong++;                                                                                                   \
            fprintf(stderr, "FAILED line %d: %s: ", __LINE__, #condition);                                             \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

static const int32_t tokens[] = {101, 2023, 2003, 1037, 7099, 6251, 2005, 16948, 1010, 2007, 23435, 2015, 1012, 102};
static const size_t token_count = sizeof tokens / sizeof *tokens;
static ggml_backend_t cpu;

static bool first_layer(const std::string &name)
{
    return name.rfind("embeddings.", 0) == 0 || name.rfind("encoder.layer.0.attention.", 0) == 0;
}

// The graph for the calculation in bert_reference.c.
static ggml_tensor *build(ggml_context *c, const zt_ggml::model &m, ggml_tensor *input, ggml_tensor *positions)
{
    const std::string layer = "encoder.layer.0.attention.";
    int64_t n = m.at("embeddings.word_embeddings.weight")->ne[0], count = input->ne[0], heads = n / BERT_HEAD;
    auto norm = [&](ggml_tensor *x, const std::string &name) {
        x = ggml_mul(c, ggml_norm(c, x, BERT_EPSILON), m.at(name + ".weight"));
        return ggml_add(c, x, m.at(name + ".bias"));
    };
    auto dense = [&](ggml_tensor *x, const std::string &name) {
        return ggml_add(c, ggml_mul_mat(c, m.at(name + ".weight"), x), m.at(name + ".bias"));
    };
    auto split = [&](ggml_tensor *x) { // [head element, token, head]
        return ggml_permute(c, ggml_reshape_3d(c, x, BERT_HEAD, heads, count), 0, 2, 1, 3);
    };
    ggml_tensor *x = ggml_get_rows(c, m.at("embeddings.word_embeddings.weight"), input);
    x = ggml_add(c, x, ggml_get_rows(c, m.at("embeddings.position_embeddings.weight"), positions));
    x = ggml_add(c, x, ggml_view_1d(c, m.at("embeddings.token_type_embeddings.weight"), n, 0));
    x = norm(x, "embeddings.LayerNorm");
    ggml_tensor *q = split(dense(x, layer + "self.query")), *k = split(dense(x, layer + "self.key"));
    ggml_tensor *v = ggml_cont(c, ggml_transpose(c, split(dense(x, layer + "self.value"))));
    ggml_tensor *scores = ggml_soft_max_ext(c, ggml_mul_mat(c, k, q), nullptr, 1.0f / sqrtf(BERT_HEAD), 0);
    ggml_tensor *mixed = ggml_cont(c, ggml_permute(c, ggml_mul_mat(c, v, scores), 0, 2, 1, 3));
    mixed = dense(ggml_reshape_2d(c, mixed, n, count), layer + "output.dense");
    return norm(ggml_add(c, mixed, x), layer + "output.LayerNorm");
}

static std::vector<float> compute(const zt_ggml::model &m)
{
    ggml_context *c = ggml_init({ggml_tensor_overhead() * 128 + ggml_graph_overhead(), nullptr, true});
    ggml_tensor *input = ggml_new_tensor_1d(c, GGML_TYPE_I32, static_cast<int64_t>(token_count));
    ggml_tensor *positions = ggml_new_tensor_1d(c, GGML_TYPE_I32, static_cast<int64_t>(token_count));
    ggml_set_input(input);
    ggml_set_input(positions);
    ggml_tensor *result = build(c, m, input, positions);
    ggml_set_output(result);
    ggml_cgraph *graph = ggml_new_graph(c);
    ggml_build_forward_expand(graph, result);
    ggml_gallocr_t memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu));
    std::vector<float> out;
    if (ggml_gallocr_alloc_graph(memory, graph)) {
        std::vector<int32_t> places(token_count);
        for (size_t i = 0; i < token_count; i++)
            places[i] = static_cast<int32_t>(i);
        ggml_backend_tensor_set(input, tokens, 0, sizeof tokens);
        ggml_backend_tensor_set(positions, places.data(), 0, sizeof tokens);
        if (ggml_backend_graph_compute(cpu, graph) == GGML_STATUS_SUCCESS) {
            out.resize(static_cast<size_t>(ggml_nelements(result)));
            ggml_backend_tensor_get(result, out.data(), 0, ggml_nbytes(result));
        }
    }
    ggml_gallocr_free(memory);
    ggml_free(c);
    return out;
}

static double difference(const std::vector<float> &a, const std::vector<float> &b)
{
    double most = a.size() == b.size() && !a.empty() ? 0 : HUGE_VAL;
    for (size_t i = 0; i < a.size() && i < b.size(); i++)
        most = std::fabs(a[i] - b[i]) <= most ? most : std::fabs(a[i] - b[i]); // keeps NaN
    return most;
}

static void test_path(const char *label, const char *path, const zt_ggml::load_options &how,
                     bool (*wanted)(const std::string &), uint64_t zt_ggml::load_stats::*counter)
{
    zt_ggml::model m(path, wanted ? zt_ggml::options{wanted} : zt_ggml::options{});
    size_t expected = 0;
    uint64_t bytes = 0, last = 0, total = 0;
    for (size_t i = 0; i < zt_object_count(m.file()); i++)
        if (!wanted || wanted(zt_object_name(zt_object_at(m.file(), i)))) {
            expected++;
            bytes += zt_component_size(zt_component_find(zt_object_at(m.file(), i), "data"));
        }
    CHECK(m.count() == expected && expected > 0, "%s: %zu tensors, not %zu", label, m.count(), expected);
    CHECK(m.find("encoder.layer.1.output.dense.weight") == nullptr || !wanted, "%s: more than was wanted", label);
    ggml_tensor *words = m.at("embeddings.word_embeddings.weight");
    CHECK(words->data == nullptr && words->buffer == nullptr, "%s: memory before the load", label);
    const uint64_t *shape = zt_object_shape(zt_object_find(m.file(), "embeddings.word_embeddings.weight"));
    CHECK(words->ne[0] == static_cast<int64_t>(shape[1]) && words->ne[1] == static_cast<int64_t>(shape[0]),
          "%s: shape", label);

    zt_ggml::load_options options = how;
    options.progress = [&](uint64_t done, uint64_t all) {
        last = done >= last ? done : UINT64_MAX;
        total = all;
        return true;
    };
    zt_ggml::load_stats stats = m.load(cpu, options);
    CHECK(stats.*counter == bytes && stats.mapped + stats.read + stats.staged == bytes,
          "%s: %llu bytes mapped, %llu read, %llu staged", label, static_cast<unsigned long long>(stats.mapped),
          static_cast<unsigned long long>(stats.read), static_cast<unsigned long long>(stats.staged));
    CHECK(last == bytes && total == bytes, "%s: progress ends at %llu", label, static_cast<unsigned long long>(last));

    std::vector<float> reference(token_count * shape[1]);
    CHECK(bert_reference(m.file(), tokens, token_count, shape[1], reference.data()) == 0, "%s", zt_last_error());
    double most = difference(compute(m), reference);
    CHECK(most < 1e-4, "%s: differs by %g", label, most);
    printf("%-10s %3zu tensors, %9llu bytes, largest difference from plain C %.2g\n", label, m.count(),
           static_cast<unsigned long long>(bytes), most);
}

// Stops a load at once, and another in the middle.
static void test_cancel(const char *path, bool map, bool staged, uint64_t from)
{
    zt_ggml::model m(path);
    zt_ggml::load_options options;
    options.map = map;
    options.staged = staged;
    uint64_t at = 0;
    options.progress = [&](uint64_t done, uint64_t) { return (at = done) < from; };
    bool stopped = false;
    try {
        m.load(cpu, options);
    } catch (const zt_ggml::cancelled &) {
        stopped = true;
    }
    CHECK(stopped && at >= from, "a load was not stopped at %llu", static_cast<unsigned long long>(from));
}

// Writes one tensor. Returns the error of the loader, or "" if it loads it with that type and shape.
static std::string single(const std::string &path, zt_dtype dtype, zt_type type, std::vector<uint64_t> shape,
                          ggml_type expected = GGML_TYPE_COUNT)
{
    size_t size = zt_dtype_size(dtype);
    for (uint64_t dimension : shape)
        size *= dimension;
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = static_cast<uint8_t>(dtype == ZT_DTYPE_BOOL ? i % 2 : i * 7 + 1);
    zt_writer *writer;
    if (zt_write_create(path.c_str(), nullptr, &writer) != ZT_OK ||
        zt_write_dense(writer, "t", 0, dtype, type, shape.data(), shape.size(), bytes.data(), size) != ZT_OK ||
        zt_write_finish(writer, nullptr) != ZT_OK)
        return std::string("cannot be written: ") + zt_last_error();
    try {
        zt_ggml::model m(path);
        m.load(cpu);
        ggml_tensor *t = m.at("t");
        bool same = t->type == expected && ggml_nbytes(t) == size && memcmp(t->data, bytes.data(), size) == 0;
        for (size_t i = 0; i < shape.size(); i++)
            same = same && t->ne[i] == static_cast<int64_t>(shape[shape.size() - 1 - i]);
        return same ? "" : "is loaded with a different type or shape";
    } catch (const std::exception &e) {
        return e.what();
    }
}

static void test_types(const std::string &path)
{
    const struct {
        zt_dtype dtype;
        ggml_type type;
    } table[] = {{ZT_DTYPE_F64, GGML_TYPE_F64}, {ZT_DTYPE_F32, GGML_TYPE_F32},   {ZT_DTYPE_F16, GGML_TYPE_F16},
                 {ZT_DTYPE_I64, GGML_TYPE_I64}, {ZT_DTYPE_BF16, GGML_TYPE_BF16}, {ZT_DTYPE_I32, GGML_TYPE_I32},
                 {ZT_DTYPE_I16, GGML_TYPE_I16}, {ZT_DTYPE_I8, GGML_TYPE_I8}};
    for (const auto &row : table)
        for (const std::vector<uint64_t> &shape : {std::vector<uint64_t>{}, {5}, {2, 3}, {2, 3, 5, 7}}) {
            std::string said = single(path, row.dtype, ZT_TYPE_NONE, shape, row.type);
            CHECK(said.empty(), "%s of rank %zu: %s", zt_dtype_name(row.dtype), shape.size(), said.c_str());
        }
    for (zt_dtype dtype : {ZT_DTYPE_U64, ZT_DTYPE_U32, ZT_DTYPE_U16, ZT_DTYPE_U8, ZT_DTYPE_BOOL}) {
        std::string said = single(path, dtype, ZT_TYPE_NONE, {4});
        CHECK(said == std::string("t: ggml has no type for ") + zt_dtype_name(dtype), "%s", said.c_str());
    }
    std::string said = single(path, ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FN, {4});
    CHECK(said == "t: ggml has no type for f8_e4m3fn", "%s", said.c_str());
    said = single(path, ZT_DTYPE_F32, ZT_TYPE_NONE, {1, 1, 1, 1, 1});
    CHECK(said == "t: rank 5 is more than ggml's 4", "%s", said.c_str());
    said = single(path, ZT_DTYPE_F32, ZT_TYPE_NONE, {3, 0});
    CHECK(said == "t: ggml computes nothing with a tensor without elements", "%s", said.c_str());
    remove(path.c_str());
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: test_ggml MODEL.zt COMPRESSED.zt FOLDER\n");
        return 2;
    }
    cpu = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(cpu, 2);
    zt_ggml::load_options mapped, read, verified, staged, decoded;
    read.map = staged.map = decoded.map = false;
    staged.staged = decoded.staged = verified.verify = decoded.verify = true;
    try {
        using stats = zt_ggml::load_stats;
        test_path("mapped", argv[1], mapped, nullptr, &stats::mapped);
        test_path("read", argv[1], read, nullptr, &stats::read);
        test_path("staged", argv[1], staged, nullptr, &stats::staged);
        test_path("compressed", argv[2], verified, nullptr, &stats::read);
        test_path("streamed", argv[2], decoded, nullptr, &stats::staged);
        test_path("partial", argv[1], mapped, first_layer, &stats::mapped);
        test_path("part read", argv[2], read, first_layer, &stats::read);
        test_cancel(argv[1], true, false, 0);
        test_cancel(argv[1], false, false, 1 << 20);
        test_cancel(argv[2], true, false, 1 << 20);
        test_cancel(argv[1], false, true, 1 << 20);
        test_cancel(argv[2], false, true, 40 << 20);
        bool refused = false;
        try {
            zt_ggml::model(std::string(argv[3]) + "/no such file.zt");
        } catch (const std::runtime_error &e) {
            refused = strstr(e.what(), "no such file.zt") != nullptr;
        }
        CHECK(refused, "a missing file was not rejected");
        test_types(std::string(argv[3]) + "/single.zt");
    } catch (const std::exception &e) {
        CHECK(false, "%s", e.what());
    }
    ggml_backend_free(cpu);
    printf("ggml: %d passed, %d failed\n", passed, wrong);
    return wrong != 0;
}
