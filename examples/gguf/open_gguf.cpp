// Opens a file through gguf.h and reads everything in it, like an engine; or measures the time to open it.
//     open_gguf FILE             exit status 0: opened, 1: rejected with a message
//     open_gguf --time N FILE    medians of N openings in microseconds: with the file in memory; only its
//                                processor time; with the file evicted
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <ggml.h>
#include <gguf.h>
#include <unistd.h>
#include <vector>

static unsigned long long sum; // sum of everything read, so that the compiler removes nothing

static void look_at(const char *text)
{
    for (; *text; text++)
        sum += static_cast<unsigned char>(*text);
}

static void look_at(const gguf_context *g, int64_t id)
{
    static const size_t sizes[GGUF_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    const bool is_array = gguf_get_kv_type(g, id) == GGUF_TYPE_ARRAY;
    const gguf_type type = is_array ? gguf_get_arr_type(g, id) : gguf_get_kv_type(g, id);
    look_at(gguf_get_key(g, id));
    look_at(gguf_type_name(type));
    const size_t n = is_array ? gguf_get_arr_n(g, id) : 1;
    if (type == GGUF_TYPE_STRING) {
        for (size_t i = 0; i < n; i++)
            look_at(is_array ? gguf_get_arr_str(g, id, i) : gguf_get_val_str(g, id));
        return;
    }
    const void *data = is_array ? gguf_get_arr_data(g, id) : gguf_get_val_data(g, id);
    for (size_t i = 0; i < n * sizes[type]; i++)
        sum += static_cast<const unsigned char *>(data)[i];
}

// Like an engine that reads or maps the file itself.
static bool look_at_bytes(FILE *file, uint64_t offset, uint64_t size)
{
    unsigned char some[1 << 16];
    if (offset > INT64_MAX || fseeko(file, static_cast<off_t>(offset), SEEK_SET) != 0)
        return false;
    while (size > 0) {
        const size_t n = static_cast<size_t>(std::min<uint64_t>(size, sizeof some));
        if (fread(some, 1, n, file) != n)
            return false;
        for (size_t i = 0; i < n; i++)
            sum += some[i];
        size -= n;
    }
    return true;
}

// Only metadata; the tensors are read in the file.
static bool look_at_file(const char *path)
{
    ggml_context *tensors = nullptr;
    gguf_context *g = gguf_init_from_file(path, {true, &tensors});
    FILE *file = g ? fopen(path, "rb") : nullptr;
    if (!file)
        return false;
    printf("%lld keys, %lld tensors\n", static_cast<long long>(gguf_get_n_kv(g)),
           static_cast<long long>(gguf_get_n_tensors(g)));
    for (int64_t id = 0; id < gguf_get_n_kv(g); id++)
        look_at(g, id);
    bool is_whole = true;
    for (int64_t id = 0; id < gguf_get_n_tensors(g) && is_whole; id++) {
        look_at(gguf_get_tensor_name(g, id));
        is_whole = ggml_get_tensor(tensors, gguf_get_tensor_name(g, id)) &&
                   look_at_bytes(file, gguf_get_data_offset(g) + gguf_get_tensor_offset(g, id),
                                 gguf_get_tensor_size(g, id));
    }
    if (!is_whole)
        fprintf(stderr, "%s: its tensors are not in the file\n", path);
    fclose(file);
    ggml_free(tensors);
    gguf_free(g);
    return is_whole;
}

// The contents of a context that has the data.
static void look_at_data(gguf_context *g, ggml_context *tensors)
{
    for (int64_t id = 0; g && id < gguf_get_n_tensors(g); id++) {
        const ggml_tensor *t = ggml_get_tensor(tensors, gguf_get_tensor_name(g, id));
        for (size_t i = 0; i < ggml_nbytes(t); i++)
            sum += static_cast<unsigned char *>(t->data)[i];
    }
    ggml_free(tensors);
    gguf_free(g);
}

static size_t give_bytes(void *given, void *dst, uint64_t offset, size_t size)
{
    const std::vector<char> &bytes = *static_cast<const std::vector<char> *>(given);
    const size_t n = offset < bytes.size() ? std::min<size_t>(size, bytes.size() - offset) : 0;
    memcpy(dst, bytes.data() + (n > 0 ? offset : 0), n);
    return n;
}

// With the data, in every way.
static void look_at_every_way(const char *path)
{
    ggml_context *tensors = nullptr;
    gguf_context *g = gguf_init_from_file(path, {false, &tensors});
    look_at_data(g, tensors);
    FILE *file = fopen(path, "rb");
    tensors = nullptr;
    g = gguf_init_from_file_ptr(file, {false, &tensors});
    look_at_data(g, tensors);
    std::vector<char> bytes;
    fseek(file, 0, SEEK_END);
    bytes.resize(static_cast<size_t>(ftell(file)));
    rewind(file);
    if (fread(bytes.data(), 1, bytes.size(), file) != bytes.size())
        exit(1);
    fclose(file);
    tensors = nullptr;
    g = gguf_init_from_buffer(bytes.data(), bytes.size(), {false, &tensors});
    look_at_data(g, tensors);
    tensors = nullptr;
    g = gguf_init_from_callback(give_bytes, &bytes, 1000, bytes.size(), {false, &tensors});
    look_at_data(g, tensors);
}

struct medians {
    double elapsed, of_processor;
};

static double median_of(std::vector<double> times)
{
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static medians measure(int n, const char *path, bool is_cold)
{
    std::vector<double> times, processor;
    for (int i = 0; i < n; i++) {
        const int fd = is_cold ? open(path, O_RDONLY) : -1;
        if (fd >= 0) {
            fdatasync(fd);
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            close(fd);
        }
        const clock_t before = clock();
        const auto start = std::chrono::steady_clock::now();
        ggml_context *tensors = nullptr;
        gguf_context *g = gguf_init_from_file(path, {true, &tensors});
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
        if (!g)
            exit(1);
        times.push_back(time.count());
        processor.push_back(static_cast<double>(clock() - before) * 1e6 / CLOCKS_PER_SEC);
        ggml_free(tensors);
        gguf_free(g);
    }
    return {median_of(times), median_of(processor)};
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--time") == 0) {
        const int n = std::max(atoi(argv[2]), 1);
        measure(1, argv[3], false);
        const medians warm = measure(n, argv[3], false), cold = measure(n, argv[3], true);
        printf("%.0f %.0f %.0f\n", warm.elapsed, warm.of_processor, cold.elapsed);
        return 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: open_gguf FILE | open_gguf --time N FILE\n");
        return 2;
    }
    const bool is_fine = look_at_file(argv[1]);
    look_at_every_way(argv[1]);
    printf("sum: %llu\n", sum);
    return is_fine ? 0 : 1;
}
