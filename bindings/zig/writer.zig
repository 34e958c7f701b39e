//! Writing files.

const std = @import("std");
const base = @import("c.zig");
const types = @import("types.zig");
const File = @import("file.zig").File;
const Object = @import("object.zig").Object;
const Value = @import("value.zig").Value;
const c = base.c;
const Error = base.Error;

/// A component to write.
pub const Part = struct {
    role: []const u8,
    dtype: c.zt_dtype,
    data: []const u8,
    logical_type: c.zt_type = c.ZT_TYPE_NONE,
    encoding: c.zt_encoding = c.ZT_ENCODING_DEFAULT,
    digest: c.zt_digest = c.ZT_DIGEST_DEFAULT,

    pub fn of(comptime T: type, role: []const u8, data: []const T) Part {
        return .{ .role = role, .dtype = types.dtypeOf(T), .data = std.mem.sliceAsBytes(data) };
    }
    fn desc(self: Part) c.zt_component_desc {
        var made = base.sized(c.zt_component_desc);
        made.role = base.start(self.role);
        made.role_length = self.role.len;
        made.dtype = self.dtype;
        made.type = self.logical_type;
        made.encoding = self.encoding;
        made.digest = self.digest;
        made.data = self.data.ptr;
        made.size = self.data.len;
        return made;
    }
};

/// The value of an attribute.
pub const Attribute = union(enum) {
    null,
    bool: bool,
    i64: i64,
    u64: u64,
    f64: f64,
    string: []const u8,
    bytes: []const u8,
    /// JSON text; see ZT_ATTRIBUTE_KIND_JSON.
    json: [:0]const u8,
    /// An array of NUL-terminated texts.
    strings: []const [*:0]const u8,
    /// A value of an open file, which is copied.
    value: Value,
    /// An array of elements of a dtype: `Attribute.numbers`.
    elements: struct { dtype: c.zt_dtype, data: *const anyopaque, count: usize },
    /// Removes the attribute.
    remove,

    pub fn numbers(comptime T: type, data: []const T) Attribute {
        return .{ .elements = .{ .dtype = types.dtypeOf(T), .data = data.ptr, .count = data.len } };
    }

    fn desc(self: Attribute, key: []const u8) c.zt_attribute {
        var made = base.sized(c.zt_attribute);
        made.key_length = key.len;
        switch (self) {
            .null => made.kind = c.ZT_ATTRIBUTE_KIND_NULL,
            .bool => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_BOOL;
                made.i64 = @intFromBool(v);
            },
            .i64 => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_I64;
                made.i64 = v;
            },
            .u64 => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_U64;
                made.u64 = v;
            },
            .f64 => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_F64;
                made.f64 = v;
            },
            .string, .bytes => |v| {
                made.kind = if (self == .string) c.ZT_ATTRIBUTE_KIND_STRING else c.ZT_ATTRIBUTE_KIND_BYTES;
                made.data = base.start(v);
                made.size = v.len;
            },
            .json => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_JSON;
                made.data = v.ptr;
                made.size = v.len;
            },
            .strings => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_STRINGS;
                made.data = @ptrCast(v.ptr);
                made.count = v.len;
            },
            .value => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_VALUE;
                made.data = v.handle;
            },
            .elements => |v| {
                made.kind = c.ZT_ATTRIBUTE_KIND_NUMBERS;
                made.dtype = v.dtype;
                made.data = v.data;
                made.count = v.count;
            },
            .remove => made.kind = c.ZT_ATTRIBUTE_KIND_REMOVE,
        }
        return made;
    }
};

/// Writes a file. `finish` publishes the complete file. `finish` and `abort` free the writer.
pub const Writer = struct {
    handle: *c.zt_writer,

    pub fn create(path: [:0]const u8, options: c.zt_write_options) Error!Writer {
        return begun(c.zt_write_create, .{ path, &options });
    }
    pub fn append(path: [:0]const u8, options: c.zt_write_options) Error!Writer {
        return begun(c.zt_write_append, .{ path, &options });
    }
    /// sink: a result of `callbacks.sink`.
    pub fn toSink(sink: c.zt_sink, options: c.zt_write_options) Error!Writer {
        return begun(c.zt_write_create_sink, .{ &sink, &options });
    }
    fn begun(comptime function: anytype, arguments: anytype) Error!Writer {
        var made: ?*c.zt_writer = null;
        try base.check(@call(.auto, function, arguments ++ .{&made}));
        return .{ .handle = made.? };
    }
    pub fn finish(self: Writer) Error!c.zt_write_summary {
        return base.filled(c.zt_write_summary, c.zt_write_finish, .{self.handle});
    }
    pub fn abort(self: Writer) void {
        c.zt_write_abort(self.handle);
    }

    pub fn dense(self: Writer, comptime T: type, name: []const u8, shape: []const u64, data: []const T) Error!void {
        try self.object(name, c.ZT_FORMAT_DENSE, shape, &.{Part.of(T, "data", data)});
    }
    /// An object of any format with up to 16 components.
    pub fn object(self: Writer, name: []const u8, format: c.zt_format, shape: []const u64, parts: []const Part) Error!void {
        var descs: [16]c.zt_component_desc = undefined;
        if (parts.len > descs.len) return error.InvalidArgument;
        for (parts, 0..) |part, i| descs[i] = part.desc();
        var desc = objectDesc(name, format, shape);
        desc.components = &descs;
        desc.component_count = parts.len;
        try base.check(c.zt_write_object(self.handle, &desc));
    }
    /// Writes many dense objects in one call; see zt_write_batch.
    pub fn batch(self: Writer, requests: []const c.zt_write_request) Error!void {
        try base.check(c.zt_write_batch(self.handle, requests.ptr, requests.len));
    }
    pub fn csr(self: Writer, comptime T: type, name: []const u8, shape: [2]u64, values: []const T, indices: []const u64, indptr: []const u64) Error!void {
        if (indices.len != values.len or indptr.len != shape[0] + 1) return error.InvalidArgument;
        const size = values.len * @sizeOf(T);
        try base.check(c.zt_write_csr(self.handle, base.start(name), name.len, types.dtypeOf(T), c.ZT_TYPE_NONE, &shape, values.len, values.ptr, size, indices.ptr, indptr.ptr));
    }
    /// coords: a run of numbers for each dimension.
    pub fn coo(self: Writer, comptime T: type, name: []const u8, shape: []const u64, values: []const T, coords: []const u64) Error!void {
        if (coords.len != values.len * shape.len) return error.InvalidArgument;
        const size = values.len * @sizeOf(T);
        try base.check(c.zt_write_coo(self.handle, base.start(name), name.len, types.dtypeOf(T), c.ZT_TYPE_NONE, shape.ptr, shape.len, values.len, values.ptr, size, coords.ptr));
    }
    pub fn quantized(self: Writer, name: []const u8, shape: []const u64, desc: c.zt_quantized_desc) Error!void {
        try base.check(c.zt_write_quantized(self.handle, base.start(name), name.len, shape.ptr, shape.len, &desc));
    }
    pub fn dlpack(self: Writer, name: []const u8, tensor: *const c.struct_DLManagedTensorVersioned) Error!void {
        try base.check(c.zt_write_dlpack(self.handle, base.start(name), name.len, tensor));
    }
    pub fn dlpackUnversioned(self: Writer, name: []const u8, tensor: *const c.struct_DLManagedTensor) Error!void {
        try base.check(c.zt_write_dlpack_unversioned(self.handle, base.start(name), name.len, tensor));
    }

    /// Writes an object in pieces: begin, the data of each component, then end.
    pub fn beginObject(self: Writer, name: []const u8, format: c.zt_format, shape: []const u64) Error!void {
        const desc = objectDesc(name, format, shape);
        try base.check(c.zt_write_begin(self.handle, &desc));
    }
    /// If part has no data, `addData` follows; the size is then unknown.
    pub fn addComponent(self: Writer, part: Part) Error!void {
        var desc = part.desc();
        if (part.data.len == 0) desc.data = null;
        try base.check(c.zt_write_component(self.handle, &desc));
    }
    pub fn addData(self: Writer, data: []const u8) Error!void {
        try base.check(c.zt_write_data(self.handle, data.ptr, data.len));
    }
    pub fn endObject(self: Writer) Error!void {
        try base.check(c.zt_write_end(self.handle));
    }

    /// Copies stored bytes. new_name: null to keep the name.
    pub fn copy(self: Writer, from: Object, new_name: ?[]const u8) Error!void {
        try self.copyWith(from, new_name, base.sized(c.zt_copy_options));
    }
    /// Copies an object with the encoding, digest, dtype and block type in options.
    pub fn copyWith(self: Writer, from: Object, new_name: ?[]const u8, options: c.zt_copy_options) Error!void {
        var named = options;
        if (new_name) |name| {
            named.name = base.start(name);
            named.name_length = name.len;
        }
        try base.check(c.zt_write_copy(self.handle, from.handle, &named));
    }
    /// zTensor 2: makes an open file a shard and adds its objects. Their bytes stay in the shard.
    pub fn addShard(self: Writer, name: []const u8, file: File) Error!void {
        try base.check(c.zt_write_shard(self.handle, base.start(name), name.len, file.handle));
    }
    pub fn link(self: Writer, from: Object, new_name: ?[]const u8) Error!void {
        const name: [*c]const u8 = if (new_name) |n| base.start(n) else null;
        try base.check(c.zt_write_link(self.handle, from.handle, name, if (new_name) |n| n.len else 0));
    }
    /// Replaces all attributes of the file by those of an open file.
    pub fn copyAttributes(self: Writer, from: File) Error!void {
        try base.check(c.zt_write_copy_attributes(self.handle, from.handle));
    }
    /// of: null for the file, or the name of an object: the open one, or one that the file had before an
    /// append.
    pub fn setAttribute(self: Writer, of: ?[]const u8, key: []const u8, attribute: Attribute) Error!void {
        const desc = attribute.desc(key);
        const name: [*c]const u8 = if (of) |n| base.start(n) else null;
        try base.check(c.zt_write_attribute(self.handle, name, if (of) |n| n.len else 0, base.start(key), &desc));
    }

    /// In an append: removes or renames an object of the file.
    pub fn removeObject(self: Writer, name: []const u8) Error!void {
        try base.check(c.zt_write_remove(self.handle, base.start(name), name.len));
    }
    pub fn renameObject(self: Writer, name: []const u8, new_name: []const u8) Error!void {
        try base.check(c.zt_write_rename(self.handle, base.start(name), name.len, base.start(new_name), new_name.len));
    }

    fn objectDesc(name: []const u8, format: c.zt_format, shape: []const u64) c.zt_object_desc {
        var desc = base.sized(c.zt_object_desc);
        desc.name = base.start(name);
        desc.name_length = name.len;
        desc.format = format;
        desc.shape = shape.ptr;
        desc.rank = shape.len;
        return desc;
    }
};
