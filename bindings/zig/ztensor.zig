//! zTensor .zt files through the C library libztensor: errors as an error set, bytes as slices, nothing allocated here.
//!
//! What is lent (names, shapes, mapped bytes) lives until the file's `close`. `message()` tells more of the thread's last
//! error. ztensor.h is the manual; `c` is all of it.

const std = @import("std");

pub const c = @cImport(@cInclude("ztensor.h"));

pub const Error = error{
    InvalidArgument,
    Io,
    NoFile,
    NotFound,
    NotZTensor,
    Corrupt,
    DigestMismatch,
    Unsupported,
    Limit,
    BufferSize,
    NotMappable,
    State,
    Exists,
    Cancelled,
    Timeout,
    OutOfMemory,
    Internal,
};

/// The calling thread's last failure, one line.
pub fn message() [:0]const u8 {
    return std.mem.span(c.zt_last_error());
}

fn check(status: c.zt_status) Error!void {
    return switch (status) {
        c.ZT_OK => {},
        c.ZT_ERROR_INVALID_ARGUMENT => error.InvalidArgument,
        c.ZT_ERROR_IO => error.Io,
        c.ZT_ERROR_NO_FILE => error.NoFile,
        c.ZT_ERROR_NOT_FOUND => error.NotFound,
        c.ZT_ERROR_NOT_ZTENSOR => error.NotZTensor,
        c.ZT_ERROR_CORRUPT => error.Corrupt,
        c.ZT_ERROR_DIGEST_MISMATCH => error.DigestMismatch,
        c.ZT_ERROR_UNSUPPORTED => error.Unsupported,
        c.ZT_ERROR_LIMIT => error.Limit,
        c.ZT_ERROR_BUFFER_SIZE => error.BufferSize,
        c.ZT_ERROR_NOT_MAPPABLE => error.NotMappable,
        c.ZT_ERROR_STATE => error.State,
        c.ZT_ERROR_EXISTS => error.Exists,
        c.ZT_ERROR_CANCELLED => error.Cancelled,
        c.ZT_ERROR_TIMEOUT => error.Timeout,
        c.ZT_ERROR_OUT_OF_MEMORY => error.OutOfMemory,
        else => error.Internal,
    };
}

/// A struct of the interface with struct_size set and all else zero, which is the default.
pub fn sized(comptime T: type) T {
    var made = std.mem.zeroes(T);
    made.struct_size = @sizeOf(T);
    return made;
}

/// bfloat16, as its bits.
pub const BF16 = enum(u16) { _ };

/// The dtype of a Zig type.
pub fn dtypeOf(comptime T: type) c.zt_dtype {
    return switch (T) {
        f64 => c.ZT_DTYPE_F64,
        f32 => c.ZT_DTYPE_F32,
        f16 => c.ZT_DTYPE_F16,
        BF16 => c.ZT_DTYPE_BF16,
        i64 => c.ZT_DTYPE_I64,
        i32 => c.ZT_DTYPE_I32,
        i16 => c.ZT_DTYPE_I16,
        i8 => c.ZT_DTYPE_I8,
        u64 => c.ZT_DTYPE_U64,
        u32 => c.ZT_DTYPE_U32,
        u16 => c.ZT_DTYPE_U16,
        u8 => c.ZT_DTYPE_U8,
        bool => c.ZT_DTYPE_BOOL,
        else => @compileError("no dtype has elements of " ++ @typeName(T)),
    };
}

fn text(pointer: [*c]const u8) ?[:0]const u8 {
    return if (pointer == null) null else std.mem.span(@as([*:0]const u8, @ptrCast(pointer)));
}

pub const Component = struct {
    handle: *const c.zt_component,

    pub fn role(self: Component) []const u8 {
        return c.zt_component_role(self.handle)[0..c.zt_component_role_length(self.handle)];
    }
    pub fn dtype(self: Component) c.zt_dtype {
        return c.zt_component_dtype(self.handle);
    }
    pub fn dtypeName(self: Component) [:0]const u8 {
        return text(c.zt_component_dtype_name(self.handle)).?;
    }
    /// The logical type; null if there is none.
    pub fn typeName(self: Component) ?[:0]const u8 {
        return text(c.zt_component_type_name(self.handle));
    }
    pub fn encodingName(self: Component) [:0]const u8 {
        return text(c.zt_component_encoding_name(self.handle)).?;
    }
    pub fn digest(self: Component) ?[:0]const u8 {
        return text(c.zt_component_digest(self.handle));
    }
    /// Decoded bytes; c.ZT_UNKNOWN_SIZE where the file does not say: `measure` finds out.
    pub fn size(self: Component) u64 {
        return c.zt_component_size(self.handle);
    }
    /// `size`, found out where the file does not declare it.
    pub fn measure(self: Component) Error!u64 {
        var n: u64 = 0;
        try check(c.zt_component_measure(self.handle, null, null, &n));
        return n;
    }
    /// The bytes in the mapped file; error.NotMappable where there are none, then `read` or `load`.
    pub fn bytes(self: Component) Error![]align(8) const u8 {
        var data: ?*const anyopaque = null;
        var n: usize = 0;
        try check(c.zt_component_ptr(self.handle, &data, &n));
        return @as([*]align(8) const u8, @alignCast(@ptrCast(data.?)))[0..n];
    }
    /// The same as elements of T, which is checked against the dtype. Bools as u8: a file's bytes may be neither 0 nor 1.
    pub fn elements(self: Component, comptime T: type) Error![]const T {
        if (T == bool) @compileError("look at bools as u8");
        const is = self.dtype();
        if (is != dtypeOf(T) and !(T == u8 and is == c.ZT_DTYPE_BOOL)) return error.InvalidArgument;
        return std.mem.bytesAsSlice(T, try self.bytes());
    }
    pub fn read(self: Component, dst: []u8) Error!void {
        try check(c.zt_component_read(self.handle, dst.ptr, dst.len));
    }
    /// Converts to T; dst has room for all elements.
    pub fn readAs(self: Component, comptime T: type, dst: []T) Error!void {
        try check(c.zt_component_read_as(self.handle, dtypeOf(T), dst.ptr, dst.len * @sizeOf(T)));
    }
    pub fn load(self: Component) Error!Buffer {
        var made: ?*c.zt_buffer = null;
        try check(c.zt_component_load(self.handle, null, &made));
        return .{ .handle = made.? };
    }
    pub fn verify(self: Component) Error!void {
        try check(c.zt_component_verify(self.handle));
    }
};

/// Decoded bytes; keeps the file open until `free`.
pub const Buffer = struct {
    handle: *c.zt_buffer,

    pub fn bytes(self: Buffer) []const u8 {
        const data: [*]const u8 = @ptrCast(c.zt_buffer_data(self.handle).?);
        return data[0..c.zt_buffer_size(self.handle)];
    }
    pub fn free(self: Buffer) void {
        c.zt_buffer_free(self.handle);
    }
};

pub const Object = struct {
    handle: *const c.zt_object,

    pub fn name(self: Object) []const u8 {
        return c.zt_object_name(self.handle)[0..c.zt_object_name_length(self.handle)];
    }
    pub fn shape(self: Object) []const u64 {
        const rank = c.zt_object_rank(self.handle);
        return if (rank == 0) &.{} else c.zt_object_shape(self.handle)[0..rank];
    }
    pub fn formatName(self: Object) [:0]const u8 {
        return text(c.zt_object_format_name(self.handle)).?;
    }
    pub fn attributes(self: Object) ?*const c.zt_value {
        return c.zt_object_attributes(self.handle);
    }
    pub fn len(self: Object) usize {
        return c.zt_component_count(self.handle);
    }
    pub fn at(self: Object, index: usize) ?Component {
        return .{ .handle = c.zt_component_at(self.handle, index) orelse return null };
    }
    pub fn find(self: Object, role: [:0]const u8) ?Component {
        return .{ .handle = c.zt_component_find(self.handle, role) orelse return null };
    }
    pub fn readSlice(self: Object, start: []const u64, count: []const u64, step: ?[]const u64, dst: []u8) Error!void {
        const rank = self.shape().len;
        if (start.len != rank or count.len != rank) return error.InvalidArgument;
        if (step) |s| if (s.len != rank) return error.InvalidArgument;
        const steps: [*c]const u64 = if (step) |s| s.ptr else null;
        try check(c.zt_object_read_slice(self.handle, start.ptr, count.ptr, steps, dst.ptr, dst.len));
    }
};

pub const File = struct {
    handle: *c.zt_file,

    pub fn open(path: [:0]const u8) Error!File {
        return openWith(path, sized(c.zt_open_options));
    }
    pub fn openWith(path: [:0]const u8, options: c.zt_open_options) Error!File {
        var made: ?*c.zt_file = null;
        try check(c.zt_open(path, &options, &made));
        return .{ .handle = made.? };
    }
    pub fn close(self: File) void {
        c.zt_close(self.handle);
    }
    pub fn version(self: File) [:0]const u8 {
        return text(c.zt_file_version(self.handle)).?;
    }
    pub fn attributes(self: File) ?*const c.zt_value {
        return c.zt_file_attributes(self.handle);
    }
    pub fn len(self: File) usize {
        return c.zt_object_count(self.handle);
    }
    pub fn at(self: File, index: usize) ?Object {
        return .{ .handle = c.zt_object_at(self.handle, index) orelse return null };
    }
    pub fn find(self: File, name: []const u8) ?Object {
        return .{ .handle = c.zt_object_find_n(self.handle, name.ptr, name.len) orelse return null };
    }
    pub fn verify(self: File) Error!c.zt_verify_report {
        var report = sized(c.zt_verify_report);
        try check(c.zt_verify(self.handle, null, &report));
        return report;
    }
    pub fn readBatch(self: File, requests: []const c.zt_read_request, options: c.zt_read_options) Error!c.zt_read_stats {
        var stats = sized(c.zt_read_stats);
        try check(c.zt_read_batch(self.handle, requests.ptr, requests.len, &options, &stats));
        return stats;
    }
};

/// A component to be written.
pub const Part = struct {
    role: []const u8,
    dtype: c.zt_dtype,
    data: []const u8,
    encoding: c.zt_encoding = c.ZT_ENCODING_DEFAULT,
    digest: c.zt_digest = c.ZT_DIGEST_DEFAULT,

    pub fn of(comptime T: type, role: []const u8, data: []const T) Part {
        return .{ .role = role, .dtype = dtypeOf(T), .data = std.mem.sliceAsBytes(data) };
    }
};

/// Writes a file, which appears whole at `finish`. After either `finish` or `abort` it is gone.
pub const Writer = struct {
    handle: *c.zt_writer,

    pub fn create(path: [:0]const u8, options: c.zt_writer_options) Error!Writer {
        var made: ?*c.zt_writer = null;
        try check(c.zt_writer_create(path, &options, &made));
        return .{ .handle = made.? };
    }
    pub fn append(path: [:0]const u8, options: c.zt_writer_options) Error!Writer {
        var made: ?*c.zt_writer = null;
        try check(c.zt_writer_append(path, &options, &made));
        return .{ .handle = made.? };
    }
    pub fn dense(self: Writer, comptime T: type, name: []const u8, shape: []const u64, data: []const T) Error!void {
        try self.object(name, c.ZT_FORMAT_DENSE, shape, &.{Part.of(T, "data", data)});
    }
    pub fn object(self: Writer, name: []const u8, format: c.zt_format, shape: []const u64, parts: []const Part) Error!void {
        var desc = sized(c.zt_object_desc);
        desc.name = if (name.len == 0) "" else name.ptr;
        desc.name_length = name.len;
        desc.format = format;
        desc.shape = shape.ptr;
        desc.rank = shape.len;
        try check(c.zt_writer_begin_object(self.handle, &desc));
        for (parts) |part| {
            var one = sized(c.zt_component_desc);
            one.role = part.role.ptr;
            one.role_length = part.role.len;
            one.dtype = part.dtype;
            one.encoding = part.encoding;
            one.digest = part.digest;
            one.size = part.data.len;
            try check(c.zt_writer_add_component(self.handle, &one));
            try check(c.zt_writer_add_data(self.handle, part.data.ptr, part.data.len));
        }
        try check(c.zt_writer_end_object(self.handle));
    }
    pub fn copy(self: Writer, from: Object) Error!void {
        try check(c.zt_writer_add_copy(self.handle, from.handle, null, 0));
    }
    /// json: the value as JSON text.
    pub fn setAttribute(self: Writer, key: [:0]const u8, json: [:0]const u8) Error!void {
        var attribute = sized(c.zt_attribute);
        attribute.kind = c.ZT_ATTRIBUTE_JSON;
        attribute.data = json.ptr;
        attribute.size = json.len;
        try check(c.zt_writer_set_attribute(self.handle, key, &attribute));
    }
    pub fn removeAttribute(self: Writer, key: [:0]const u8) Error!void {
        var attribute = sized(c.zt_attribute);
        attribute.kind = c.ZT_ATTRIBUTE_REMOVE;
        try check(c.zt_writer_set_attribute(self.handle, key, &attribute));
    }
    /// Of an append: an object of the file is taken away, or gets another name.
    pub fn removeObject(self: Writer, name: [:0]const u8) Error!void {
        try check(c.zt_writer_remove_object(self.handle, name, name.len));
    }
    pub fn renameObject(self: Writer, name: [:0]const u8, new_name: [:0]const u8) Error!void {
        try check(c.zt_writer_rename_object(self.handle, name, name.len, new_name, new_name.len));
    }
    pub fn finish(self: Writer) Error!void {
        try check(c.zt_writer_finish(self.handle, null));
    }
    pub fn abort(self: Writer) void {
        c.zt_writer_abort(self.handle);
    }
};
