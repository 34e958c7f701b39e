// Loads the tensors of a .zt, GGUF or safetensors file into ggml, block-quantized ones too, in the steps of an inference engine:
//   1. zt_ggml::model reads the metadata: a ggml context without memory for weights, so that the engine can look at
//      names and shapes and decide which backend gets them;
//   2. model::load brings the bytes: mapped tensors stay where they are in the file, the others are read by one batch
//      straight into the backend's buffer, or are streamed through a ring of four slots where the buffer is a device's.
// Failures are exceptions: zt_ggml::cancelled, else std::runtime_error with the reason.
#ifndef ZT_GGML_HPP
#define ZT_GGML_HPP

#include <functional>
#include <ggml-backend.h>
#include <ggml.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <ztensor_advanced.h>

namespace zt_ggml {

struct cancelled : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct options {
    std::function<bool(const std::string &)> wanted; // which tensors; empty for all
};

struct load_options {
    bool map = true;     // leave in the file what the backend can use there
    bool verify = false; // check the digests of what is read by the batch
    bool staged = false; // through the ring even where the buffer could be read into
    // Told the bytes that are there of all that come; false stops the load. It may run on another thread, and must
    // not throw.
    std::function<bool(uint64_t done, uint64_t total)> progress;
};

struct load_stats {
    uint64_t mapped = 0, read = 0, staged = 0; // bytes that came each way
};

// ggml's type for a component, GGML_TYPE_COUNT if ggml has none.
ggml_type type_of(zt_dtype dtype, zt_type type);

// Owns the file, the context and the buffers. A mapped tensor lives in the file, so all of it lives until the end.
class model {
  public:
    explicit model(const std::string &path, const options &options = {});

    // Once. After a failure the model has no use but to be destroyed.
    load_stats load(ggml_backend_t backend, const load_options &options = {});

    // NULL if there is none, or it was not wanted. ggml keeps only the first 63 bytes of a name; here all count.
    ggml_tensor *find(const std::string &name) const;
    ggml_tensor *at(const std::string &name) const;

    size_t count() const { return entries.size(); }
    ggml_context *context() const { return ctx.get(); }
    zt_file *file() const { return source.get(); }

  private:
    struct entry {
        const zt_component *component;
        ggml_tensor *tensor;
        uint64_t size;
    };
    template <auto end> struct ender {
        template <class T> void operator()(T *handle) const { end(handle); }
    };

    void add(const zt_object *object, const std::string &name);
    std::vector<entry> map(load_stats &stats);
    void read(const std::vector<entry> &rest, const load_options &options, uint64_t total, load_stats &stats);
    void stage(const std::vector<entry> &rest, const load_options &options, uint64_t total, load_stats &stats);

    // Ended from the last to the first: buffers that point into the file go before it.
    std::unique_ptr<zt_file, ender<zt_close>> source;
    std::unique_ptr<ggml_context, ender<ggml_free>> ctx;
    std::vector<std::unique_ptr<ggml_backend_buffer, ender<ggml_backend_buffer_free>>> buffers;
    std::vector<entry> entries;
    std::map<std::string, ggml_tensor *> names;
};

} // namespace zt_ggml

#endif
