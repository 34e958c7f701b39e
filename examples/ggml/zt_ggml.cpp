#include "zt_ggml.hpp"

#include <algorithm>
#include <ggml-alloc.h>

namespace zt_ggml {

namespace {

[[noreturn]] void fail(zt_status status)
{
    if (status == ZT_ERROR_CANCELLED)
        throw cancelled(zt_last_error());
    throw std::runtime_error(zt_last_error());
}

void check(zt_status status)
{
    if (status != ZT_OK)
        fail(status);
}

bool report(const load_options &options, uint64_t done, uint64_t total)
{
    return !options.progress || options.progress(done, total);
}

} // namespace

ggml_type type_of(zt_dtype dtype, zt_type type)
{
    int32_t number;
    if (zt_type_ggml(dtype, type, &number) != ZT_OK || number >= GGML_TYPE_COUNT)
        return GGML_TYPE_COUNT; // 8-bit floats and complex numbers: ggml would treat the bytes as integers
    const ggml_type found = static_cast<ggml_type>(number);
    return ggml_type_size(found) > 0 ? found : GGML_TYPE_COUNT;
}

model::model(const std::string &path, const options &options)
{
    zt_file *file;
    check(zt_open(path.c_str(), nullptr, &file));
    source.reset(file);

    std::vector<std::pair<const zt_object *, std::string>> chosen;
    for (size_t i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        zt_object_info info = ZT_INIT(zt_object_info);
        check(zt_object_get_info(object, &info));
        std::string name(info.name, info.name_length);
        if (!options.wanted || options.wanted(name))
            chosen.emplace_back(object, std::move(name));
    }
    // Memory only for the descriptions: no_alloc.
    ctx.reset(ggml_init({ggml_tensor_overhead() * (chosen.size() + 1), nullptr, true}));
    if (!ctx)
        throw std::runtime_error(path + ": ggml could not make a context for the tensors");
    for (const auto &[object, name] : chosen)
        add(object, name);
}

void model::add(const zt_object *object, const std::string &name)
{
    const zt_component *data = zt_component_find(object, "data");
    zt_format format = zt_object_format(object);
    if ((format != ZT_FORMAT_DENSE && format != ZT_FORMAT_BLOCKS) || !data)
        throw std::runtime_error(name + ": ggml has no tensors of this format");
    ggml_type type = type_of(zt_component_dtype(data), zt_component_type(data));
    if (type == GGML_TYPE_COUNT) {
        const char *logical = zt_type_name(zt_component_type(data)), *dtype = zt_dtype_name(zt_component_dtype(data));
        throw std::runtime_error(name + ": ggml has no type for " + (logical ? logical : dtype ? dtype : "its elements"));
    }
    size_t rank = zt_object_rank(object);
    if (format == ZT_FORMAT_BLOCKS &&
        (rank == 0 || zt_object_shape(object)[rank - 1] % static_cast<uint64_t>(ggml_blck_size(type)) != 0))
        throw std::runtime_error(name + ": its rows are not whole blocks");
    if (rank > GGML_MAX_DIMS)
        throw std::runtime_error(name + ": rank " + std::to_string(rank) + " is more than ggml's " +
                                 std::to_string(GGML_MAX_DIMS));
    if (zt_object_element_count(object) == 0)
        throw std::runtime_error(name + ": ggml computes nothing with a tensor without elements");
    // ggml counts dimensions from the innermost; a scalar has one of 1.
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
    for (size_t i = 0; i < rank; i++)
        ne[i] = static_cast<int64_t>(zt_object_shape(object)[rank - 1 - i]);
    ggml_tensor *tensor = ggml_new_tensor(ctx.get(), type, rank ? static_cast<int>(rank) : 1, ne);
    ggml_set_name(tensor, name.c_str());
    if (ggml_nbytes(tensor) != zt_component_size(data))
        throw std::runtime_error(name + ": its size does not match its shape");
    entries.push_back({data, tensor, zt_component_size(data)});
    names.emplace(name, tensor);
}

ggml_tensor *model::find(const std::string &name) const
{
    auto found = names.find(name);
    return found == names.end() ? nullptr : found->second;
}

ggml_tensor *model::at(const std::string &name) const
{
    ggml_tensor *tensor = find(name);
    return tensor ? tensor : throw std::runtime_error(name + ": no such tensor");
}

load_stats model::load(ggml_backend_t backend, const load_options &options)
{
    load_stats stats;
    uint64_t total = 0;
    for (const entry &e : entries)
        total += e.size;
    if (!report(options, 0, total))
        throw cancelled("the load was stopped before it began");

    ggml_backend_buffer_type_t type = ggml_backend_get_default_buffer_type(backend);
    bool host = ggml_backend_buft_is_host(type);
    // A device cannot use host memory in place; see ggml_backend_dev_buffer_from_host_ptr for those that can.
    std::vector<entry> rest = options.map && host ? map(stats) : entries;
    if (rest.empty()) {
        report(options, total, total);
        return stats;
    }
    // Allocates every tensor of the context that has no memory yet.
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), type);
    if (!buffer)
        throw std::runtime_error("the backend has no memory for the weights");
    buffers.emplace_back(buffer);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    if (host && !options.staged)
        read(rest, options, total, stats);
    else
        stage(rest, options, total, stats);
    return stats;
}

// One buffer over the part of the mapping with the tensors that can be borrowed. Returns the others.
std::vector<model::entry> model::map(load_stats &stats)
{
    size_t alignment = ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
    std::vector<std::pair<entry, char *>> borrowed;
    std::vector<entry> rest;
    for (const entry &e : entries) {
        const void *place = nullptr;
        // ggml's pointers are not const. The pages are read-only: an operation that wrote to a weight would fault.
        if ((zt_component_caps(e.component) & ZT_CAP_MAP) && zt_component_ptr(e.component, &place, nullptr) == ZT_OK &&
            reinterpret_cast<uintptr_t>(place) % alignment == 0)
            borrowed.emplace_back(e, static_cast<char *>(const_cast<void *>(place)));
        else
            rest.push_back(e);
    }
    if (borrowed.empty())
        return rest;
    char *first = borrowed.front().second, *last = first;
    for (const auto &[e, place] : borrowed) {
        first = std::min(first, place);
        last = std::max(last, place + e.size);
        zt_component_advise(e.component, ZT_ADVICE_WILLNEED); // a hint, so its failure is ignored
    }
    ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(first, static_cast<size_t>(last - first));
    if (!buffer)
        throw std::runtime_error("ggml could not make a buffer for the mapping");
    buffers.emplace_back(buffer);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    for (const auto &[e, place] : borrowed) {
        if (ggml_backend_tensor_alloc(buffer, e.tensor, place) != GGML_STATUS_SUCCESS)
            throw std::runtime_error("ggml rejected the address of a mapped tensor");
        stats.mapped += e.size;
    }
    return rest;
}

void model::read(const std::vector<entry> &rest, const load_options &options, uint64_t total, load_stats &stats)
{
    struct telling {
        const load_options &options;
        uint64_t before, total;
    } context = {options, stats.mapped, total};
    std::vector<zt_read_request> requests(rest.size());
    for (size_t i = 0; i < rest.size(); i++) {
        requests[i].struct_size = sizeof requests[i];
        requests[i].component = rest[i].component;
        requests[i].length = ZT_WHOLE;
        requests[i].dst = rest[i].tensor->data;
        requests[i].dst_size = ggml_nbytes(rest[i].tensor);
    }
    zt_read_options how = {};
    how.struct_size = sizeof how;
    how.verify = options.verify;
    how.context = &context;
    how.progress = [](void *given, uint64_t done, uint64_t) -> int32_t {
        auto *t = static_cast<telling *>(given);
        return report(t->options, t->before + done, t->total) ? 0 : 1;
    };
    zt_read_stats did = {};
    did.struct_size = sizeof did;
    check(zt_read_batch(file(), requests.data(), requests.size(), &how, &did));
    stats.read = did.bytes;
}

// Through a ring of four slots: the load's threads fill slots while this thread copies others to the device.
void model::stage(const std::vector<entry> &rest, const load_options &options, uint64_t total, load_stats &stats)
{
    std::vector<zt_read_request> requests(rest.size());
    zt_load_options how = {};
    how.struct_size = sizeof how;
    how.verify = options.verify;
    how.slot_size = 16 << 20;
    how.slot_count = 4;
    how.in_flight = 256 << 20; // for decoding a compressed tensor that is larger than a slot
    for (size_t i = 0; i < rest.size(); i++) {
        requests[i].struct_size = sizeof requests[i];
        requests[i].component = rest[i].component;
        requests[i].length = ZT_WHOLE;
        requests[i].tag = i;
        how.in_flight = std::max(how.in_flight, rest[i].size);
    }
    zt_load *begun;
    check(zt_load_start(requests.data(), requests.size(), &how, &begun));
    auto finish = [](zt_load *load) { zt_load_finish(load, nullptr); };
    std::unique_ptr<zt_load, decltype(finish)> load(begun, finish);
    for (;;) {
        zt_load_event event = {};
        event.struct_size = sizeof event;
        check(zt_load_next(load.get(), -1, &event));
        if (event.status != ZT_OK)
            fail(event.status);
        if (event.kind == ZT_LOAD_KIND_DONE)
            return;
        // A backend that copies later (ggml_backend_tensor_set_async) releases when the copy's event is done.
        ggml_backend_tensor_set(rest[event.tag].tensor, event.data, event.offset, event.size);
        zt_load_release(load.get(), &event);
        stats.staged += event.size;
        if (!report(options, stats.mapped + stats.staged, total))
            throw cancelled("the load was stopped");
    }
}

} // namespace zt_ggml
