/* What ztensor.hpp is made of: loads, whose results are used while others are read. Include ztensor.hpp. */
#ifndef ZTENSOR_LOAD_HPP
#define ZTENSOR_LOAD_HPP

#include "file.hpp"

#include <iterator>

namespace zt {
inline namespace ZTENSOR_MODE {

using load_options = sized<zt_load_options>;
using load_part_stats = sized<zt_load_part_stats>;
static_assert(sizeof(load_part_stats) == sizeof(zt_load_part_stats), "an array of them is one of C");

/* What a load has next. Its bytes are given back when this ends, which has to be before its load. */
class load_event {
  public:
    load_event() noexcept = default;
    load_event(const zt_load *of, const sized<zt_load_event> &event) noexcept : load_(of), event_(event) {}
    load_event(load_event &&from) noexcept : load_(from.load_), event_(from.event_) { from.load_ = nullptr; }
    load_event &operator=(load_event &&from) noexcept
    {
        std::swap(load_, from.load_);
        std::swap(event_, from.event_);
        return *this;
    }
    load_event(const load_event &) = delete;
    load_event &operator=(const load_event &) = delete;
    ~load_event() { release(); }
    void release() noexcept
    {
        if (load_ != nullptr)
            zt_load_release(load_, &event_);
        load_ = nullptr;
    }
    [[nodiscard]] zt_load_kind kind() const noexcept { return event_.kind; }
    [[nodiscard]] zt_status status() const noexcept { return event_.status; }
    /* Of a failure: this thread's last one, until its next. */
    [[nodiscard]] const char *message() const noexcept { return event_.message; }
    [[nodiscard]] std::uint64_t tag() const noexcept { return event_.tag; }
    [[nodiscard]] const std::byte *data() const noexcept { return static_cast<const std::byte *>(event_.data); }
    [[nodiscard]] std::size_t size() const noexcept { return event_.size; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return event_.offset; }
    [[nodiscard]] bool is_last() const noexcept { return event_.last != 0; }

  private:
    const zt_load *load_ = nullptr;
    sized<zt_load_event> event_;
};

/* Requests that are read; see zt_load_start. A range of events: for (const zt::load_event &event : load). */
class load {
  public:
    /* Each step waits for the next event and gives the one before back; it ends with ZT_LOAD_KIND_DONE. */
    class iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = load_event;
        using difference_type = std::ptrdiff_t;
        using pointer = load_event *;
        using reference = load_event &;

        explicit iterator(const zt_load *of) : load_(of) { ++*this; }
        iterator() noexcept = default;
        [[nodiscard]] load_event &operator*() noexcept { return event_; }
        [[nodiscard]] load_event *operator->() noexcept { return &event_; }
        iterator &operator++()
        {
            event_.release();
            sized<zt_load_event> next;
            if (zt_load_next(load_, -1, &next) != ZT_OK || next.kind == ZT_LOAD_KIND_DONE)
                load_ = nullptr;
            else
                event_ = load_event(load_, next);
            return *this;
        }
        void operator++(int) { ++*this; }
        /* Ends are all that is compared. */
        [[nodiscard]] friend bool operator==(const iterator &a, const iterator &b) noexcept { return a.load_ == b.load_; }
        [[nodiscard]] friend bool operator!=(const iterator &a, const iterator &b) noexcept { return a.load_ != b.load_; }

      private:
        const zt_load *load_ = nullptr;
        load_event event_;
    };

    load() noexcept = default;
    explicit load(zt_load *owned) noexcept : owned_(owned) {}
    [[nodiscard]] static returns<load> start(span<const read_request> requests, const load_options &options = {})
    {
        zt_load *made = nullptr;
        const zt_status status = zt_load_start(requests.data(), requests.size(), &options, &made);
        return detail::give(status, load(made));
    }
    [[nodiscard]] explicit operator bool() const noexcept { return owned_ != nullptr; }
    [[nodiscard]] zt_load *get() const noexcept { return owned_.get(); }
    /* The next event; a negative time waits as long as it takes. */
    [[nodiscard]] returns<load_event> next(std::int64_t timeout_ns = -1) const
    {
        sized<zt_load_event> event;
        const zt_status status = zt_load_next(get(), timeout_ns, &event);
        return detail::give(status, load_event(get(), event));
    }
    [[nodiscard]] iterator begin() const { return iterator(get()); }
    [[nodiscard]] iterator end() const noexcept { return {}; }
    returns<void> cancel() const { return detail::give(zt_load_cancel(get())); }
    /* What was read of each file and part so far, and why so; before finish. */
    [[nodiscard]] returns<std::vector<load_part_stats>> part_stats() const
    {
        return detail::listed<load_part_stats>([this](std::size_t first, load_part_stats *to, std::size_t count, std::size_t *filled) {
            return zt_load_get_part_stats(get(), first, to, count, filled);
        });
    }
    /* Ends it, and says how it went. */
    returns<read_stats> finish()
    {
        read_stats stats;
        const zt_status status = zt_load_finish(owned_.release(), &stats);
        return detail::give(status, stats);
    }

  private:
    struct free { void operator()(zt_load *l) const noexcept { (void)zt_load_finish(l, nullptr); } };
    std::unique_ptr<zt_load, free> owned_;
};

} // namespace ZTENSOR_MODE
} // namespace zt

#endif /* ZTENSOR_LOAD_HPP */
