// Writes a model of one layer with generated weights, which llama.cpp loads and runs, for quick tests.
//     tiny_model OUT.gguf
//     tiny_model --split NAME      NAME-00001-of-00002.gguf, and a second part whose number has a wrong type
//     tiny_model --odd FOLDER      the model many times, each with a wrong type or value of one key
#include <cstdio>
#include <cstring>
#include <ggml.h>
#include <gguf.h>
#include <string>
#include <vector>

static const int64_t width = 256, hidden = 512, heads = 4, vocabulary = 3 + 256;

static void add_vocabulary(gguf_context *g)
{
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<float> scores(static_cast<size_t>(vocabulary), 0);
    std::vector<int32_t> types = {2, 3, 3}; // unknown, control
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", byte);
        tokens.push_back(text);
        types.push_back(6); // a byte
    }
    std::vector<const char *> texts;
    for (const std::string &token : tokens)
        texts.push_back(token.c_str());
    gguf_set_val_str(g, "tokenizer.ggml.model", "llama");
    gguf_set_arr_str(g, "tokenizer.ggml.tokens", texts.data(), texts.size());
    gguf_set_arr_data(g, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores.data(), scores.size());
    gguf_set_arr_data(g, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(), types.size());
    gguf_set_val_u32(g, "tokenizer.ggml.bos_token_id", 1);
    gguf_set_val_u32(g, "tokenizer.ggml.eos_token_id", 2);
    gguf_set_val_u32(g, "tokenizer.ggml.unknown_token_id", 0);
}

static const int64_t keys = 16; // number of the model's keys

static uint32_t state = 1; // state of the random numbers, the same in each run

static void add_tensor(ggml_context *c, gguf_context *g, const std::string &name, ggml_type type, int64_t rows)
{
    const int64_t columns = name == "blk.0.ffn_down.weight" ? hidden : width;
    ggml_tensor *t = rows == 0 ? ggml_new_tensor_1d(c, type, columns) : ggml_new_tensor_2d(c, type, columns, rows);
    std::vector<float> numbers(static_cast<size_t>(ggml_nelements(t)), 1);
    for (float &number : numbers) {
        state = state * 1664525 + 1013904223;
        if (rows > 0)
            number = (static_cast<float>(state >> 8) / (1 << 24) - 0.5f) * 0.4f;
    }
    ggml_quantize_chunk(type, numbers.data(), t->data, 0, rows == 0 ? 1 : rows, columns, nullptr);
    ggml_set_name(t, name.c_str());
    gguf_add_tensor(g, t);
}

// Wrong values that a hostile file may have for a key.
static const int odd_values = 11;

static void set_odd_value(gguf_context *g, const char *key, int which)
{
    static const char *texts[] = {"", "x"};
    static const uint8_t bytes[] = {0, 1, 255};
    static const int32_t numbers[] = {-1, 0, INT32_MAX};
    static const float floats[] = {-1, 0, 1e30f};
    gguf_remove_key(g, key);
    switch (which) {
    case 0: break; // the key is missing
    case 1: return gguf_set_val_str(g, key, "x");
    case 2: return gguf_set_val_u32(g, key, UINT32_MAX);
    case 3: return gguf_set_val_u32(g, key, 0);
    case 4: return gguf_set_val_i64(g, key, -1);
    case 5: return gguf_set_val_f32(g, key, -1e30f);
    case 6: return gguf_set_val_bool(g, key, true);
    case 7: return gguf_set_arr_str(g, key, texts, 2);
    case 8: return gguf_set_arr_data(g, key, GGUF_TYPE_UINT8, bytes, 3);
    case 9: return gguf_set_arr_data(g, key, GGUF_TYPE_INT32, numbers, 3);
    case 10: return gguf_set_arr_data(g, key, GGUF_TYPE_FLOAT32, floats, 0);
    }
}

static bool write_model(const std::string &path, uint16_t parts, int64_t odd_key = -1, int odd_value = 0)
{
    gguf_context *g = gguf_init_empty();
    gguf_set_val_str(g, "general.architecture", "llama");
    gguf_set_val_str(g, "general.name", "tiny");
    gguf_set_val_u32(g, "llama.context_length", 256);
    gguf_set_val_u32(g, "llama.embedding_length", width);
    gguf_set_val_u32(g, "llama.block_count", 1);
    gguf_set_val_u32(g, "llama.feed_forward_length", hidden);
    gguf_set_val_u32(g, "llama.attention.head_count", heads);
    gguf_set_val_f32(g, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_set_val_u32(g, "llama.rope.dimension_count", width / heads);
    add_vocabulary(g);
    if (parts > 1) {
        gguf_set_val_u16(g, "split.no", 0);
        gguf_set_val_u16(g, "split.count", parts);
    }
    if (odd_key >= 0)
        set_odd_value(g, std::string(gguf_get_key(g, odd_key)).c_str(), odd_value);
    ggml_context *c = ggml_init({16 << 20, nullptr, false});
    add_tensor(c, g, "token_embd.weight", GGML_TYPE_Q8_0, vocabulary);
    add_tensor(c, g, "output_norm.weight", GGML_TYPE_F32, 0);
    add_tensor(c, g, "output.weight", GGML_TYPE_Q6_K, vocabulary);
    add_tensor(c, g, "blk.0.attn_norm.weight", GGML_TYPE_F32, 0);
    add_tensor(c, g, "blk.0.ffn_norm.weight", GGML_TYPE_F32, 0);
    for (const char *name : {"attn_q", "attn_k", "attn_v", "attn_output"})
        add_tensor(c, g, std::string("blk.0.") + name + ".weight", GGML_TYPE_Q4_K, width);
    add_tensor(c, g, "blk.0.ffn_gate.weight", GGML_TYPE_Q4_0, hidden);
    add_tensor(c, g, "blk.0.ffn_up.weight", GGML_TYPE_F16, hidden);
    add_tensor(c, g, "blk.0.ffn_down.weight", GGML_TYPE_Q4_K, width);
    const bool is_written = gguf_write_to_file(g, path.c_str(), false);
    ggml_free(c);
    gguf_free(g);
    return is_written;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return write_model(argv[1], 1) ? 0 : 1;
    if (argc == 3 && strcmp(argv[1], "--odd") == 0) {
        for (int64_t key = 0; key < keys; key++)
            for (int value = 0; value < odd_values; value++)
                if (!write_model(std::string(argv[2]) + "/" + std::to_string(key) + "-" + std::to_string(value) + ".gguf",
                                 1, key, value))
                    return 1;
        return 0;
    }
    if (argc != 3 || strcmp(argv[1], "--split") != 0)
        return 2;
    const std::string name = argv[2];
    gguf_context *second = gguf_init_empty();
    gguf_set_val_str(second, "split.no", "1");
    const bool is_written = write_model(name + "-00001-of-00002.gguf", 2) &&
                            gguf_write_to_file(second, (name + "-00002-of-00002.gguf").c_str(), false);
    gguf_free(second);
    return is_written ? 0 : 1;
}
