/* What ztensor.hpp is made of: files. Include ztensor.hpp. */
#ifndef ZTENSOR_FILE_HPP
#define ZTENSOR_FILE_HPP

#include "reader.hpp"
#include "source.hpp"

namespace zt {
inline namespace ZTENSOR_MODE {

/* A request of file::read_batch: a whole component, or bytes of it, into dst. */
struct read_request : sized<zt_read_request> {
    read_request() noexcept = default;
    read_request(zt::component what, void *to, std::size_t capacity, std::uint64_t its_tag = 0) noexcept
    {
        component = what.get();
        length = ZT_WHOLE;
        dst = to;
        dst_size = capacity;
        tag = its_tag;
    }
};


/* What file::verify found broken. The component is null where it is the object as a whole, both are for the padding. */
struct failure {
    zt::object object;
    zt::component component;
    zt_status status;
    const char *message;
};

namespace detail {
template <class P, class F> struct verifying : progress<P> {
    F &on_failure;
    static std::int32_t failed(void *context, const zt_object *o, const zt_component *c, zt_status s, const char *message) noexcept
    {
        auto *self = static_cast<verifying *>(static_cast<progress<P> *>(context));
        return self->thrown.run([&] { return said(self->on_failure, ZT_ERROR_CANCELLED, failure{o, c, s, message}); });
    }
};
/* Iterates over a listing function, 256 structs at a time. */
template <class Info, class Fill> returns<std::vector<Info>> listed(Fill fill)
{
    std::vector<Info> all;
    std::size_t filled = 1;
    zt_status status = ZT_OK;
    while (status == ZT_OK && filled != 0) {
        const std::size_t first = all.size();
        all.resize(first + 256);
        filled = 0;
        status = fill(first, all.data() + first, 256, &filled);
        all.resize(first + filled);
    }
    return give(status, std::move(all));
}
} // namespace detail

/* An open file. A range over its objects, in the manifest's order. */
class file {
  public:
    file() noexcept = default;
    /* Takes over a handle of C. */
    explicit file(zt_file *owned) noexcept : owned_(owned) {}

    [[nodiscard]] static returns<file> open(text path, const open_options &options = {})
    {
        zt_file *opened = nullptr;
        const zt_status status = zt_open(path.c_str(), &options, &opened);
        return detail::give(status, file(opened));
    }
    /* progress: (uint64_t done, uint64_t total), returns nothing, or false to stop; of options.verify. */
    template <class F> [[nodiscard]] static returns<file> open(text path, open_options options, F &&progress)
    {
        detail::progress<std::remove_reference_t<F>> step{progress};
        options.context = &step;
        options.progress = step.step;
        zt_file *opened = nullptr;
        const zt_status status = zt_open(path.c_str(), &options, &opened);
        file whole(opened);
        step.thrown.rethrow();
        return detail::give(status, std::move(whole));
    }
    /* A model, which may be of many files. */
    [[nodiscard]] static returns<file> open_model(text path, const open_options &options = {})
    {
        zt_file *opened = nullptr;
        const zt_status status = zt_open_model(path.c_str(), &options, &opened);
        return detail::give(status, file(opened));
    }
    /* Several files as one. */
    [[nodiscard]] static returns<file> open_parts(span<const char *const> paths, const open_options &options = {})
    {
        zt_file *opened = nullptr;
        const zt_status status = zt_open_parts(paths.data(), paths.size(), &options, &opened);
        return detail::give(status, file(opened));
    }
    [[nodiscard]] static returns<file> open_fd(int fd, std::uint64_t offset = 0, std::uint64_t length = ZT_WHOLE,
                                               const open_options &options = {})
    {
        zt_file *opened = nullptr;
        const zt_status status = zt_open_fd(fd, offset, length, &options, &opened);
        return detail::give(status, file(opened));
    }
    /* The same by a HANDLE of Windows. */
    [[nodiscard]] static returns<file> open_handle(void *handle, std::uint64_t offset = 0, std::uint64_t length = ZT_WHOLE,
                                                   const open_options &options = {})
    {
        zt_file *opened = nullptr;
        const zt_status status = zt_open_handle(handle, offset, length, &options, &opened);
        return detail::give(status, file(opened));
    }
    /* The bytes must stay until the last handle is closed. */
    [[nodiscard]] static returns<file> open_memory(const void *data, std::size_t size, const open_options &options = {})
    {
        zt_file *opened = nullptr;
        const zt_status status = zt_open_memory(data, size, &options, &opened);
        return detail::give(status, file(opened));
    }
    /* profile: name, gap, largest_request, concurrency and callers_thread, as zt_source has them; nothing else matters.
     * source: has uint64_t size() and read_at(uint64_t offset, void *dst, size_t n), which may run on several threads
     * at once and returns nothing, false for a failure, or a zt_status; it may have
     * read_many(const zt_source_range *, size_t), too, which returns the same. Moved in; destroyed with the last handle. */
    template <class S> [[nodiscard]] static returns<file> open_source(S source, const open_options &options = {},
                                                                   const sized<zt_source> &profile = {})
    {
        sized<zt_source> functions = profile;
        if (!detail::source_of<S>::box(std::move(source), &functions))
            return detail::fail<file>(ZT_ERROR_OUT_OF_MEMORY, "no memory for the source");
        zt_file *opened = nullptr;
        const zt_status status = zt_open_source(&functions, &options, &opened);
        return detail::give(status, file(opened));
    }

    /* A model whose files the caller opens. store: open(const char *name) gives a source, as open_source takes it; it may have
     * list(const char *folder), which gives names: a container of std::string. Both run on several threads at once. */
    template <class S> [[nodiscard]] static returns<file> open_model_from(S &&store, text name, const open_options &options = {})
    {
        using Store = detail::store_of<std::remove_reference_t<S>>;
        Store boxed{store};
        sized<zt_store> functions;
        functions.context = &boxed;
        functions.open = Store::open;
        functions.list = Store::template lists<std::remove_reference_t<S>>::value ? Store::list : nullptr;
        zt_file *opened = nullptr;
        const zt_status status = zt_open_model_from(&functions, name.c_str(), &options, &opened);
        file whole(opened);
        boxed.thrown.rethrow();
        return detail::give(status, std::move(whole));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return owned_ != nullptr; }
    [[nodiscard]] zt_file *get() const noexcept { return owned_.get(); }
    [[nodiscard]] zt_file *release() noexcept { return owned_.release(); }
    void close() noexcept { owned_.reset(); }
    /* Another owner of the same file. */
    [[nodiscard]] file share() const noexcept { return file(zt_retain(owned_.get())); }

    [[nodiscard]] const char *version() const noexcept { return zt_file_version(get()); }
    /* What came of ZT_MODE_AUTO, else what was asked for. */
    [[nodiscard]] zt_mode mode() const noexcept { return zt_file_mode(get()); }
    /* All bytes of the file, where they can be lent. */
    [[nodiscard]] returns<span<const std::byte>> bytes(std::size_t part = 0) const
    {
        const void *data = nullptr;
        std::uint64_t size = 0;
        const zt_status status = zt_file_bytes(get(), part, &data, &size);
        return detail::give(status, span<const std::byte>(static_cast<const std::byte *>(data), static_cast<std::size_t>(size)));
    }
    [[nodiscard]] std::size_t part_count() const noexcept { return zt_part_count(get()); }
    /* Null where a part was not opened by a path. */
    /* Path, size and container of a part; all zeros and null where there is no such part. */
    [[nodiscard]] zt_part_info part(std::size_t part = 0) const noexcept
    {
        zt_part_info info = ZT_INIT(zt_part_info);
        if (part < part_count())
            (void)zt_part_get_info(get(), part, &info);
        return info;
    }
    /* What changes when the file does. */
    [[nodiscard]] returns<identity> identify() const
    {
        identity found;
        const zt_status status = zt_file_identity(get(), &found);
        return detail::give(status, found);
    }
    [[nodiscard]] returns<identity> identify_part(std::size_t part) const
    {
        identity found;
        const zt_status status = zt_part_identity(get(), part, &found);
        return detail::give(status, found);
    }
    /* What is not shown of a model. */
    [[nodiscard]] returns<model_info> info_of_model() const
    {
        model_info found;
        const zt_status status = zt_model_get_info(get(), &found);
        return detail::give(status, found);
    }
    [[nodiscard]] value attributes() const noexcept { return zt_file_attributes(get()); }
    /* What is known of all objects, and of all components (of one object), by few calls. */
    [[nodiscard]] returns<std::vector<object_info>> objects() const
    {
        return detail::listed<object_info>([this](std::size_t first, object_info *to, std::size_t count, std::size_t *filled) {
            return zt_object_list(get(), first, to, count, filled);
        });
    }
    [[nodiscard]] returns<std::vector<component_info>> components(object of = {}) const
    {
        return detail::listed<component_info>([this, of](std::size_t first, component_info *to, std::size_t count, std::size_t *filled) {
            return zt_component_list(get(), of.get(), first, to, count, filled);
        });
    }
    [[nodiscard]] std::size_t size() const noexcept { return zt_object_count(get()); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    using iterator = detail::indexed<object, zt_file>;
    [[nodiscard]] iterator begin() const noexcept { return {get(), 0}; }
    [[nodiscard]] iterator end() const noexcept { return {get(), size()}; }
    [[nodiscard]] object operator[](std::size_t index) const noexcept { return zt_object_at(get(), index); }
    /* Null if no object has that name. */
    [[nodiscard]] object find(std::string_view name) const noexcept
    {
        return zt_object_find_n(get(), name.data() ? name.data() : "", name.size());
    }
    /* ZT_ERROR_NOT_FOUND if no object has that name. */
    [[nodiscard]] returns<object> at(std::string_view name) const
    {
        const object found = find(name);
        if (!found)
            return detail::fail<object>(ZT_ERROR_NOT_FOUND, "there is no object of that name");
        return found;
    }
    /* A dense tensor, mapped or decoded once into memory of the file. */
    [[nodiscard]] returns<tensor_view> tensor(text name) const
    {
        tensor_view view;
        const zt_status status = zt_tensor_find(get(), name.c_str(), &view);
        return detail::give(status, view);
    }

    /* One component, which has to have a digest; one object. */
    returns<verify_report> verify(component only) const
    {
        if (!only)
            return detail::fail<verify_report>(ZT_ERROR_INVALID_ARGUMENT, "the component is null");
        verify_options options;
        options.component = only.get();
        options.checks = ZT_VERIFY_REQUIRE_DIGESTS;
        return verify(options);
    }
    returns<verify_report> verify(object only) const
    {
        if (!only)
            return detail::fail<verify_report>(ZT_ERROR_INVALID_ARGUMENT, "the object is null");
        verify_options options;
        options.object = only.get();
        return verify(options);
    }
    returns<verify_report> verify(const verify_options &options = {}) const
    {
        verify_report report;
        const zt_status status = zt_verify(get(), &options, &report);
        return detail::give(status, report);
    }
    /* progress: (uint64_t done, uint64_t total), returns nothing, or false to stop. */
    template <class F> returns<verify_report> verify(verify_options options, F &&progress) const
    {
        detail::progress<std::remove_reference_t<F>> step{progress};
        options.context = &step;
        options.progress = step.step;
        verify_report report;
        const zt_status status = zt_verify(get(), &options, &report);
        step.thrown.rethrow();
        return detail::give(status, report);
    }
    /* on_failure: (const zt::failure &), called for each failure, returns nothing, or false to end the call. */
    template <class P, class F> returns<verify_report> verify(verify_options options, P &&progress, F &&on_failure) const
    {
        using step_of = detail::verifying<std::remove_reference_t<P>, std::remove_reference_t<F>>;
        step_of step{{progress, {}}, on_failure};
        options.context = static_cast<detail::progress<std::remove_reference_t<P>> *>(&step);
        options.progress = step_of::step;
        options.on_failure = step_of::failed;
        verify_report report;
        const zt_status status = zt_verify(get(), &options, &report);
        step.thrown.rethrow();
        return detail::give(status, report);
    }
    returns<read_stats> read_batch(span<const read_request> requests, const read_options &options = {}) const
    {
        read_stats stats;
        const zt_status status = zt_read_batch(get(), requests.data(), requests.size(), &options, &stats);
        return detail::give(status, stats);
    }
    /* progress: as of verify. */
    template <class F> returns<read_stats> read_batch(span<const read_request> requests, read_options options, F &&progress) const
    {
        detail::progress<std::remove_reference_t<F>> step{progress};
        options.context = &step;
        options.progress = step.step;
        read_stats stats;
        const zt_status status = zt_read_batch(get(), requests.data(), requests.size(), &options, &stats);
        step.thrown.rethrow();
        return detail::give(status, stats);
    }

  private:
    struct closer { void operator()(zt_file *f) const noexcept { zt_close(f); } };
    std::unique_ptr<zt_file, closer> owned_;
};
static_assert(sizeof(read_request) == sizeof(zt_read_request) && sizeof(object_info) == sizeof(zt_object_info) &&
                  sizeof(component_info) == sizeof(zt_component_info),
              "an array of them is one of C");

/* How elements of a logical type lie in bytes: 32 elements in 18 bytes. */
struct block { std::size_t elements, bytes; };
[[nodiscard]] inline returns<block> block_of(zt_type type)
{
    block found{};
    const zt_status status = zt_type_block(type, &found.elements, &found.bytes);
    return detail::give(status, found);
}
/* ggml's number (enum ggml_type) of a type. */
[[nodiscard]] inline returns<std::int32_t> ggml_number(zt_dtype dtype, zt_type type)
{
    std::int32_t found = 0;
    const zt_status status = zt_type_ggml(dtype, type, &found);
    return detail::give(status, found);
}
/* The type of ggml's number. */
struct stored_type { zt_dtype dtype; zt_type type; };
[[nodiscard]] inline returns<stored_type> type_from_ggml(std::int32_t number)
{
    stored_type found{};
    const zt_status status = zt_type_from_ggml(number, &found.dtype, &found.type);
    return detail::give(status, found);
}
[[nodiscard]] inline returns<zt_dtype> dtype_from_name(text name)
{
    zt_dtype found = ZT_DTYPE_OTHER;
    const zt_status status = zt_dtype_from_name(name.c_str(), &found);
    return detail::give(status, zt_dtype{found});
}
[[nodiscard]] inline returns<zt_type> type_from_name(text name)
{
    zt_type found = ZT_TYPE_NONE;
    const zt_status status = zt_type_from_name(name.c_str(), &found);
    return detail::give(status, zt_type{found});
}

/* Cuts an unfinished append back; see zt_repair. */
inline returns<repair_report> repair(text path, const repair_options &options = {})
{
    repair_report report;
    const zt_status status = zt_repair(path.c_str(), &options, &report);
    return detail::give(status, report);
}
/* progress: as of file::verify. */
template <class F> returns<repair_report> repair(text path, repair_options options, F &&progress)
{
    detail::progress<std::remove_reference_t<F>> step{progress};
    options.context = &step;
    options.progress = step.step;
    repair_report report;
    const zt_status status = zt_repair(path.c_str(), &options, &report);
    step.thrown.rethrow();
    return detail::give(status, report);
}

} // namespace ZTENSOR_MODE
} // namespace zt

#endif /* ZTENSOR_FILE_HPP */
