//! Reading files and models.

const std = @import("std");
const base = @import("c.zig");
const Value = @import("value.zig").Value;
const Object = @import("object.zig").Object;
const c = base.c;
const Error = base.Error;

pub const File = struct {
    handle: *c.zt_file,

    pub fn open(path: [:0]const u8) Error!File {
        return openWith(path, base.sized(c.zt_open_options));
    }
    pub fn openWith(path: [:0]const u8, options: c.zt_open_options) Error!File {
        return opened(c.zt_open, .{ path, &options });
    }
    /// Opens a model of one or several files.
    pub fn openModel(path: [:0]const u8, options: c.zt_open_options) Error!File {
        return opened(c.zt_open_model, .{ path, &options });
    }
    /// Opens several files as one.
    pub fn openParts(paths: []const [*:0]const u8, options: c.zt_open_options) Error!File {
        return opened(c.zt_open_parts, .{ @as([*c]const [*c]const u8, @ptrCast(paths.ptr)), paths.len, &options });
    }
    /// Opens a file that is inside a larger one. c.ZT_WHOLE, as length, means up to the end.
    pub fn openFd(fd: c_int, offset: u64, length: u64, options: c.zt_open_options) Error!File {
        return opened(c.zt_open_fd, .{ fd, offset, length, &options });
    }
    /// Opens a file that is inside a larger one, by a HANDLE of Windows.
    pub fn openHandle(handle: *anyopaque, offset: u64, length: u64, options: c.zt_open_options) Error!File {
        return opened(c.zt_open_handle, .{ handle, offset, length, &options });
    }
    /// Opens a file in memory. The bytes must stay valid until `close`.
    pub fn openMemory(data: []const u8, options: c.zt_open_options) Error!File {
        return opened(c.zt_open_memory, .{ data.ptr, data.len, &options });
    }
    /// source: a result of `callbacks.source`.
    pub fn openSource(source: c.zt_source, options: c.zt_open_options) Error!File {
        return opened(c.zt_open_source, .{ &source, &options });
    }
    /// Opens a model; a store, which `callbacks.store` makes, opens its files.
    pub fn openModelFrom(store: c.zt_store, name: [:0]const u8, options: c.zt_open_options) Error!File {
        return opened(c.zt_open_model_from, .{ &store, name, &options });
    }
    fn opened(comptime function: anytype, arguments: anytype) Error!File {
        var made: ?*c.zt_file = null;
        try base.check(@call(.auto, function, arguments ++ .{&made}));
        return .{ .handle = made.? };
    }
    /// Another reference to the file. Close it, too.
    pub fn retain(self: File) File {
        return .{ .handle = c.zt_retain(self.handle).? };
    }
    pub fn close(self: File) void {
        c.zt_close(self.handle);
    }

    pub fn version(self: File) [:0]const u8 {
        return base.text(c.zt_file_version(self.handle)).?;
    }
    pub fn mode(self: File) c.zt_mode {
        return c.zt_file_mode(self.handle);
    }
    pub fn attributes(self: File) ?Value {
        return .{ .handle = c.zt_file_attributes(self.handle) orelse return null };
    }
    pub fn identity(self: File) Error!c.zt_identity {
        return base.filled(c.zt_identity, c.zt_file_identity, .{self.handle});
    }

    pub fn partCount(self: File) usize {
        return c.zt_part_count(self.handle);
    }
    /// The path (null if it was not opened by a path), size and container of a part.
    pub fn part(self: File, index: usize) Error!c.zt_part_info {
        return base.filled(c.zt_part_info, c.zt_part_get_info, .{ self.handle, index });
    }
    pub fn partIdentity(self: File, index: usize) Error!c.zt_identity {
        return base.filled(c.zt_identity, c.zt_part_identity, .{ self.handle, index });
    }
    /// Counts the files and tensors that a model does not show.
    pub fn modelInfo(self: File) Error!c.zt_model_info {
        return base.filled(c.zt_model_info, c.zt_model_get_info, .{self.handle});
    }
    /// All bytes of a part in the mapped file.
    pub fn bytes(self: File, index: usize) Error![]const u8 {
        var data: ?*const anyopaque = null;
        var n: u64 = 0;
        try base.check(c.zt_file_bytes(self.handle, index, &data, &n));
        return base.borrowed(data, @intCast(n));
    }

    /// The number of objects.
    pub fn len(self: File) usize {
        return c.zt_object_count(self.handle);
    }
    pub fn at(self: File, index: usize) ?Object {
        return .{ .handle = c.zt_object_at(self.handle, index) orelse return null };
    }
    pub fn find(self: File, name: []const u8) ?Object {
        return .{ .handle = c.zt_object_find_n(self.handle, name.ptr, name.len) orelse return null };
    }
    /// Describes objects, from first on, in infos. Returns the filled part of infos.
    pub fn listObjects(self: File, first: usize, infos: []c.zt_object_info) Error![]const c.zt_object_info {
        if (infos.len == 0) return &.{};
        infos[0].struct_size = @sizeOf(c.zt_object_info);
        var filled: usize = 0;
        try base.check(c.zt_object_list(self.handle, first, infos.ptr, infos.len, &filled));
        return infos[0..filled];
    }
    /// Describes components, of all objects or of one, from first on, in infos. Returns the filled part of
    /// infos.
    pub fn listComponents(self: File, of: ?Object, first: usize, infos: []c.zt_component_info) Error![]const c.zt_component_info {
        if (infos.len == 0) return &.{};
        infos[0].struct_size = @sizeOf(c.zt_component_info);
        var filled: usize = 0;
        const object: ?*const c.zt_object = if (of) |o| o.handle else null;
        try base.check(c.zt_component_list(self.handle, object, first, infos.ptr, infos.len, &filled));
        return infos[0..filled];
    }

    pub fn verify(self: File) Error!c.zt_verify_report {
        return self.verifyWith(base.sized(c.zt_verify_options));
    }
    /// options: what to check, and which checks; context, and the functions that `callbacks.progress` and
    /// `callbacks.failed` make for its type.
    pub fn verifyWith(self: File, options: c.zt_verify_options) Error!c.zt_verify_report {
        return base.filled(c.zt_verify_report, c.zt_verify, .{ self.handle, &options });
    }
    pub fn readBatch(self: File, requests: []const c.zt_read_request, options: c.zt_read_options) Error!c.zt_read_stats {
        return base.filled(c.zt_read_stats, c.zt_read_batch, .{ self.handle, requests.ptr, requests.len, &options });
    }
};

/// Removes an unfinished append; see zt_repair.
pub fn repair(path: [:0]const u8, options: c.zt_repair_options) Error!c.zt_repair_report {
    return base.filled(c.zt_repair_report, c.zt_repair, .{ path, &options });
}
