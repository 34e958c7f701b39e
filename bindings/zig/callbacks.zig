//! Zig types with functions that C calls. Each is passed as a pointer to a struct of the caller, which must
//! stay valid as long as C may call it.

const std = @import("std");
const base = @import("c.zig");
const c = base.c;
const Error = base.Error;

fn status(result: Error!void) c.zt_status {
    result catch |failure| return base.statusOf(failure);
    return c.ZT_OK;
}

/// `fn progress(self: *T, bytes: u64, total: u64) bool`. false stops the call with error.Cancelled.
pub fn progress(comptime T: type) c.zt_progress_callback {
    return struct {
        fn call(context: ?*anyopaque, bytes: u64, total: u64) callconv(.c) i32 {
            return @intFromBool(!of(T, context).progress(bytes, total));
        }
    }.call;
}

/// `fn failed(self: *T, object: ?*const c.zt_object, component: ?*const c.zt_component, failure: Error, message: []const u8) bool`;
/// false stops the call.
pub fn failed(comptime T: type) c.zt_failure_callback {
    return struct {
        fn call(context: ?*anyopaque, object: ?*const c.zt_object, component: ?*const c.zt_component, said: c.zt_status, message: [*c]const u8) callconv(.c) i32 {
            base.check(said) catch |failure| return @intFromBool(!of(T, context).failed(object, component, failure, base.text(message).?));
            return 0;
        }
    }.call;
}

/// `fn done(self: *T, tag: u64, result: Error!void, message: []const u8) void`, called for each request of a
/// batch.
pub fn done(comptime T: type) c.zt_done_callback {
    return struct {
        fn call(context: ?*anyopaque, tag: u64, said: c.zt_status, message: [*c]const u8) callconv(.c) void {
            of(T, context).done(tag, base.check(said), base.text(message).?);
        }
    }.call;
}

/// `fn start(self: *T, index: u32) void` and `fn end(self: *T, index: u32) void`, called on each thread that
/// the library starts.
pub fn threadHooks(comptime T: type, self: *T) c.zt_thread_hooks {
    var hooks = base.sized(c.zt_thread_hooks);
    hooks.context = self;
    hooks.on_start = struct {
        fn call(context: ?*anyopaque, index: u32) callconv(.c) void {
            of(T, context).start(index);
        }
    }.call;
    hooks.on_end = struct {
        fn call(context: ?*anyopaque, index: u32) callconv(.c) void {
            of(T, context).end(index);
        }
    }.call;
    return hooks;
}

/// Allocates the library's results with a std.mem.Allocator, which must be thread-safe.
pub fn allocator(from: *const std.mem.Allocator) c.zt_allocator {
    var hooks = base.sized(c.zt_allocator);
    hooks.context = @constCast(from);
    hooks.allocate = struct {
        fn call(context: ?*anyopaque, size: usize, alignment: usize) callconv(.c) ?*anyopaque {
            const given: *const std.mem.Allocator = @ptrCast(@alignCast(context.?));
            return given.rawAlloc(size, .fromByteUnits(alignment), @returnAddress());
        }
    }.call;
    hooks.free = struct {
        fn call(context: ?*anyopaque, memory: ?*anyopaque, size: usize, alignment: usize) callconv(.c) void {
            const given: *const std.mem.Allocator = @ptrCast(@alignCast(context.?));
            given.rawFree(@as([*]u8, @ptrCast(memory.?))[0..size], .fromByteUnits(alignment), @returnAddress());
        }
    }.call;
    return hooks;
}

/// `fn size(self: *T) Error!u64`, `fn readAt(self: *T, offset: u64, dst: []u8) Error!void`, called from
/// several threads at once. Optional: `fn readMany(self: *T, ranges: []const c.zt_source_range) Error!void`
/// and `fn close(self: *T) void`. The caller may set the profile in the result.
pub fn source(comptime T: type, self: *T) c.zt_source {
    var made = base.sized(c.zt_source);
    made.context = self;
    made.size = struct {
        fn call(context: ?*anyopaque, size: [*c]u64) callconv(.c) c.zt_status {
            size.* = of(T, context).size() catch |failure| return base.statusOf(failure);
            return c.ZT_OK;
        }
    }.call;
    made.read_at = struct {
        fn call(context: ?*anyopaque, offset: u64, dst: ?*anyopaque, size: usize) callconv(.c) c.zt_status {
            return status(of(T, context).readAt(offset, @constCast(base.borrowed(dst, size))));
        }
    }.call;
    if (@hasDecl(T, "readMany")) made.read_many = struct {
        fn call(context: ?*anyopaque, ranges: [*c]const c.zt_source_range, count: usize) callconv(.c) c.zt_status {
            return status(of(T, context).readMany(ranges[0..count]));
        }
    }.call;
    if (@hasDecl(T, "close")) made.close = struct {
        fn call(context: ?*anyopaque) callconv(.c) void {
            of(T, context).close();
        }
    }.call;
    return made;
}

/// `fn open(self: *T, name: [:0]const u8) Error!c.zt_source` returns a result of `source`. Optional: `fn
/// list(self: *T, folder: [:0]const u8, names: Names) Error!void`. Both are called from several threads at
/// once.
pub fn store(comptime T: type, self: *T) c.zt_store {
    var made = base.sized(c.zt_store);
    made.context = self;
    made.open = struct {
        fn call(context: ?*anyopaque, name: [*c]const u8, into: [*c]c.zt_source) callconv(.c) c.zt_status {
            into.* = of(T, context).open(base.text(name).?) catch |failure| return base.statusOf(failure);
            return c.ZT_OK;
        }
    }.call;
    if (@hasDecl(T, "list")) made.list = struct {
        fn call(context: ?*anyopaque, folder: [*c]const u8, add: c.zt_name_callback, names: ?*anyopaque) callconv(.c) c.zt_status {
            return status(of(T, context).list(base.text(folder).?, .{ .take = add.?, .names = names }));
        }
    }.call;
    return made;
}

/// Receives the names in a folder.
pub const Names = struct {
    take: *const fn (?*anyopaque, [*c]const u8) callconv(.c) c.zt_status,
    names: ?*anyopaque,

    pub fn add(self: Names, name: [:0]const u8) Error!void {
        try base.check(self.take(self.names, name));
    }
};

/// `fn write(self: *T, data: []const u8) Error!void`. Optional: `fn finish(self: *T) Error!void` and `fn
/// close(self: *T) void`.
pub fn sink(comptime T: type, self: *T) c.zt_sink {
    var made = base.sized(c.zt_sink);
    made.context = self;
    made.write = struct {
        fn call(context: ?*anyopaque, data: ?*const anyopaque, size: usize) callconv(.c) c.zt_status {
            return status(of(T, context).write(base.borrowed(data, size)));
        }
    }.call;
    if (@hasDecl(T, "finish")) made.finish = struct {
        fn call(context: ?*anyopaque) callconv(.c) c.zt_status {
            return status(of(T, context).finish());
        }
    }.call;
    if (@hasDecl(T, "close")) made.close = struct {
        fn call(context: ?*anyopaque) callconv(.c) void {
            of(T, context).close();
        }
    }.call;
    return made;
}

fn of(comptime T: type, context: ?*anyopaque) *T {
    return @ptrCast(@alignCast(context.?));
}
