//! Objects, their components and views. All are valid until the file's `close`.

const std = @import("std");
const base = @import("c.zig");
const types = @import("types.zig");
const Value = @import("value.zig").Value;
const c = base.c;
const Error = base.Error;

pub const Component = struct {
    handle: *const c.zt_component,

    /// Describes the object without reading its bytes.
    pub fn info(self: Component) c.zt_component_info {
        return base.filled(c.zt_component_info, c.zt_component_get_info, .{self.handle}) catch unreachable;
    }
    pub fn role(self: Component) []const u8 {
        const of = self.info();
        return of.role[0..of.role_length];
    }
    pub fn dtype(self: Component) c.zt_dtype {
        return c.zt_component_dtype(self.handle);
    }
    pub fn dtypeName(self: Component) [:0]const u8 {
        const of = self.info();
        return base.text(of.dtype_name) orelse types.dtypeName(of.dtype).?;
    }
    /// The number of the logical type.
    pub fn logicalType(self: Component) c.zt_type {
        return c.zt_component_type(self.handle);
    }
    /// The logical type, or null.
    pub fn typeName(self: Component) ?[:0]const u8 {
        const of = self.info();
        return base.text(of.type_name) orelse types.typeName(of.type);
    }
    pub fn encoding(self: Component) c.zt_encoding {
        return c.zt_component_encoding(self.handle);
    }
    pub fn encodingName(self: Component) [:0]const u8 {
        const of = self.info();
        return base.text(of.encoding_name) orelse types.encodingName(of.encoding).?;
    }
    pub fn digest(self: Component) ?[:0]const u8 {
        return base.text(c.zt_component_digest(self.handle));
    }
    /// A set of c.ZT_CAP_ bits.
    pub fn caps(self: Component) u32 {
        return c.zt_component_caps(self.handle);
    }
    /// The number of the model's file that holds the component. `offset` counts from its start.
    pub fn part(self: Component) usize {
        return self.info().part;
    }
    pub fn offset(self: Component) u64 {
        return self.info().offset;
    }
    pub fn storedSize(self: Component) u64 {
        return self.info().stored_size;
    }
    /// The number of decoded bytes, or c.ZT_UNKNOWN_SIZE if the file does not declare it: call `measure`.
    pub fn size(self: Component) u64 {
        return c.zt_component_size(self.handle);
    }
    /// `size`. If the file does not declare it, the component is decoded to count the bytes.
    pub fn measure(self: Component) Error!u64 {
        return self.measureWith(null, null);
    }
    /// `measure` with the functions that `callbacks.progress` makes for the type of context.
    pub fn measureWith(self: Component, progress: c.zt_progress_callback, context: ?*anyopaque) Error!u64 {
        var n: u64 = 0;
        try base.check(c.zt_component_measure(self.handle, progress, context, &n));
        return n;
    }
    /// The bytes in the mapped file. If they are not mapped it returns error.NotMappable: call `read` or
    /// `load`. They are aligned for their elements, and to 64 bytes in a .zt file.
    pub fn bytes(self: Component) Error![]const u8 {
        var data: ?*const anyopaque = null;
        var n: usize = 0;
        try base.check(c.zt_component_ptr(self.handle, &data, &n));
        return base.borrowed(data, n);
    }
    /// The mapped bytes as elements of T, which must match the dtype. Read bools as u8: bytes in a file may
    /// be other than 0 and 1.
    pub fn elements(self: Component, comptime T: type) Error![]const T {
        if (T == bool) @compileError("read bools as u8");
        const is = self.dtype();
        if (is != types.dtypeOf(T) and !(T == u8 and is == c.ZT_DTYPE_BOOL)) return error.InvalidArgument;
        return elementsIn(T, try self.bytes());
    }
    pub fn read(self: Component, dst: []u8) Error!void {
        try base.check(c.zt_component_read(self.handle, dst.ptr, dst.len));
    }
    /// The stored bytes, not decoded.
    pub fn readStored(self: Component, dst: []u8) Error!void {
        try base.check(c.zt_component_read_stored(self.handle, dst.ptr, dst.len));
    }
    /// Decoded bytes from an offset on.
    pub fn readRange(self: Component, from: u64, dst: []u8) Error!void {
        try base.check(c.zt_component_read_range(self.handle, from, dst.ptr, dst.len));
    }
    pub fn load(self: Component) Error!Buffer {
        return self.loadBy(null);
    }
    /// Decodes with threads, a digest check and progress.
    pub fn loadWith(self: Component, options: c.zt_read_options) Error!Buffer {
        return self.loadBy(&options);
    }
    fn loadBy(self: Component, options: ?*const c.zt_read_options) Error!Buffer {
        var made: ?*c.zt_buffer = null;
        try base.check(c.zt_component_load(self.handle, options, &made));
        return .{ .handle = made.? };
    }
    pub fn advise(self: Component, advice: c.zt_advice) Error!void {
        try base.check(c.zt_component_advise(self.handle, advice));
    }
    /// A DLPack tensor of one dimension. The caller calls its deleter.
    pub fn toDlpack(self: Component) Error!*c.struct_DLManagedTensorVersioned {
        var made: ?*c.struct_DLManagedTensorVersioned = null;
        try base.check(c.zt_component_to_dlpack(self.handle, &made));
        return made.?;
    }
};

/// Decoded bytes. They keep the file open until `free`.
pub const Buffer = struct {
    handle: *c.zt_buffer,

    pub fn bytes(self: Buffer) []const u8 {
        return base.borrowed(c.zt_buffer_data(self.handle), c.zt_buffer_size(self.handle));
    }
    pub fn free(self: Buffer) void {
        c.zt_buffer_free(self.handle);
    }
};

/// The elements of a component of a view. T must match the dtype.
pub fn elementsOf(comptime T: type, array: c.zt_array) Error![]const T {
    if (array.dtype != types.dtypeOf(T)) return error.InvalidArgument;
    return elementsIn(T, base.borrowed(array.data, array.size));
}

/// Bytes as elements. The last element may be incomplete: the file may declare any size for an unknown
/// format.
fn elementsIn(comptime T: type, bytes: []const u8) Error![]const T {
    if (bytes.len == 0) return &.{};
    if (bytes.len % @sizeOf(T) != 0 or !std.mem.isAligned(@intFromPtr(bytes.ptr), @alignOf(T))) return error.InvalidArgument;
    return @alignCast(std.mem.bytesAsSlice(T, bytes));
}

pub const Object = struct {
    handle: *const c.zt_object,

    /// Describes the component without reading its bytes.
    pub fn info(self: Object) c.zt_object_info {
        return base.filled(c.zt_object_info, c.zt_object_get_info, .{self.handle}) catch unreachable;
    }
    pub fn name(self: Object) []const u8 {
        const of = self.info();
        return of.name[0..of.name_length];
    }
    pub fn shape(self: Object) []const u64 {
        const rank = c.zt_object_rank(self.handle);
        return if (rank == 0) &.{} else c.zt_object_shape(self.handle)[0..rank];
    }
    pub fn elementCount(self: Object) u64 {
        return c.zt_object_element_count(self.handle);
    }
    pub fn format(self: Object) c.zt_format {
        return c.zt_object_format(self.handle);
    }
    pub fn formatName(self: Object) [:0]const u8 {
        const of = self.info();
        return base.text(of.format_name) orelse types.formatName(of.format).?;
    }
    pub fn attributes(self: Object) ?Value {
        return .{ .handle = c.zt_object_attributes(self.handle) orelse return null };
    }
    /// The number of components.
    pub fn len(self: Object) usize {
        return c.zt_component_count(self.handle);
    }
    pub fn at(self: Object, index: usize) ?Component {
        return .{ .handle = c.zt_component_at(self.handle, index) orelse return null };
    }
    pub fn find(self: Object, role: []const u8) ?Component {
        return .{ .handle = c.zt_component_find_n(self.handle, role.ptr, role.len) orelse return null };
    }
    /// The size of all numbers as elements of a dtype in bytes. Returns error.Unsupported if the object is
    /// not one array of numbers.
    pub fn sizeAs(self: Object, dtype: c.zt_dtype) Error!u64 {
        var n: u64 = 0;
        try base.check(c.zt_object_size_as(self.handle, dtype, &n));
        return n;
    }
    /// Reads all numbers as elements of T, row-major, and returns the part of dst that they fill.
    pub fn readAs(self: Object, comptime T: type, dst: []T) Error![]T {
        var written: usize = 0;
        try base.check(c.zt_object_read_as(self.handle, types.dtypeOf(T), dst.ptr, dst.len * @sizeOf(T), &written));
        return dst[0 .. written / @sizeOf(T)];
    }
    pub fn readSlice(self: Object, start: []const u64, count: []const u64, step: ?[]const u64, dst: []u8) Error!void {
        const rank = self.shape().len;
        if (start.len != rank or count.len != rank) return error.InvalidArgument;
        if (step) |s| if (s.len != rank) return error.InvalidArgument;
        const steps: [*c]const u64 = if (step) |s| s.ptr else null;
        try base.check(c.zt_object_read_slice(self.handle, start.ptr, count.ptr, steps, dst.ptr, dst.len));
    }
    /// A dense object, in the mapped file or decoded once into the file's memory.
    pub fn tensor(self: Object) Error!c.zt_tensor {
        return base.filled(c.zt_tensor, c.zt_tensor_view, .{self.handle});
    }
    pub fn csr(self: Object) Error!c.zt_csr {
        return base.filled(c.zt_csr, c.zt_csr_view, .{self.handle});
    }
    pub fn coo(self: Object) Error!c.zt_coo {
        return base.filled(c.zt_coo, c.zt_coo_view, .{self.handle});
    }
    pub fn quantized(self: Object) Error!c.zt_quantized {
        return base.filled(c.zt_quantized, c.zt_quantized_view, .{self.handle});
    }
    /// A DLPack tensor. The caller calls its deleter. It keeps the file open.
    pub fn toDlpack(self: Object) Error!*c.struct_DLManagedTensorVersioned {
        var made: ?*c.struct_DLManagedTensorVersioned = null;
        try base.check(c.zt_object_to_dlpack(self.handle, &made));
        return made.?;
    }
    /// For consumers of DLPack before 1.0, which must not write to it.
    pub fn toDlpackUnversioned(self: Object) Error!*c.struct_DLManagedTensor {
        var made: ?*c.struct_DLManagedTensor = null;
        try base.check(c.zt_object_to_dlpack_unversioned(self.handle, &made));
        return made.?;
    }
};
