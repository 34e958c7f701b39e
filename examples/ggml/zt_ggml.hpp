// Loads the tensors of a .zt, GGUF or safetensors file into ggml, including block-quantized ones, in the
// steps of an inference engine:
//   1. zt_ggml::model reads the metadata: a ggml context without memory for weights. The engine looks at
//      names and shapes and selects the backend.
//   2. model::load reads the bytes. Mapped tensors stay in the file. Others are read by one batch into the
//      backend's buffer, or streamed through a ring of four slots if the buffer is a device's.
// Errors are exceptions: zt_ggml::cancelled, or std::runtime_error with the reason.
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
    std::function<bool(const std::string &)> wanted; // selects tensors; empty for all
};

struct load_options {
    bool map = true;     // leave tensors in the file if the backend can use them there
    bool verify = false; // check the digests in the batch
    bool staged = false; // use the ring even if the buffer can be read into
    // Called with the loaded bytes and their total; false stops the load. It may run on another thread, and
    // must not throw.
    std::function<bool(uint64_t done, uint64_t total)> progress;
};

struct load_stats {
    uint64_t mapped = 0, read = 0, staged = 0; // bytes loaded in each way
};

// ggml's type for a component, or GGML_TYPE_COUNT if ggml does not have it.
ggml_type type_of(zt_dtype dtype, zt_type type);

// Owns the file, the context and the buffers. Mapped tensors are in the file, so it must outlive all of them.
class model {
  public:
    explicit model(const std::string &path, const options &options = {});

    // Call it once. After a failure the model can only be destroyed.
    load_stats load(ggml_backend_t backend, const load_options &options = {});

    // NULL if it does not exist or was not selected. ggml only keeps the first 63 bytes of a name; this
    // compares all.
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

    // Destroyed from the last to the first: buffers that point into the file before the file.
    std::unique_ptr<zt_file, ender<zt_close>> source;
    std::unique_ptr<ggml_context, ender<ggml_free>> ctx;
    std::vector<std::unique_ptr<ggml_backend_buffer, ender<ggml_backend_buffer_free>>> buffers;
    std::vector<entry> entries;
    std::map<std::string, ggml_tensor *> names;
};

} // namespace zt_ggml

#endif
