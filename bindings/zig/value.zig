//! Attributes: a tree of values.

const std = @import("std");
const base = @import("c.zig");
const types = @import("types.zig");
const c = base.c;
const Error = base.Error;

/// A value of an attribute, valid until the file's `close`.
pub const Value = struct {
    handle: *const c.zt_value,

    pub fn kind(self: Value) c.zt_value_kind {
        return c.zt_value_get_kind(self.handle);
    }
    /// The dtype that the container declares for a number or an array's elements, or 0.
    pub fn dtype(self: Value) c.zt_dtype {
        return c.zt_value_dtype(self.handle);
    }
    /// The number of items of an array or of pairs of a map; 1 for a tag.
    pub fn len(self: Value) usize {
        return c.zt_value_count(self.handle);
    }
    pub fn at(self: Value, index: usize) ?Value {
        return .{ .handle = c.zt_value_at(self.handle, index) orelse return null };
    }
    pub fn keyAt(self: Value, index: usize) ?Value {
        return .{ .handle = c.zt_value_key_at(self.handle, index) orelse return null };
    }
    pub fn find(self: Value, key: []const u8) ?Value {
        return .{ .handle = c.zt_value_find_n(self.handle, key.ptr, key.len) orelse return null };
    }
    /// T: bool, i64, u64, f64, or []const u8 for text.
    pub fn get(self: Value, comptime T: type) Error!T {
        var out: T = undefined;
        switch (T) {
            bool => {
                var got: i32 = 0;
                try base.check(c.zt_value_get_bool(self.handle, &got));
                out = got != 0;
            },
            i64 => try base.check(c.zt_value_get_i64(self.handle, &out)),
            u64 => try base.check(c.zt_value_get_u64(self.handle, &out)),
            f64 => try base.check(c.zt_value_get_f64(self.handle, &out)),
            []const u8 => {
                var data: [*c]const u8 = null;
                var size: usize = 0;
                try base.check(c.zt_value_get_string(self.handle, &data, &size));
                out = data[0..size];
            },
            else => @compileError("not a type of values: " ++ @typeName(T)),
        }
        return out;
    }
    /// The bytes of a byte string.
    pub fn bytes(self: Value) Error![]const u8 {
        var data: ?*const anyopaque = null;
        var size: usize = 0;
        try base.check(c.zt_value_get_bytes(self.handle, &data, &size));
        return base.borrowed(data, size);
    }
    /// The number of a tag. The tagged value is at 0.
    pub fn tag(self: Value) Error!u64 {
        var number: u64 = 0;
        try base.check(c.zt_value_get_tag(self.handle, &number));
        return number;
    }
    /// The numbers of an array. Fails if T cannot hold one exactly. dst must hold `len` numbers. A number is
    /// read as an array of one.
    pub fn readNumbers(self: Value, comptime T: type, dst: []T) Error!void {
        try base.check(c.zt_value_read_numbers(self.handle, types.dtypeOf(T), dst.ptr, dst.len));
    }
    /// The texts of an array. starts and lengths must hold `len` entries. `starts[i][0..lengths[i]]` is a
    /// text.
    pub fn readStrings(self: Value, starts: [][*c]const u8, lengths: []usize) Error!void {
        if (starts.len != lengths.len) return error.InvalidArgument;
        try base.check(c.zt_value_read_strings(self.handle, starts.ptr, lengths.ptr, starts.len));
    }
    /// JSON text with its NUL in buffer. If the buffer is too small it returns error.BufferSize; `jsonSize`
    /// returns the size.
    pub fn json(self: Value, buffer: []u8) Error![:0]const u8 {
        var needed: usize = 0;
        try base.check(c.zt_value_to_json(self.handle, buffer.ptr, buffer.len, &needed));
        return buffer[0 .. needed - 1 :0];
    }
    pub fn jsonSize(self: Value) Error!usize {
        var needed: usize = 0;
        try base.check(c.zt_value_to_json(self.handle, null, 0, &needed));
        return needed;
    }
};
