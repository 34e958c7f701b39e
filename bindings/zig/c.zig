//! The C interface, and what the whole module uses: errors as an error set, texts, and structs with their
//! size.

const std = @import("std");

pub const c = @cImport({
    @cInclude("ztensor_advanced.h");
    @cInclude("ztensor_dlpack.h");
});

/// The statuses that are errors; ztensor.h describes each.
pub const Error = error{
    InvalidArgument,
    Io,
    NoFile,
    NotFound,
    UnknownContainer,
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
    Busy,
    OutOfMemory,
    Internal,
};

/// The calling thread's last failure.
pub const Failure = struct {
    /// A line of text, valid until the thread's next failure.
    message: [:0]const u8,
    /// The name of the format's rule that the file broke, or "".
    rule: [:0]const u8,
    /// The number of the system's error, or 0.
    os_error: i32,
};

pub fn lastFailure() Failure {
    return .{
        .message = std.mem.span(c.zt_last_error()),
        .rule = std.mem.span(c.zt_last_error_rule()),
        .os_error = c.zt_last_os_error(),
    };
}

/// Sets the reason for the failure of a function that C called. The message of the failing call ends with it.
pub fn setLastError(message: [:0]const u8) void {
    c.zt_set_last_error(message);
}

const statuses = .{
    .{ c.ZT_ERROR_INVALID_ARGUMENT, error.InvalidArgument },
    .{ c.ZT_ERROR_IO, error.Io },
    .{ c.ZT_ERROR_NO_FILE, error.NoFile },
    .{ c.ZT_ERROR_NOT_FOUND, error.NotFound },
    .{ c.ZT_ERROR_UNKNOWN_CONTAINER, error.UnknownContainer },
    .{ c.ZT_ERROR_CORRUPT, error.Corrupt },
    .{ c.ZT_ERROR_DIGEST_MISMATCH, error.DigestMismatch },
    .{ c.ZT_ERROR_UNSUPPORTED, error.Unsupported },
    .{ c.ZT_ERROR_LIMIT, error.Limit },
    .{ c.ZT_ERROR_BUFFER_SIZE, error.BufferSize },
    .{ c.ZT_ERROR_NOT_MAPPABLE, error.NotMappable },
    .{ c.ZT_ERROR_STATE, error.State },
    .{ c.ZT_ERROR_EXISTS, error.Exists },
    .{ c.ZT_ERROR_CANCELLED, error.Cancelled },
    .{ c.ZT_ERROR_TIMEOUT, error.Timeout },
    .{ c.ZT_ERROR_BUSY, error.Busy },
    .{ c.ZT_ERROR_OUT_OF_MEMORY, error.OutOfMemory },
    .{ c.ZT_ERROR_INTERNAL, error.Internal },
};

pub fn check(status: c.zt_status) Error!void {
    if (status == c.ZT_OK) return;
    inline for (statuses) |row| if (status == row[0]) return row[1];
    return error.Internal;
}

/// The status for an error, for functions that C calls.
pub fn statusOf(failure: Error) c.zt_status {
    inline for (statuses) |row| if (failure == row[1]) return row[0];
    unreachable;
}

/// The name of an error's status, "ZT_ERROR_CORRUPT".
pub fn statusName(failure: Error) [:0]const u8 {
    return std.mem.span(c.zt_status_name(statusOf(failure)));
}

/// A struct of the interface with struct_size set and zeros, the defaults, elsewhere.
pub fn sized(comptime T: type) T {
    var made = std.mem.zeroes(T);
    made.struct_size = @sizeOf(T);
    return made;
}

/// A struct that a function fills.
pub fn filled(comptime T: type, comptime function: anytype, arguments: anytype) Error!T {
    var made = sized(T);
    try check(@call(.auto, function, arguments ++ .{&made}));
    return made;
}

pub fn text(pointer: [*c]const u8) ?[:0]const u8 {
    return if (pointer == null) null else std.mem.span(@as([*:0]const u8, @ptrCast(pointer)));
}

/// Borrowed bytes.
pub fn borrowed(data: ?*const anyopaque, size: usize) []const u8 {
    return if (size == 0) &.{} else @as([*]const u8, @ptrCast(data.?))[0..size];
}

/// A name and its length. An empty name is NUL-terminated.
pub fn start(name: []const u8) [*c]const u8 {
    return if (name.len == 0) "" else name.ptr;
}
