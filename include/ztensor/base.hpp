/* What ztensor.hpp is made of: spans, options, failures, callables. Include ztensor.hpp. */
#ifndef ZTENSOR_BASE_HPP
#define ZTENSOR_BASE_HPP

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../ztensor_advanced.h"
#include "../ztensor_dlpack.h"

#if !defined ZTENSOR_NO_EXCEPTIONS && !defined __cpp_exceptions
#define ZTENSOR_NO_EXCEPTIONS
#endif
#ifndef ZTENSOR_NO_EXCEPTIONS
#include <exception>
#include <stdexcept>
#endif
#if __cplusplus >= 202002L && __has_include(<ranges>)
#include <ranges>
#endif

namespace zt {
/* Two translation units may choose differently; their functions have different names. */
#ifdef ZTENSOR_NO_EXCEPTIONS
#define ZTENSOR_MODE results
#else
#define ZTENSOR_MODE exceptions
#endif
inline namespace ZTENSOR_MODE {

/* Elements one after another; converts to std::span of C++20. */
template <class T> class span {
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class Range, class = std::enable_if_t<
                               std::is_convertible_v<decltype(std::declval<Range &>().data()), T *> &&
                               std::is_convertible_v<decltype(std::declval<Range &>().size()), std::size_t>>>
    constexpr span(Range &&range) noexcept : data_(range.data()), size_(range.size()) {}
    template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /* For the time of a call: dense("a", {2, 3}, ...). */
    template <class U = T, class = std::enable_if_t<std::is_const_v<U>>>
    constexpr span(const std::initializer_list<std::remove_const_t<T>> &list) noexcept
        : span(list.begin(), list.size()) {}

    [[nodiscard]] constexpr T *data() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] constexpr T *begin() const noexcept { return data_; }
    [[nodiscard]] constexpr T *end() const noexcept { return size_ ? data_ + size_ : data_; }
    [[nodiscard]] constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* Text that ends with a NUL: a literal, std::string, std::filesystem::path (where its characters are char). */
class text {
  public:
    constexpr text(const char *terminated) noexcept : text_(terminated) {}
    template <class S, class = std::enable_if_t<
                           std::is_same_v<decltype(std::declval<const S &>().c_str()), const char *>>>
    text(const S &string) noexcept : text_(string.c_str()) {}
    [[nodiscard]] constexpr const char *c_str() const noexcept { return text_; }

  private:
    const char *text_;
};

/* A struct of ztensor.h with struct_size set and every other field zero, which is the default. */
template <class C> struct sized : C {
    sized() noexcept : C() { this->struct_size = sizeof(C); }
};
using open_options = sized<zt_open_options>;
using read_options = sized<zt_read_options>;
using read_stats = sized<zt_read_stats>;
using verify_options = sized<zt_verify_options>;
using verify_report = sized<zt_verify_report>;
using repair_options = sized<zt_repair_options>;
using repair_report = sized<zt_repair_report>;
using writer_options = sized<zt_write_options>;
using copy_options = sized<zt_copy_options>;
using write_summary = sized<zt_write_summary>;
using identity = sized<zt_identity>;
using model_info = sized<zt_model_info>;
using allocator = sized<zt_allocator>;
using thread_hooks = sized<zt_thread_hooks>;
using object_info = sized<zt_object_info>;
using component_info = sized<zt_component_info>;
using tensor_view = sized<zt_tensor>;
using csr_view = sized<zt_csr>;
using coo_view = sized<zt_coo>;
using quantized_view = sized<zt_quantized>;
using quantized_desc = sized<zt_quantized_desc>;
using component_desc = sized<zt_component_desc>;
using object_desc = sized<zt_object_desc>;

#ifdef ZTENSOR_NO_EXCEPTIONS
/* What was asked for, or a status other than ZT_OK and its message. */
template <class T> class [[nodiscard]] result {
  public:
    result(T value) noexcept : value_(std::move(value)) {}
    result(zt_status status, const char *message) noexcept : status_(status), message_(message) {}
    [[nodiscard]] explicit operator bool() const noexcept { return status_ == ZT_OK; }
    [[nodiscard]] zt_status status() const noexcept { return status_; }
    /* Until the thread's next failure. */
    [[nodiscard]] const char *message() const noexcept { return message_ ? message_ : zt_last_error(); }
    [[nodiscard]] T &operator*() noexcept { return value_; }
    [[nodiscard]] T *operator->() noexcept { return &value_; }

  private:
    T value_{};
    zt_status status_ = ZT_OK;
    const char *message_ = nullptr;
};
template <> class [[nodiscard]] result<void> {
  public:
    result() noexcept = default;
    result(zt_status status, const char *message) noexcept : status_(status), message_(message) {}
    [[nodiscard]] explicit operator bool() const noexcept { return status_ == ZT_OK; }
    [[nodiscard]] zt_status status() const noexcept { return status_; }
    [[nodiscard]] const char *message() const noexcept { return message_ ? message_ : zt_last_error(); }

  private:
    zt_status status_ = ZT_OK;
    const char *message_ = nullptr;
};
/* What a member that can fail returns. */
template <class T> using returns = result<T>;
#else
/* A status other than ZT_OK, and what the call that gave it left: its message, rule and system error. */
class error : public std::runtime_error {
  public:
    explicit error(zt_status status)
        : std::runtime_error(zt_last_error()), status_(status), os_error_(zt_last_os_error()), rule_(zt_last_error_rule())
    {
    }
    error(zt_status status, const char *message) : std::runtime_error(message), status_(status) {}
    [[nodiscard]] zt_status status() const noexcept { return status_; }
    /* errno or GetLastError; 0 if the failure was none of the system's. */
    [[nodiscard]] std::int32_t os_error() const noexcept { return os_error_; }
    /* The rule of the format that the file broke, by its name; "" if it broke none. */
    [[nodiscard]] const char *rule() const noexcept { return rule_; }

  private:
    zt_status status_;
    std::int32_t os_error_ = 0;
    const char *rule_ = "";
};
/* What a member that can fail returns. */
template <class T> using returns = T;
#endif

namespace detail {
/* Our own refusals; those of C have their message already. */
template <class T> returns<T> fail(zt_status status, const char *message = nullptr)
{
#ifdef ZTENSOR_NO_EXCEPTIONS
    return {status, message};
#else
    if (message)
        throw error(status, message);
    throw error(status);
#endif
}
inline returns<void> give(zt_status status)
{
    if (status != ZT_OK)
        return fail<void>(status);
    return returns<void>();
}
template <class T> returns<T> give(zt_status status, T value)
{
    if (status != ZT_OK)
        return fail<T>(status);
    return returns<T>(std::move(value));
}

/* Calls back into C++, keeps what is thrown, and throws it again when C is left. */
class carrier {
  public:
    template <class F> zt_status run(F &&body) noexcept
    {
#ifdef ZTENSOR_NO_EXCEPTIONS
        return body();
#else
        try {
            return body();
        } catch (...) {
            if (!thrown_)
                thrown_ = std::current_exception();
        }
        try {
            std::rethrow_exception(thrown_);
        } catch (const std::exception &e) {
            zt_set_last_error(e.what()); /* what the failing call says, where it cannot be thrown again */
        } catch (...) {
        }
        return ZT_ERROR_IO;
#endif
    }
    /* Keeps what another one kept, if there is nothing yet. */
    void take(carrier &other) noexcept
    {
#ifdef ZTENSOR_NO_EXCEPTIONS
        (void)other;
#else
        if (!thrown_)
            thrown_ = std::move(other.thrown_);
#endif
    }
    void rethrow()
    {
#ifndef ZTENSOR_NO_EXCEPTIONS
        if (thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
#endif
    }

#ifndef ZTENSOR_NO_EXCEPTIONS
  private:
    std::exception_ptr thrown_;
#endif
};

/* What a callable says: a zt_status, a bool (true is good), or nothing at all. */
template <class F, class... A> zt_status said(F &call, zt_status otherwise, A... arguments)
{
    using R = std::invoke_result_t<F &, A...>;
    if constexpr (std::is_void_v<R>) {
        call(arguments...);
        return ZT_OK;
    } else if constexpr (std::is_same_v<R, bool>) {
        return call(arguments...) ? ZT_OK : otherwise;
    } else {
        static_assert(std::is_same_v<R, zt_status>, "a callable returns void, bool or zt_status");
        return call(arguments...);
    }
}

/* A callable (done, total) that returns nothing, or false to stop. */
template <class F> struct progress {
    F &call;
    carrier thrown{};
    static std::int32_t step(void *context, std::uint64_t done, std::uint64_t total) noexcept
    {
        auto *self = static_cast<progress *>(context);
        return self->thrown.run([&] { return said(self->call, ZT_ERROR_CANCELLED, done, total); });
    }
};

/* Where DLPack's structs keep their deleters. */
struct versioned_layout {
    std::uint32_t version[2];
    void *context;
    void (*deleter)(DLManagedTensorVersioned *);
};
struct unversioned_layout {
    void *data;
    std::int32_t device[2], rank;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
    void *context;
    void (*deleter)(DLManagedTensor *);
};
template <class Layout> struct ender {
    template <class T> void operator()(T *tensor) const noexcept
    {
        if (auto *deleter = reinterpret_cast<Layout *>(tensor)->deleter)
            deleter(tensor);
    }
};

/* A progress callable that a handle keeps. */
template <class F> struct kept_progress {
    F call;
    std::shared_ptr<carrier> thrown;
    static std::int32_t step(void *context, std::uint64_t done, std::uint64_t total) noexcept
    {
        auto *self = static_cast<kept_progress *>(context);
        return self->thrown->run([&] { return said(self->call, ZT_ERROR_CANCELLED, done, total); });
    }
};

/* Items by number, as a range. */
template <class Item, class Owner> class indexed {
  public:
    using value_type = Item;
    using reference = Item;
    using pointer = const Item *;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag; /* an item is made when it is asked for */
    indexed() noexcept = default;
    indexed(const Owner *owner, std::size_t index) noexcept : owner_(owner), index_(index) {}
    [[nodiscard]] Item operator*() const noexcept { return Item::at(owner_, index_); }
    indexed &operator++() noexcept { return ++index_, *this; }
    indexed operator++(int) noexcept { return {owner_, index_++}; }
    [[nodiscard]] friend bool operator==(indexed a, indexed b) noexcept { return a.index_ == b.index_; }
    [[nodiscard]] friend bool operator!=(indexed a, indexed b) noexcept { return a.index_ != b.index_; }

  private:
    const Owner *owner_ = nullptr;
    std::size_t index_ = 0;
};
} // namespace detail

/* Tensors of DLPack, with their own deleters; release() gives one to its consumer. */
using dlpack = std::unique_ptr<DLManagedTensorVersioned, detail::ender<detail::versioned_layout>>;
using dlpack_unversioned = std::unique_ptr<DLManagedTensor, detail::ender<detail::unversioned_layout>>;

} // namespace ZTENSOR_MODE
} // namespace zt

#if defined __cpp_lib_ranges
template <class T> inline constexpr bool std::ranges::enable_borrowed_range<zt::span<T>> = true;
#endif

#endif /* ZTENSOR_BASE_HPP */
