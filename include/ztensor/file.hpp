/* What ztensor.hpp is made of: files. Include ztensor.hpp. */
#ifndef ZTENSOR_FILE_HPP
#define ZTENSOR_FILE_HPP

#include "reader.hpp"

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

namespace detail {
/* A source of C++ behind the functions that C calls: uint64_t size(), and read_at (offset, dst, n). */
template <class S, class = void> struct has_read_many : std::false_type {};
template <class S>
struct has_read_many<S, std::void_t<decltype(std::declval<S &>().read_many(std::declval<const zt_source_range *>(), std::size_t{}))>>
    : std::true_type {};
template <class S> struct source_of {
    S source;
    static zt_status size(void *context, std::uint64_t *size) noexcept
    {
        carrier caught;
        return caught.run([&] { return *size = static_cast<source_of *>(context)->source.size(), zt_status{ZT_OK}; });
    }
    static zt_status read_at(void *context, std::uint64_t offset, void *dst, std::size_t n) noexcept
    {
        carrier caught; /* of this thread: several may read at once */
        auto read = [self = static_cast<source_of *>(context)](std::uint64_t o, void *d, std::size_t bytes) {
            return self->source.read_at(o, d, bytes);
        };
        return caught.run([&] { return said(read, ZT_ERROR_IO, offset, dst, n); });
    }
    static zt_status read_many(void *context, const zt_source_range *ranges, std::size_t count) noexcept
    {
        carrier caught;
        auto read = [self = static_cast<source_of *>(context)](const zt_source_range *r, std::size_t n) {
            return self->source.read_many(r, n);
        };
        return caught.run([&] { return said(read, ZT_ERROR_IO, ranges, count); });
    }
    static void close(void *context) noexcept { delete static_cast<source_of *>(context); }
};
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
        using Boxed = detail::source_of<S>;
        auto *boxed = new (std::nothrow) Boxed{std::move(source)};
        if (!boxed)
            return detail::fail<file>(ZT_ERROR_OUT_OF_MEMORY, "no memory for the source");
        sized<zt_source> functions = profile;
        functions.context = boxed;
        functions.size = Boxed::size;
        functions.read_at = Boxed::read_at;
        functions.read_many = nullptr;
        if constexpr (detail::has_read_many<S>::value)
            functions.read_many = Boxed::read_many;
        functions.close = Boxed::close; /* called also when the opening fails */
        zt_file *opened = nullptr;
        const zt_status status = zt_open_source(&functions, &options, &opened);
        return detail::give(status, file(opened));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return owned_ != nullptr; }
    [[nodiscard]] zt_file *get() const noexcept { return owned_.get(); }
    [[nodiscard]] zt_file *release() noexcept { return owned_.release(); }
    void close() noexcept { owned_.reset(); }
    /* Another owner of the same file. */
    [[nodiscard]] file share() const noexcept { return file(zt_retain(owned_.get())); }

    [[nodiscard]] const char *version() const noexcept { return zt_file_version(get()); }
    [[nodiscard]] std::uint64_t file_size() const noexcept { return zt_file_size(get()); }
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
    [[nodiscard]] const char *part_path(std::size_t part) const noexcept { return zt_part_path(get(), part); }
    [[nodiscard]] std::uint64_t part_size(std::size_t part) const noexcept { return zt_part_size(get(), part); }
    /* What changes when the file does. */
    [[nodiscard]] returns<identity> identify() const
    {
        identity found;
        const zt_status status = zt_file_identity(get(), &found);
        return detail::give(status, found);
    }
    [[nodiscard]] value attributes() const noexcept { return zt_file_attributes(get()); }
    [[nodiscard]] std::size_t size() const noexcept { return zt_object_count(get()); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    using iterator = detail::indexed<object, zt_file>;
    [[nodiscard]] iterator begin() const noexcept { return {get(), 0}; }
    [[nodiscard]] iterator end() const noexcept { return {get(), size()}; }
    [[nodiscard]] object operator[](std::size_t index) const noexcept { return zt_object_at(get(), index); }
    /* Null if there is none of that name. */
    [[nodiscard]] object find(std::string_view name) const noexcept
    {
        return zt_object_find_n(get(), name.data() ? name.data() : "", name.size());
    }
    /* ZT_ERROR_NOT_FOUND if there is none of that name. */
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
static_assert(sizeof(read_request) == sizeof(zt_read_request), "an array of them is one of C");

/* Cuts an unfinished append back; see zt_repair. */
inline returns<repair_report> repair(text path, const repair_options &options = {})
{
    repair_report report;
    const zt_status status = zt_repair(path.c_str(), &options, &report);
    return detail::give(status, report);
}

} // namespace ZTENSOR_MODE
} // namespace zt

#endif /* ZTENSOR_FILE_HPP */
