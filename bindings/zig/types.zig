//! Dtypes, logical types and other numbers with names.

const std = @import("std");
const base = @import("c.zig");
const c = base.c;
const Error = base.Error;

/// The bits of a bfloat16.
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
        else => @compileError("no dtype for elements of " ++ @typeName(T)),
    };
}

/// Null for a number without a name.
pub fn dtypeName(dtype: c.zt_dtype) ?[:0]const u8 {
    return base.text(c.zt_dtype_name(dtype));
}
pub fn dtypeFromName(name: [:0]const u8) Error!c.zt_dtype {
    var found: c.zt_dtype = 0;
    try base.check(c.zt_dtype_from_name(name, &found));
    return found;
}
/// The size of an element in bytes, or 0 if the number is not a dtype.
pub fn dtypeSize(dtype: c.zt_dtype) usize {
    return c.zt_dtype_size(dtype);
}
pub fn typeName(kind: c.zt_type) ?[:0]const u8 {
    return base.text(c.zt_type_name(kind));
}
pub fn typeFromName(name: [:0]const u8) Error!c.zt_type {
    var found: c.zt_type = 0;
    try base.check(c.zt_type_from_name(name, &found));
    return found;
}

/// How many elements of a logical type are in how many bytes: 32 elements in 18 bytes.
pub const Block = struct { elements: usize, bytes: usize };

pub fn blockOf(kind: c.zt_type) Error!Block {
    var found: Block = undefined;
    try base.check(c.zt_type_block(kind, &found.elements, &found.bytes));
    return found;
}

/// ggml's number (enum ggml_type) for a type.
pub fn ggmlNumber(dtype: c.zt_dtype, kind: c.zt_type) Error!i32 {
    var found: i32 = 0;
    try base.check(c.zt_type_ggml(dtype, kind, &found));
    return found;
}

/// The type with a number in ggml.
pub const Stored = struct { dtype: c.zt_dtype, type: c.zt_type };

pub fn fromGgml(number: i32) Error!Stored {
    var found: Stored = undefined;
    try base.check(c.zt_type_from_ggml(number, &found.dtype, &found.type));
    return found;
}

pub fn formatName(format: c.zt_format) ?[:0]const u8 {
    return base.text(c.zt_format_name(format));
}
pub fn encodingName(encoding: c.zt_encoding) ?[:0]const u8 {
    return base.text(c.zt_encoding_name(encoding));
}
pub fn containerName(container: c.zt_container) ?[:0]const u8 {
    return base.text(c.zt_container_name(container));
}
