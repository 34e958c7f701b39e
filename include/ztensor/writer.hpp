/* What ztensor.hpp is made of: writers. Include ztensor.hpp. */
#ifndef ZTENSOR_WRITER_HPP
#define ZTENSOR_WRITER_HPP

#include "file.hpp"

namespace zt {
inline namespace ZTENSOR_MODE {

/* A request of writer::batch: a dense tensor of elements of T. The caller keeps the memory. */
struct write_request : sized<zt_write_request> {
    write_request() noexcept = default;
    template <class T> write_request(const char *its_name, span<const std::uint64_t> its_shape, span<const T> elements) noexcept
    {
        name = its_name;
        shape = its_shape.data();
        rank = its_shape.size();
        data = elements.data();
        size = elements.size_bytes();
        dtype = type_of<T>::dtype;
        type = type_of<T>::type;
    }
};
static_assert(sizeof(write_request) == sizeof(zt_write_request), "an array of them is one of C");

namespace detail {
/* A sink of C++ behind the functions that C calls. What it throws is kept where the writer finds it. */
template <class S> struct sink_of {
    S sink;
    std::shared_ptr<carrier> thrown;
    template <class T, class = void> struct finishes : std::false_type {};
    template <class T> struct finishes<T, std::void_t<decltype(std::declval<T &>().finish())>> : std::true_type {};
    static zt_status write(void *context, const void *data, std::size_t n) noexcept
    {
        auto *self = static_cast<sink_of *>(context);
        auto call = [&](const void *d, std::size_t bytes) { return self->sink.write(d, bytes); };
        return self->thrown->run([&] { return said(call, ZT_ERROR_IO, data, n); });
    }
    static zt_status finish(void *context) noexcept
    {
        auto *self = static_cast<sink_of *>(context);
        if constexpr (finishes<S>::value) {
            auto call = [&] { return self->sink.finish(); };
            return self->thrown->run([&] { return said(call, ZT_ERROR_IO); });
        }
        return (void)self, ZT_OK;
    }
    static void close(void *context) noexcept { delete static_cast<sink_of *>(context); }
};
} // namespace detail

/* Writes a file, which appears whole at finish() and never before. Destroyed unfinished, it leaves no trace. */
class writer {
  public:
    writer() noexcept = default;
    /* Takes over a handle of C. */
    explicit writer(zt_writer *owned) noexcept : owned_(owned) {}

    [[nodiscard]] static returns<writer> create(text path, const writer_options &options = {})
    {
        return begun(zt_write_create, path, options);
    }
    [[nodiscard]] static returns<writer> append(text path, const writer_options &options = {})
    {
        return begun(zt_write_append, path, options);
    }
    /* progress: (uint64_t done, uint64_t total), returns nothing, or false to stop. Moved in. */
    template <class F> [[nodiscard]] static returns<writer> create(text path, const writer_options &options, F progress)
    {
        return begun(zt_write_create, path, options, std::move(progress));
    }
    template <class F> [[nodiscard]] static returns<writer> append(text path, const writer_options &options, F progress)
    {
        return begun(zt_write_append, path, options, std::move(progress));
    }
    /* sink: has write(const void *data, size_t n) and perhaps finish(); both return nothing, false for a failure, or a
     * zt_status. Moved in; destroyed when the writer ends. */
    template <class S> [[nodiscard]] static returns<writer> to_sink(S sink, const writer_options &options = {})
    {
        using Boxed = detail::sink_of<S>;
        auto thrown = std::make_shared<detail::carrier>();
        auto *boxed = new (std::nothrow) Boxed{std::move(sink), thrown};
        if (!boxed)
            return detail::fail<writer>(ZT_ERROR_OUT_OF_MEMORY, "no memory for the sink");
        sized<zt_sink> functions;
        functions.context = boxed;
        functions.write = Boxed::write;
        functions.finish = Boxed::finish;
        functions.close = Boxed::close; /* called also when the creation fails */
        zt_writer *made = nullptr;
        const zt_status status = zt_write_create_sink(&functions, &options, &made);
        thrown->rethrow();
        writer whole(made);
        whole.thrown_ = std::move(thrown);
        return detail::give(status, std::move(whole));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return owned_ != nullptr; }
    [[nodiscard]] zt_writer *get() const noexcept { return owned_.get(); }

    /* A dense tensor of elements of T. */
    template <class T> returns<void> dense(std::string_view name, span<const std::uint64_t> shape, span<const T> data)
    {
        return dense(name, type_of<T>::dtype, type_of<T>::type, shape, data.data(), data.size_bytes());
    }
    template <class T> returns<void> dense(std::string_view name, span<const std::uint64_t> shape, const std::vector<T> &data)
    {
        return dense(name, shape, span<const T>(data));
    }
    returns<void> dense(std::string_view name, zt_dtype dtype, zt_type type, span<const std::uint64_t> shape, const void *data,
                        std::uint64_t size)
    {
        component_desc part;
        part.role = "data";
        part.dtype = dtype;
        part.type = type;
        part.data = data;
        part.size = size;
        object_desc whole = describe(name, ZT_FORMAT_DENSE, shape);
        whole.components = &part;
        whole.component_count = 1;
        return object(whole);
    }
    /* Many dense tensors at once; see zt_write_batch. */
    returns<void> batch(span<const write_request> requests)
    {
        return give(zt_write_batch(get(), requests.data(), requests.size()));
    }
    template <class T>
    returns<void> csr(std::string_view name, std::uint64_t rows, std::uint64_t columns, span<const T> values,
                      span<const std::uint64_t> indices, span<const std::uint64_t> indptr)
    {
        const std::uint64_t shape[2] = {rows, columns};
        if (values.size() != indices.size() || indptr.size() != rows + 1)
            return detail::fail<void>(ZT_ERROR_INVALID_ARGUMENT, "a csr object has an index for each value, and rows + 1 row starts");
        return give(zt_write_csr(get(), pointer(name), name.size(), type_of<T>::dtype, type_of<T>::type, shape, values.size(),
                                      values.data(), values.size_bytes(), indices.data(), indptr.data()));
    }
    /* coords: a row of values.size() numbers for each dimension. */
    template <class T>
    returns<void> coo(std::string_view name, span<const std::uint64_t> shape, span<const T> values, span<const std::uint64_t> coords)
    {
        if (coords.size() != values.size() * shape.size())
            return detail::fail<void>(ZT_ERROR_INVALID_ARGUMENT, "a coo object has a coordinate for each value and dimension");
        return give(zt_write_coo(get(), pointer(name), name.size(), type_of<T>::dtype, type_of<T>::type, shape.data(), shape.size(),
                                 values.size(), values.data(), values.size_bytes(), coords.data()));
    }
    returns<void> quantized(std::string_view name, span<const std::uint64_t> shape, const quantized_desc &desc)
    {
        return give(zt_write_quantized(get(), pointer(name), name.size(), shape.data(), shape.size(), &desc));
    }
    /* tensor: in the host's memory; stays the caller's. */
    returns<void> dlpack(std::string_view name, const DLManagedTensorVersioned *tensor)
    {
        return give(zt_write_dlpack(get(), pointer(name), name.size(), tensor));
    }
    returns<void> dlpack(std::string_view name, const DLManagedTensor *tensor)
    {
        return give(zt_write_dlpack_unversioned(get(), pointer(name), name.size(), tensor));
    }
    returns<void> object(const zt_object_desc &desc) { return give(zt_write_object(get(), &desc)); }
    returns<void> copy(zt::object from, const copy_options &options = {})
    {
        return give(zt_write_copy(get(), from.get(), &options));
    }
    returns<void> copy(zt::object from, std::string_view new_name)
    {
        copy_options options;
        options.name = pointer(new_name);
        options.name_length = new_name.size();
        return copy(from, options);
    }
    /* Of zTensor 2: an open file becomes a shard, and its objects are added with their bytes staying there. */
    returns<void> add_shard(std::string_view name, const zt_file *shard)
    {
        return give(zt_write_shard(get(), pointer(name), name.size(), shard));
    }
    returns<void> link(zt::object from) { return give(zt_write_link(get(), from.get(), nullptr, 0)); }
    returns<void> link(zt::object from, std::string_view new_name)
    {
        return give(zt_write_link(get(), from.get(), pointer(new_name), new_name.size()));
    }
    /* All attributes of the file, and what its container says beside them. */
    returns<void> copy_attributes(const zt_file *from) { return give(zt_write_copy_attributes(get(), from)); }

    /* In pieces: begin, then for each component() its data(), then end. */
    returns<void> begin(std::string_view name, zt_format format, span<const std::uint64_t> shape)
    {
        return begin(describe(name, format, shape));
    }
    returns<void> begin(const zt_object_desc &desc) { return give(zt_write_begin(get(), &desc)); }
    returns<void> component(const zt_component_desc &desc) { return give(zt_write_component(get(), &desc)); }
    returns<void> component(std::string_view role, zt_dtype dtype, zt_type type = ZT_TYPE_NONE)
    {
        component_desc part;
        part.role = pointer(role);
        part.role_length = role.size();
        part.dtype = dtype;
        part.type = type;
        return component(part);
    }
    returns<void> data(const void *data, std::size_t size) { return give(zt_write_data(get(), data, size)); }
    returns<void> end() { return give(zt_write_end(get())); }

    /* Attributes of the file, and of an object: the one that is open, or one that the file had before the append. T: bool, an integer, a floating point type, text,
     * span<const std::byte>, a value of an open file, a container of elements such as std::vector<float>, or a
     * zt_attribute. */
    template <class T> returns<void> set_attribute(std::string_view key, const T &value)
    {
        auto call = [](zt_writer *w, const char *its_key, const zt_attribute *made) {
            return zt_write_attribute(w, nullptr, 0, its_key, made);
        };
        return give_attribute(call, key, value);
    }
    template <class T> returns<void> set_object_attribute(std::string_view name, std::string_view key, const T &value)
    {
        auto call = [&](zt_writer *w, const char *its_key, const zt_attribute *made) {
            return zt_write_attribute(w, pointer(name), name.size(), its_key, made);
        };
        return give_attribute(call, key, value);
    }
    /* value: JSON text. */
    returns<void> set_attribute_json(std::string_view key, text value) { return set_attribute(key, describe(ZT_ATTRIBUTE_KIND_JSON, value.c_str())); }
    returns<void> remove_attribute(std::string_view key) { return set_attribute(key, describe(ZT_ATTRIBUTE_KIND_REMOVE)); }

    /* Of an append: what the file has is taken away, renamed, and gets other attributes. */
    returns<void> remove_object(std::string_view name)
    {
        return give(zt_write_remove(get(), pointer(name), name.size()));
    }
    returns<void> rename_object(std::string_view name, std::string_view new_name)
    {
        return give(zt_write_rename(get(), pointer(name), name.size(), pointer(new_name), new_name.size()));
    }
    returns<void> remove_object_attribute(std::string_view name, std::string_view key)
    {
        return set_object_attribute(name, key, describe(ZT_ATTRIBUTE_KIND_REMOVE));
    }

    /* Publishes the file and ends the writer, whatever comes of it. */
    returns<write_summary> finish()
    {
        if (!owned_)
            return detail::fail<write_summary>(ZT_ERROR_STATE, "the writer has ended already, or was moved from");
        write_summary summary;
        const zt_status status = zt_write_finish(owned_.release(), &summary);
        if (thrown_)
            thrown_->rethrow();
        return detail::give(status, summary);
    }
    void abort() noexcept { owned_.reset(); }

  private:
    /* With a length of 0 C takes a text as NUL-ended, and NULL for none. */
    static const char *pointer(std::string_view string) noexcept { return string.empty() ? "" : string.data(); }
    template <class Begin> static returns<writer> begun(Begin begin, text path, const writer_options &options)
    {
        zt_writer *made = nullptr;
        const zt_status status = begin(path.c_str(), &options, &made);
        return detail::give(status, writer(made));
    }
    template <class Begin, class F> static returns<writer> begun(Begin begin, text path, writer_options options, F progress)
    {
        using Boxed = detail::kept_progress<F>;
        auto thrown = std::make_shared<detail::carrier>();
        auto boxed = std::shared_ptr<Boxed>(new (std::nothrow) Boxed{std::move(progress), thrown});
        if (!boxed)
            return detail::fail<writer>(ZT_ERROR_OUT_OF_MEMORY, "no memory for the progress");
        options.context = boxed.get();
        options.progress = Boxed::step;
        zt_writer *made = nullptr;
        const zt_status status = begin(path.c_str(), &options, &made);
        writer whole(made);
        whole.thrown_ = std::move(thrown);
        whole.progress_ = std::move(boxed);
        return detail::give(status, std::move(whole));
    }
    static zt_attribute describe(zt_attribute_kind kind, const void *data = nullptr) noexcept
    {
        zt_attribute out{};
        out.struct_size = sizeof out;
        out.kind = kind;
        out.data = data;
        return out;
    }
    template <class F, class T> returns<void> give_attribute(F call, std::string_view key, const T &value)
    {
        zt_attribute made = describe(ZT_ATTRIBUTE_KIND_NULL);
        if constexpr (std::is_same_v<T, zt_attribute>) {
            made = value;
        } else if constexpr (std::is_same_v<T, bool>) {
            made.kind = ZT_ATTRIBUTE_KIND_BOOL;
            made.i64 = value;
        } else if constexpr (std::is_floating_point_v<T>) {
            made.kind = ZT_ATTRIBUTE_KIND_F64;
            made.f64 = static_cast<double>(value);
        } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
            made.kind = ZT_ATTRIBUTE_KIND_U64;
            made.u64 = value;
        } else if constexpr (std::is_integral_v<T>) {
            made.kind = ZT_ATTRIBUTE_KIND_I64;
            made.i64 = value;
        } else if constexpr (std::is_same_v<T, zt::value>) {
            made = describe(ZT_ATTRIBUTE_KIND_VALUE, value.get());
        } else if constexpr (std::is_convertible_v<const T &, span<const std::byte>>) {
            const span<const std::byte> bytes(value);
            made = describe(ZT_ATTRIBUTE_KIND_BYTES, bytes.data());
            made.size = bytes.size();
        } else if constexpr (std::is_convertible_v<const T &, std::string_view>) {
            const std::string_view string(value);
            made = describe(ZT_ATTRIBUTE_KIND_STRING, pointer(string));
            made.size = string.size();
        } else {
            using element = type_of<std::remove_cv_t<std::remove_pointer_t<decltype(value.data())>>>;
            static_assert(element::type == ZT_TYPE_NONE, "an attribute has elements of a dtype, not of a logical type");
            made = describe(ZT_ATTRIBUTE_KIND_NUMBERS, value.data());
            made.dtype = element::dtype;
            made.count = value.size();
        }
        made.key_length = key.size();
        return give(call(get(), pointer(key), &made));
    }
    static object_desc describe(std::string_view name, zt_format format, span<const std::uint64_t> shape) noexcept
    {
        object_desc whole;
        whole.name = pointer(name);
        whole.name_length = name.size();
        whole.format = format;
        whole.shape = shape.data();
        whole.rank = shape.size();
        return whole;
    }
    returns<void> give(zt_status status)
    {
        if (status != ZT_OK && thrown_)
            thrown_->rethrow();
        return detail::give(status);
    }
    struct aborter { void operator()(zt_writer *w) const noexcept { zt_write_abort(w); } };
    std::unique_ptr<zt_writer, aborter> owned_;
    std::shared_ptr<detail::carrier> thrown_;
    std::shared_ptr<void> progress_; /* what C calls */
};

} // namespace ZTENSOR_MODE
} // namespace zt

#endif /* ZTENSOR_WRITER_HPP */
