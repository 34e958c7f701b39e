//! Slices of files that are larger than memory, in slots.

const base = @import("c.zig");
const c = base.c;
const Error = base.Error;

pub const Cache = struct {
    handle: *c.zt_cache,

    /// options must set budget and slot_size.
    pub fn create(options: c.zt_cache_options) Error!Cache {
        var made: ?*c.zt_cache = null;
        try base.check(c.zt_cache_create(&options, &made));
        return .{ .handle = made.? };
    }
    /// Frees the cache and every pinned slice.
    pub fn free(self: Cache) void {
        c.zt_cache_free(self.handle);
    }
    /// Pins a slice. A negative timeout waits without a limit.
    pub fn get(self: Cache, slice: *const c.zt_read_request, timeout_ns: i64) Error!Pin {
        return .{ .cache = self, .pin = try base.filled(c.zt_cache_pin, c.zt_cache_get, .{ self.handle, slice, timeout_ns }) };
    }
    pub fn prefetch(self: Cache, slices: []const c.zt_read_request) Error!void {
        try base.check(c.zt_cache_prefetch(self.handle, slices.ptr, slices.len));
    }
    /// Evicts slices; without arguments all that are not pinned.
    pub fn drop(self: Cache, slices: []const c.zt_read_request) Error!void {
        try base.check(c.zt_cache_drop(self.handle, if (slices.len == 0) null else slices.ptr, slices.len));
    }
    /// Removes prefetches that have not started.
    pub fn cancel(self: Cache) Error!void {
        try base.check(c.zt_cache_cancel(self.handle));
    }
    pub fn stats(self: Cache) Error!c.zt_cache_stats {
        return base.filled(c.zt_cache_stats, c.zt_cache_get_stats, .{self.handle});
    }
};

/// A slice that stays pinned until `unpin`.
pub const Pin = struct {
    cache: Cache,
    pin: c.zt_cache_pin,

    pub fn bytes(self: Pin) []const u8 {
        return base.borrowed(self.pin.data, self.pin.size);
    }
    pub fn unpin(self: *Pin) Error!void {
        try base.check(c.zt_cache_unpin(self.cache.handle, &self.pin));
    }
};
