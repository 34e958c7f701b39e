//! Reads while the caller uses what was read.

const base = @import("c.zig");
const c = base.c;
const Error = base.Error;

/// Iterate with `next`; `finish` frees the load.
pub const Load = struct {
    handle: *c.zt_load,
    last: c.zt_load_event,

    /// Starts requests of one or more files. Requests without dst are read into slots of a ring. Every dst is
    /// in use until `finish`.
    pub fn start(requests: []const c.zt_read_request, options: c.zt_load_options) Error!Load {
        var made: ?*c.zt_load = null;
        try base.check(c.zt_load_start(requests.ptr, requests.len, &options, &made));
        return .{ .handle = made.?, .last = base.sized(c.zt_load_event) };
    }
    /// Waits for the next event, and releases the one before. Returns null at the end, or the error that
    /// ended the load.
    pub fn next(self: *Load) Error!?LoadEvent {
        c.zt_load_release(self.handle, &self.last);
        self.last = base.sized(c.zt_load_event);
        const event = try self.wait(-1) orelse return null;
        self.last = event.event;
        return event;
    }
    /// Waits for the next event, from any thread. The caller releases it with `release`. Returns
    /// error.Timeout if there is no event within timeout_ns; a negative value waits without a limit.
    pub fn wait(self: Load, timeout_ns: i64) Error!?LoadEvent {
        var event = base.sized(c.zt_load_event);
        try base.check(c.zt_load_next(self.handle, timeout_ns, &event));
        if (event.kind == c.ZT_LOAD_KIND_NOTHING) return error.Timeout;
        if (event.kind != c.ZT_LOAD_KIND_DONE) return .{ .event = event };
        try base.check(event.status);
        return null;
    }
    pub fn release(self: Load, event: LoadEvent) void {
        c.zt_load_release(self.handle, &event.event);
    }
    /// Calls that wait return error.Cancelled.
    pub fn cancel(self: Load) Error!void {
        try base.check(c.zt_load_cancel(self.handle));
    }
    /// Counts what was read so far of files and their parts, from first on, in infos. Returns the filled part
    /// of infos. Call it before `finish`.
    pub fn partStats(self: Load, first: usize, infos: []c.zt_load_part_stats) Error![]const c.zt_load_part_stats {
        if (infos.len == 0) return &.{};
        infos[0].struct_size = @sizeOf(c.zt_load_part_stats);
        var filled: usize = 0;
        try base.check(c.zt_load_get_part_stats(self.handle, first, infos.ptr, infos.len, &filled));
        return infos[0..filled];
    }
    /// Stops and frees the load, even if it returns the error that ended the load. No other thread may be
    /// using it.
    pub fn finish(self: Load) Error!c.zt_read_stats {
        var stats = base.sized(c.zt_read_stats);
        try base.check(c.zt_load_finish(self.handle, &stats));
        return stats;
    }
};

/// Bytes of a request, or its error. `event` has the request's tag, the offset of the bytes, and whether they
/// are its last.
pub const LoadEvent = struct {
    event: c.zt_load_event,

    /// In the request's dst or, until the event is released, in a slot.
    pub fn bytes(self: LoadEvent) Error![]const u8 {
        try base.check(self.event.status);
        return base.borrowed(self.event.data, self.event.size);
    }
};
