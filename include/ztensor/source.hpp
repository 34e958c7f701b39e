/* What ztensor.hpp is made of: what reads files that C does not. Include ztensor.hpp. */
#ifndef ZTENSOR_SOURCE_HPP
#define ZTENSOR_SOURCE_HPP

#include <mutex>

#include "base.hpp"

namespace zt {
inline namespace ZTENSOR_MODE {
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
    /* Fills what C asks for; false without memory. */
    static bool box(S source, zt_source *functions)
    {
        auto *boxed = new (std::nothrow) source_of{std::move(source)};
        if (!boxed)
            return false;
        functions->context = boxed;
        functions->size = size;
        functions->read_at = read_at;
        functions->read_many = nullptr;
        if constexpr (has_read_many<S>::value)
            functions->read_many = read_many;
        functions->close = close; /* called also when the opening fails */
        return true;
    }
};

/* A store of C++ behind the functions that C calls; they run on several threads at once. */
template <class S> struct store_of {
    S &store;
    std::mutex lock{};
    carrier thrown{};
    template <class T, class = void> struct lists : std::false_type {};
    template <class T> struct lists<T, std::void_t<decltype(std::declval<T &>().list(""))>> : std::true_type {};
    template <class F> zt_status run(F &&body) noexcept
    {
        carrier own;
        const zt_status status = own.run(body);
        const std::lock_guard<std::mutex> guard(lock);
        thrown.take(own);
        return status;
    }
    static zt_status open(void *context, const char *name, zt_source *source) noexcept
    {
        auto *self = static_cast<store_of *>(context);
        using Source = decltype(self->store.open(name));
        return self->run([&] { return source_of<Source>::box(self->store.open(name), source) ? zt_status{ZT_OK} : zt_status{ZT_ERROR_OUT_OF_MEMORY}; });
    }
    static zt_status list(void *context, const char *folder, zt_name_callback add, void *names) noexcept
    {
        auto *self = static_cast<store_of *>(context);
        return self->run([&] {
            zt_status status = ZT_OK;
            if constexpr (lists<S>::value)
                for (const std::string &name : self->store.list(folder))
                    if (status == ZT_OK)
                        status = add(names, name.c_str());
            return status;
        });
    }
};
} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace zt

#endif /* ZTENSOR_SOURCE_HPP */
