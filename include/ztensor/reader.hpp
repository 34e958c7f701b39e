/* What ztensor.hpp is made of: values, components, objects, buffers, files. Include ztensor.hpp. */
#ifndef ZTENSOR_READER_HPP
#define ZTENSOR_READER_HPP

#include "base.hpp"

namespace zt {
inline namespace ZTENSOR_MODE {

/* Elements that C++ has no type for, as their bits. */
struct half { std::uint16_t bits; };
struct bfloat16 { std::uint16_t bits; };
struct f8_e4m3fn { std::uint8_t bits; };
struct f8_e5m2 { std::uint8_t bits; };
struct f8_e4m3fnuz { std::uint8_t bits; };
struct f8_e5m2fnuz { std::uint8_t bits; };

/* The dtype and the logical type of elements of a C++ type; specialise it for a type of your own of the same bits. */
template <class T> struct type_of {
    static constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;
    static_assert(is_integer || sizeof(T) == 0, "no dtype has elements of this type");
    static constexpr bool is_signed = std::is_signed_v<T>;
    static constexpr zt_dtype dtype = sizeof(T) == 8   ? (is_signed ? ZT_DTYPE_I64 : ZT_DTYPE_U64)
                                      : sizeof(T) == 4 ? (is_signed ? ZT_DTYPE_I32 : ZT_DTYPE_U32)
                                      : sizeof(T) == 2 ? (is_signed ? ZT_DTYPE_I16 : ZT_DTYPE_U16)
                                                       : (is_signed ? ZT_DTYPE_I8 : ZT_DTYPE_U8);
    static constexpr zt_type type = ZT_TYPE_NONE;
};
namespace detail {
template <zt_dtype D, zt_type T = ZT_TYPE_NONE> struct names {
    static constexpr zt_dtype dtype = D;
    static constexpr zt_type type = T;
};
} // namespace detail
template <> struct type_of<double> : detail::names<ZT_DTYPE_F64> {};
template <> struct type_of<float> : detail::names<ZT_DTYPE_F32> {};
template <> struct type_of<half> : detail::names<ZT_DTYPE_F16> {};
template <> struct type_of<bfloat16> : detail::names<ZT_DTYPE_BF16> {};
template <> struct type_of<f8_e4m3fn> : detail::names<ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FN> {};
template <> struct type_of<f8_e5m2> : detail::names<ZT_DTYPE_U8, ZT_TYPE_F8_E5M2> {};
template <> struct type_of<f8_e4m3fnuz> : detail::names<ZT_DTYPE_U8, ZT_TYPE_F8_E4M3FNUZ> {};
template <> struct type_of<f8_e5m2fnuz> : detail::names<ZT_DTYPE_U8, ZT_TYPE_F8_E5M2FNUZ> {};
template <> struct type_of<std::complex<float>> : detail::names<ZT_DTYPE_F32, ZT_TYPE_COMPLEX64> {};
template <> struct type_of<std::complex<double>> : detail::names<ZT_DTYPE_F64, ZT_TYPE_COMPLEX128> {};
/* For writing. To look at bools in place use std::uint8_t: a file's bytes may be neither 0 nor 1. */
template <> struct type_of<bool> : detail::names<ZT_DTYPE_BOOL> {};

namespace detail {
/* Whether elements of this dtype and type may be looked at as T. A type without a logical type looks at the storage. */
template <class T> constexpr bool reads_as(zt_dtype dtype, zt_type type) noexcept
{
    using U = std::remove_cv_t<T>;
    static_assert(!std::is_same_v<U, bool>, "look at bools as std::uint8_t: a file's bytes may be neither 0 nor 1");
    if (std::is_same_v<U, std::uint8_t> && dtype == ZT_DTYPE_BOOL)
        return true;
    return type_of<U>::dtype == dtype && (type_of<U>::type == ZT_TYPE_NONE || type_of<U>::type == type);
}
template <class T> returns<span<const T>> typed(zt_dtype dtype, zt_type type, const void *data, std::size_t bytes)
{
    using Span = span<const T>;
    if (!reads_as<T>(dtype, type))
        return fail<Span>(ZT_ERROR_INVALID_ARGUMENT, "the elements are of another dtype than the type asked for");
    if (bytes % sizeof(T) != 0 || reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
        return fail<Span>(ZT_ERROR_INVALID_ARGUMENT, "the bytes are not aligned, or not a whole number of elements of the type asked for");
    return Span(static_cast<const T *>(data), bytes / sizeof(T));
}
} // namespace detail

/* Elements borrowed by a view; T is checked against their dtype. */
template <class T> [[nodiscard]] returns<span<const T>> elements(const zt_array &array)
{
    return detail::typed<T>(array.dtype, array.type, array.data, array.size);
}
template <class T> [[nodiscard]] returns<span<const T>> elements(const zt_tensor &tensor)
{
    return detail::typed<T>(tensor.dtype, tensor.type, tensor.data, tensor.size);
}

/* An attribute's value, or null. A range over the items of an array and the values of a map. */
class value {
  public:
    value(const zt_value *from = nullptr) noexcept : value_(from) {}
    [[nodiscard]] explicit operator bool() const noexcept { return value_ != nullptr; }
    [[nodiscard]] const zt_value *get() const noexcept { return value_; }
    [[nodiscard]] zt_value_kind kind() const noexcept { return zt_value_get_kind(value_); }
    [[nodiscard]] std::size_t size() const noexcept { return zt_value_count(value_); }
    [[nodiscard]] value operator[](std::size_t index) const noexcept { return zt_value_at(value_, index); }
    [[nodiscard]] value key(std::size_t index) const noexcept { return zt_value_key_at(value_, index); }
    [[nodiscard]] value find(std::string_view key) const noexcept { return zt_value_find_n(value_, key.data(), key.size()); }
    /* What the container states of a number or the elements of an array; ZT_DTYPE_OTHER for nothing. */
    [[nodiscard]] zt_dtype dtype() const noexcept { return zt_value_dtype(value_); }
    /* The number of a tag; what it tags is at 0. */
    [[nodiscard]] returns<std::uint64_t> tag() const
    {
        std::uint64_t number = 0;
        const zt_status status = zt_value_get_tag(value_, &number);
        return detail::give(status, std::uint64_t{number});
    }
    using iterator = detail::indexed<value, zt_value>;
    [[nodiscard]] iterator begin() const noexcept { return {value_, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {value_, size()}; }
    static value at(const zt_value *owner, std::size_t index) noexcept { return zt_value_at(owner, index); }

    /* T: bool, an integer, a floating point type, std::string_view, span<const std::byte>. */
    template <class T> [[nodiscard]] returns<T> as() const
    {
        T out{};
        const zt_status status = take(out);
        return detail::give(status, out);
    }
    /* The same, or otherwise if the value is null or of another kind. */
    template <class T> [[nodiscard]] T value_or(T otherwise) const noexcept
    {
        T out{};
        return take(out) == ZT_OK ? out : otherwise;
    }
    /* An array of numbers, exactly, or an error. */
    template <class T> [[nodiscard]] returns<std::vector<T>> numbers() const
    {
        static_assert(type_of<T>::type == ZT_TYPE_NONE, "a dtype, not a logical type");
        std::vector<T> out(size());
        const zt_status status = zt_value_read_numbers(value_, type_of<T>::dtype, out.data(), out.size());
        return detail::give(status, std::move(out));
    }
    /* An array of strings; the file's, like the value. */
    [[nodiscard]] returns<std::vector<std::string_view>> strings() const
    {
        std::vector<const char *> starts(size());
        std::vector<std::size_t> lengths(size());
        const zt_status status = zt_value_read_strings(value_, starts.data(), lengths.data(), starts.size());
        std::vector<std::string_view> out;
        for (std::size_t i = 0; status == ZT_OK && i < starts.size(); ++i)
            out.emplace_back(starts[i], lengths[i]);
        return detail::give(status, std::move(out));
    }
    [[nodiscard]] returns<std::string> json() const
    {
        std::size_t needed = 0;
        std::string out;
        zt_status status = zt_value_to_json(value_, nullptr, 0, &needed);
        if (status == ZT_OK) {
            out.resize(needed);
            status = zt_value_to_json(value_, out.data(), needed, &needed);
            out.pop_back(); /* the NUL */
        }
        return detail::give(status, std::move(out));
    }

  private:
    template <class T> zt_status take(T &out) const noexcept
    {
        if constexpr (std::is_same_v<T, bool>) {
            std::int32_t got = 0;
            const zt_status status = zt_value_get_bool(value_, &got);
            return out = got != 0, status;
        } else if constexpr (std::is_same_v<T, std::string_view>) {
            const char *data = "";
            std::size_t size = 0;
            const zt_status status = zt_value_get_string(value_, &data, &size);
            return out = {data, size}, status;
        } else if constexpr (std::is_same_v<T, span<const std::byte>>) {
            const void *data = nullptr;
            std::size_t size = 0;
            const zt_status status = zt_value_get_bytes(value_, &data, &size);
            return out = {static_cast<const std::byte *>(data), size}, status;
        } else if constexpr (std::is_floating_point_v<T>) {
            double got = 0;
            const zt_status status = zt_value_get_f64(value_, &got);
            return out = static_cast<T>(got), status;
        } else if constexpr (std::is_unsigned_v<T>) {
            static_assert(sizeof(T) == 8, "integers are 64 bits wide: std::uint64_t or std::int64_t");
            std::uint64_t got = 0;
            const zt_status status = zt_value_get_u64(value_, &got);
            return out = got, status;
        } else {
            static_assert(sizeof(T) == 8 && std::is_integral_v<T>, "attributes have no values of this type");
            std::int64_t got = 0;
            const zt_status status = zt_value_get_i64(value_, &got);
            return out = got, status;
        }
    }
    const zt_value *value_;
};

/* Bytes that were loaded: mapped, or memory of the library. Keeps the file open. */
class buffer {
  public:
    buffer() noexcept = default;
    buffer(zt_buffer *owned, zt_dtype dtype, zt_type type) noexcept : owned_(owned), dtype_(dtype), type_(type) {}
    [[nodiscard]] const std::byte *data() const noexcept { return static_cast<const std::byte *>(zt_buffer_data(owned_.get())); }
    [[nodiscard]] std::size_t size() const noexcept { return zt_buffer_size(owned_.get()); }
    [[nodiscard]] zt_buffer *get() const noexcept { return owned_.get(); }
    template <class T> [[nodiscard]] returns<span<const T>> as() const { return detail::typed<T>(dtype_, type_, data(), size()); }

  private:
    struct free { void operator()(zt_buffer *b) const noexcept { zt_buffer_free(b); } };
    std::unique_ptr<zt_buffer, free> owned_;
    zt_dtype dtype_ = ZT_DTYPE_OTHER;
    zt_type type_ = ZT_TYPE_NONE;
};

/* One blob of bytes of an object, or null. */
class component {
  public:
    component(const zt_component *from = nullptr) noexcept : component_(from) {}
    [[nodiscard]] explicit operator bool() const noexcept { return component_ != nullptr; }
    [[nodiscard]] const zt_component *get() const noexcept { return component_; }
    /* All zeros and null for the null component. */
    [[nodiscard]] zt_component_info info() const noexcept
    {
        zt_component_info info = ZT_INIT(zt_component_info);
        if (component_)
            (void)zt_component_get_info(component_, &info);
        return info;
    }
    [[nodiscard]] std::string_view role() const noexcept { const auto i = info(); return {i.role, i.role_length}; }
    [[nodiscard]] zt_dtype dtype() const noexcept { return zt_component_dtype(component_); }
    [[nodiscard]] const char *dtype_name() const noexcept { const auto i = info(); return i.dtype_name ? i.dtype_name : zt_dtype_name(i.dtype); }
    [[nodiscard]] zt_type type() const noexcept { return zt_component_type(component_); }
    [[nodiscard]] const char *type_name() const noexcept { const auto i = info(); return i.type_name ? i.type_name : zt_type_name(i.type); }
    [[nodiscard]] zt_encoding encoding() const noexcept { return zt_component_encoding(component_); }
    [[nodiscard]] const char *encoding_name() const noexcept { const auto i = info(); return i.encoding_name ? i.encoding_name : zt_encoding_name(i.encoding); }
    [[nodiscard]] const char *digest() const noexcept { return zt_component_digest(component_); }
    /* The file of a model that it is in, where offset() counts from. */
    [[nodiscard]] std::size_t part() const noexcept { return info().part; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return info().offset; }
    [[nodiscard]] std::uint64_t stored_size() const noexcept { return info().stored_size; }
    /* ZT_UNKNOWN_SIZE where the file does not declare it: measure() finds out. */
    [[nodiscard]] std::uint64_t size() const noexcept { return zt_component_size(component_); }
    [[nodiscard]] returns<std::uint64_t> measure() const
    {
        std::uint64_t size = 0;
        const zt_status status = zt_component_measure(component_, nullptr, nullptr, &size);
        return detail::give(status, std::uint64_t{size});
    }
    [[nodiscard]] std::uint32_t caps() const noexcept { return zt_component_caps(component_); }

    /* The bytes in the mapped file: ZT_ERROR_NOT_MAPPABLE if they cannot be borrowed: use load(). */
    [[nodiscard]] returns<span<const std::byte>> bytes() const
    {
        const void *data = nullptr;
        std::size_t size = 0;
        const zt_status status = zt_component_ptr(component_, &data, &size);
        return detail::give(status, span<const std::byte>(static_cast<const std::byte *>(data), size));
    }
    /* The same as elements of T, which is checked against the dtype. */
    template <class T> [[nodiscard]] returns<span<const T>> as() const
    {
        const void *data = nullptr;
        std::size_t size = 0;
        const zt_status status = zt_component_ptr(component_, &data, &size);
        if (status != ZT_OK)
            return detail::fail<span<const T>>(status);
        return detail::typed<T>(dtype(), type(), data, size);
    }
    [[nodiscard]] returns<buffer> load() const { return load_by(nullptr); }
    /* With threads, a digest, progress: as a batch of this one. */
    [[nodiscard]] returns<buffer> load(const read_options &options) const { return load_by(&options); }
    /* progress: (uint64_t done, uint64_t total), returns nothing, or false to stop. */
    template <class F> [[nodiscard]] returns<buffer> load(read_options options, F &&progress) const
    {
        detail::progress<std::remove_reference_t<F>> step{progress};
        options.context = &step;
        options.progress = step.step;
        zt_buffer *loaded = nullptr;
        const zt_status status = zt_component_load(component_, &options, &loaded);
        buffer whole(loaded, dtype(), type());
        step.thrown.rethrow();
        return detail::give(status, std::move(whole));
    }
    returns<void> read(void *dst, std::size_t dst_size) const { return detail::give(zt_component_read(component_, dst, dst_size)); }
    /* The stored bytes as they are: compressed, of an unknown encoding. */
    returns<void> read_stored(void *dst, std::size_t dst_size) const
    {
        return detail::give(zt_component_read_stored(component_, dst, dst_size));
    }
    returns<void> read_range(std::uint64_t offset, void *dst, std::size_t n) const
    {
        return detail::give(zt_component_read_range(component_, offset, dst, n));
    }
    returns<void> advise(zt_advice advice) const { return detail::give(zt_component_advise(component_, advice)); }
    /* A tensor of one dimension. */
    [[nodiscard]] returns<dlpack> to_dlpack() const
    {
        DLManagedTensorVersioned *tensor = nullptr;
        const zt_status status = zt_component_to_dlpack(component_, &tensor);
        return detail::give(status, dlpack(tensor));
    }
    static component at(const zt_object *owner, std::size_t index) noexcept { return zt_component_at(owner, index); }

  private:
    returns<buffer> load_by(const zt_read_options *options) const
    {
        zt_buffer *loaded = nullptr;
        const zt_status status = zt_component_load(component_, options, &loaded);
        return detail::give(status, buffer(loaded, dtype(), type()));
    }
    const zt_component *component_;
};

/* A named thing of a file, or null. A range over its components. */
class object {
  public:
    object(const zt_object *from = nullptr) noexcept : object_(from) {}
    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
    [[nodiscard]] const zt_object *get() const noexcept { return object_; }
    /* All zeros and null for the null object. */
    [[nodiscard]] zt_object_info info() const noexcept
    {
        zt_object_info info = ZT_INIT(zt_object_info);
        if (object_)
            (void)zt_object_get_info(object_, &info);
        return info;
    }
    [[nodiscard]] std::string_view name() const noexcept { const auto i = info(); return {i.name, i.name_length}; }
    [[nodiscard]] span<const std::uint64_t> shape() const noexcept { return {zt_object_shape(object_), zt_object_rank(object_)}; }
    [[nodiscard]] std::uint64_t element_count() const noexcept { return zt_object_element_count(object_); }
    [[nodiscard]] zt_format format() const noexcept { return zt_object_format(object_); }
    [[nodiscard]] const char *format_name() const noexcept { const auto i = info(); return i.format_name ? i.format_name : zt_format_name(i.format); }
    [[nodiscard]] value attributes() const noexcept { return zt_object_attributes(object_); }
    [[nodiscard]] std::size_t size() const noexcept { return zt_component_count(object_); }
    [[nodiscard]] component operator[](std::size_t index) const noexcept { return zt_component_at(object_, index); }
    [[nodiscard]] component find(std::string_view role) const noexcept
    {
        return zt_component_find_n(object_, role.data() ? role.data() : "", role.size());
    }
    /* The component of a dense object; null for other formats. */
    [[nodiscard]] component data() const noexcept { return find("data"); }
    using iterator = detail::indexed<component, zt_object>;
    [[nodiscard]] iterator begin() const noexcept { return {object_, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {object_, size()}; }

    [[nodiscard]] returns<tensor_view> tensor() const
    {
        tensor_view view;
        const zt_status status = zt_tensor_view(object_, &view);
        return detail::give(status, view);
    }
    [[nodiscard]] returns<dlpack> to_dlpack() const
    {
        DLManagedTensorVersioned *tensor = nullptr;
        const zt_status status = zt_object_to_dlpack(object_, &tensor);
        return detail::give(status, dlpack(tensor));
    }
    [[nodiscard]] returns<dlpack_unversioned> to_dlpack_unversioned() const
    {
        DLManagedTensor *tensor = nullptr;
        const zt_status status = zt_object_to_dlpack_unversioned(object_, &tensor);
        return detail::give(status, dlpack_unversioned(tensor));
    }
    [[nodiscard]] returns<csr_view> csr() const
    {
        csr_view view;
        const zt_status status = zt_csr_view(object_, &view);
        return detail::give(status, view);
    }
    [[nodiscard]] returns<coo_view> coo() const
    {
        coo_view view;
        const zt_status status = zt_coo_view(object_, &view);
        return detail::give(status, view);
    }
    [[nodiscard]] returns<quantized_view> quantized() const
    {
        quantized_view view;
        const zt_status status = zt_quantized_view(object_, &view);
        return detail::give(status, view);
    }
    /* start, count, step: one number for each dimension; no step is 1. */
    returns<void> read_slice(span<const std::uint64_t> start, span<const std::uint64_t> count, void *dst, std::size_t dst_size,
                             span<const std::uint64_t> step = {}) const
    {
        const std::size_t rank = shape().size();
        if (start.size() != rank || count.size() != rank || (!step.empty() && step.size() != rank))
            return detail::fail<void>(ZT_ERROR_INVALID_ARGUMENT, "a slice needs one number for each dimension");
        return detail::give(zt_object_read_slice(object_, start.data(), count.data(), step.empty() ? nullptr : step.data(), dst, dst_size));
    }
    /* The bytes of all numbers as elements of a dtype: see zt_object_size_as. */
    [[nodiscard]] returns<std::uint64_t> size_as(zt_dtype dtype) const
    {
        std::uint64_t size = 0;
        const zt_status status = zt_object_size_as(object_, dtype, &size);
        return detail::give(status, size);
    }
    /* Reads all numbers as elements of T, as zt_object_read_as does, and returns how many elements of dst it filled. */
    template <class T> returns<std::size_t> read_as(span<T> dst) const
    {
        static_assert(type_of<T>::type == ZT_TYPE_NONE, "reads as a dtype, not as a logical type");
        std::size_t written = 0;
        const zt_status status = zt_object_read_as(object_, type_of<T>::dtype, dst.data(), dst.size_bytes(), &written);
        return detail::give(status, written / sizeof(T));
    }
    static object at(const zt_file *owner, std::size_t index) noexcept { return zt_object_at(owner, index); }

  private:
    const zt_object *object_;
};

} // namespace ZTENSOR_MODE
} // namespace zt

#endif /* ZTENSOR_READER_HPP */
