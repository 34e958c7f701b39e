// Compares the numbers of a quantized GGUF file as f32 with ggml's C code, bit for bit: from the original and
// from each copy, read completely and streamed through a ring. Copies as .f32.zt and .safetensors store f32.
//     test_numbers ORIGINAL.gguf COPY...
#include <cstdio>
#include <cstring>
#include <ggml.h>
#include <gguf.h>
#include <string>
#include <vector>
#include <ztensor_advanced.h>

static size_t passed, failed;

static void check(bool is_right, const char *file, const char *tensor, const char *what)
{
    (is_right ? passed : failed)++;
    if (!is_right)
        fprintf(stderr, "FAILED %s: %s: %s\n", file, tensor, what);
}

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, 4);
    return number != number ? 0x7fc00000 : bits; // all NaN are equal
}

static bool are_same(const float *found, const float *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bits_of(found[i]) != bits_of(wanted[i]))
            return false;
    return true;
}

static std::vector<float> numbers_of(const ggml_tensor *tensor)
{
    std::vector<float> numbers(static_cast<size_t>(ggml_nelements(tensor)));
    if (tensor->type == GGML_TYPE_F32)
        memcpy(numbers.data(), tensor->data, numbers.size() * sizeof(float));
    else
        ggml_get_type_traits(tensor->type)->to_float(tensor->data, numbers.data(), static_cast<int64_t>(numbers.size()));
    return numbers;
}

// Receives the pieces of all tensors, in any order, from a ring of four slots.
static void test_load(const zt_file *file, const char *path, const gguf_context *original, ggml_context *tensors)
{
    struct tensor_so_far {
        std::vector<float> numbers;
        size_t received;
    };
    const size_t count = static_cast<size_t>(gguf_get_n_tensors(original));
    std::vector<zt_read_request> requests(count);
    std::vector<tensor_so_far> found(count);
    size_t pieces = 0, good = 0;
    for (size_t id = 0; id < count; id++) {
        requests[id] = zt_read_request();
        requests[id].struct_size = sizeof(zt_read_request);
        requests[id].object = zt_object_find(file, gguf_get_tensor_name(original, static_cast<int64_t>(id)));
        requests[id].length = ZT_WHOLE, requests[id].convert = ZT_DTYPE_F32, requests[id].tag = id;
    }
    zt_load_options options = zt_load_options();
    options.struct_size = sizeof options, options.slot_size = 1 << 20, options.slot_count = 4;
    options.in_flight = 1 << 30; // compressed tensors are decoded completely
    zt_load *load = nullptr;
    zt_status status = zt_load_start(requests.data(), count, &options, &load);
    while (status == ZT_OK) {
        zt_load_event event = zt_load_event();
        event.struct_size = sizeof event;
        if ((status = zt_load_next(load, -1, &event)) != ZT_OK || event.kind != ZT_LOAD_KIND_DATA)
            break;
        const ggml_tensor *tensor = ggml_get_tensor(tensors, gguf_get_tensor_name(original, static_cast<int64_t>(event.tag)));
        tensor_so_far &one = found[event.tag];
        const size_t size = static_cast<size_t>(ggml_nelements(tensor)) * sizeof(float);
        one.numbers.resize(size / sizeof(float));
        if (event.offset + event.size <= size)
            memcpy(reinterpret_cast<char *>(one.numbers.data()) + event.offset, event.data, event.size);
        one.received += event.size;
        pieces++;
        if (event.last) {
            good += one.received == size && are_same(one.numbers.data(), numbers_of(tensor).data(), one.numbers.size());
            one.numbers = std::vector<float>();
        }
        zt_load_release(load, &event);
    }
    status = status == ZT_OK ? zt_load_finish(load, nullptr) : status;
    check(status == ZT_OK && good == count, path, "a load", status != ZT_OK ? zt_last_error() : "other numbers");
    printf("%s: %zu pieces of a load\n", path, pieces);
}

static void test(const char *path, const gguf_context *original, ggml_context *tensors)
{
    const std::string name = path;
    const auto ends_with = [&](const char *end) { return name.size() > strlen(end) && name.substr(name.size() - strlen(end)) == end; };
    zt_file *file = nullptr;
    if (zt_open(path, nullptr, &file) != ZT_OK) {
        check(false, path, "the file", zt_last_error());
        return;
    }
    check(zt_object_count(file) == static_cast<size_t>(gguf_get_n_tensors(original)), path, "the file", "a different number of tensors");
    const bool is_f32 = ends_with(".f32.zt") || ends_with(".safetensors");
    size_t numbers = 0, quantized = 0;
    for (int64_t id = 0; id < gguf_get_n_tensors(original); id++) {
        const char *tensor = gguf_get_tensor_name(original, id);
        const zt_object *object = zt_object_find(file, tensor);
        const std::vector<float> wanted = numbers_of(ggml_get_tensor(tensors, tensor));
        std::vector<float> found(wanted.size(), -1);
        const size_t size = found.size() * sizeof(float);
        size_t written = 0;
        const zt_status status = zt_object_read_as(object, ZT_DTYPE_F32, found.data(), size, &written);
        check(status == ZT_OK && written == size && are_same(found.data(), wanted.data(), wanted.size()), path, tensor,
              status != ZT_OK ? zt_last_error() : "other numbers");
        numbers += wanted.size();
        quantized += ggml_is_quantized(ggml_get_tensor(tensors, tensor)->type);
        if (is_f32)
            check(zt_component_dtype(zt_component_find(object, "data")) == ZT_DTYPE_F32, path, tensor, "is not stored as f32");
    }
    check(quantized > 0, path, "the file", "has no quantized tensor");
    printf("%s: %zu numbers, %zu quantized tensors\n", path, numbers, quantized);
    test_load(file, path, original, tensors);
    zt_close(file);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: test_numbers ORIGINAL.gguf COPY...\n");
        return 2;
    }
    ggml_context *tensors = nullptr;
    gguf_context *original = gguf_init_from_file(argv[1], {false, &tensors});
    if (!original)
        return 1;
    for (int i = 1; i < argc; i++)
        test(argv[i], original, tensors);
    gguf_free(original);
    ggml_free(tensors);
    printf("numbers: %zu passed, %zu failed\n", passed, failed);
    return failed != 0;
}
