/* What ztensor.hpp is made of: slices of models larger than memory. Include ztensor.hpp. */
#ifndef ZTENSOR_CACHE_HPP
#define ZTENSOR_CACHE_HPP

#include "file.hpp"

namespace zt {
inline namespace ZTENSOR_MODE {

using cache_options = sized<zt_cache_options>;
using cache_stats = sized<zt_cache_stats>;

/* A slice that is pinned until this ends, which has to be before its cache. */
class cached_slice {
  public:
    cached_slice() noexcept = default;
    cached_slice(zt_cache *of, const sized<zt_cache_pin> &pinned) noexcept : cache_(of), slice_(pinned) {}
    cached_slice(cached_slice &&from) noexcept : cache_(from.cache_), slice_(from.slice_) { from.slice_ = {}; }
    cached_slice &operator=(cached_slice &&from) noexcept
    {
        std::swap(cache_, from.cache_);
        std::swap(slice_, from.slice_);
        return *this;
    }
    cached_slice(const cached_slice &) = delete;
    cached_slice &operator=(const cached_slice &) = delete;
    ~cached_slice() { unpin(); }
    void unpin() noexcept
    {
        if (slice_.pin != 0)
            (void)zt_cache_unpin(cache_, &slice_);
    }
    [[nodiscard]] explicit operator bool() const noexcept { return slice_.pin != 0; }
    [[nodiscard]] const std::byte *data() const noexcept { return static_cast<const std::byte *>(slice_.data); }
    [[nodiscard]] std::size_t size() const noexcept { return slice_.size; }

  private:
    zt_cache *cache_ = nullptr;
    sized<zt_cache_pin> slice_;
};

/* Slices in slots of memory; see zt_cache_create. Any number of threads may use it at once. */
class cache {
  public:
    cache() noexcept = default;
    explicit cache(zt_cache *owned) noexcept : owned_(owned) {}
    [[nodiscard]] static returns<cache> create(const cache_options &options)
    {
        zt_cache *made = nullptr;
        const zt_status status = zt_cache_create(&options, &made);
        return detail::give(status, cache(made));
    }
    [[nodiscard]] explicit operator bool() const noexcept { return owned_ != nullptr; }
    [[nodiscard]] zt_cache *get() const noexcept { return owned_.get(); }
    /* A negative time waits as long as it takes. */
    [[nodiscard]] returns<cached_slice> pin(const read_request &slice, std::int64_t timeout_ns = -1) const
    {
        sized<zt_cache_pin> pinned;
        const zt_status status = zt_cache_get(get(), &slice, timeout_ns, &pinned);
        return detail::give(status, cached_slice(get(), pinned));
    }
    returns<void> prefetch(span<const read_request> slices) const
    {
        return detail::give(zt_cache_prefetch(get(), slices.data(), slices.size()));
    }
    returns<void> drop(span<const read_request> slices) const
    {
        return detail::give(slices.empty() ? zt_status{ZT_OK} : zt_cache_drop(get(), slices.data(), slices.size()));
    }
    returns<void> drop_all() const { return detail::give(zt_cache_drop(get(), nullptr, 0)); }
    returns<void> cancel() const { return detail::give(zt_cache_cancel(get())); }
    returns<cache_stats> stats() const
    {
        cache_stats stats;
        const zt_status status = zt_cache_get_stats(get(), &stats);
        return detail::give(status, stats);
    }

  private:
    struct free { void operator()(zt_cache *c) const noexcept { zt_cache_free(c); } };
    std::unique_ptr<zt_cache, free> owned_;
};

} // namespace ZTENSOR_MODE
} // namespace zt

#endif /* ZTENSOR_CACHE_HPP */
