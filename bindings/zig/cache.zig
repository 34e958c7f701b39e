//! Slices of files that are larger than memory, in slots.

const base = @import("c.zig");
const c = base.c;
const Error = base.Error;

pub const Cache = struct {
    handle: *c.zt_cache,

    /// options: budget and slot_size have to be set.
    pub fn create(options: c.zt_cache_options) Error!Cache {
        var made: ?*c.zt_cache = null;
        try base.check(c.zt_cache_create(&options, &made));
        return .{ .handle = made.? };
    }
    /// Ends every slice that is pinned with it.
    pub fn free(self: Cache) void {
        c.zt_cache_free(self.handle);
    }
    /// Pins a slice; a negative timeout waits as long as it takes.
    pub fn get(self: Cache, slice: *const c.zt_read_request, timeout_ns: i64) Error!Slice {
        var made = Slice{ .cache = self, .slice = base.sized(c.zt_cache_pin) };
        try base.check(c.zt_cache_get(self.handle, slice, timeout_ns, &made.slice));
        return made;
    }
    pub fn prefetch(self: Cache, slices: []const c.zt_read_request, priority: u32) Error!void {
        try base.check(c.zt_cache_prefetch(self.handle, slices.ptr, slices.len, priority));
    }
    /// Without slices: all that are not pinned.
    pub fn drop(self: Cache, slices: []const c.zt_read_request) Error!void {
        try base.check(c.zt_cache_drop(self.handle, if (slices.len == 0) null else slices.ptr, slices.len));
    }
    /// Drops what was prefetched and is not being read.
    pub fn cancel(self: Cache) Error!void {
        try base.check(c.zt_cache_cancel(self.handle));
    }
    pub fn stats(self: Cache) Error!c.zt_cache_stats {
        var found = base.sized(c.zt_cache_stats);
        try base.check(c.zt_cache_get_stats(self.handle, &found));
        return found;
    }
};

/// A slice that is pinned, until `unpin`.
pub const Slice = struct {
    cache: Cache,
    slice: c.zt_cache_pin,

    pub fn bytes(self: Slice) []const u8 {
        return base.borrowed(self.slice.data, self.slice.size);
    }
    pub fn unpin(self: *Slice) Error!void {
        try base.check(c.zt_cache_unpin(self.cache.handle, &self.slice));
    }
};
