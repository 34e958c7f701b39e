//! zTensor .zt files, and the other containers that libztensor reads. Errors are an error set, bytes are
//! slices. This module does not allocate.
//!
//! Borrowed memory (names, shapes, mapped bytes, values) is valid until the file's `close`. `lastFailure()`
//! describes the thread's last error. ztensor.h is the manual. `c` is its complete interface, and options are
//! its structs: `sized(c.zt_open_options)` has the defaults.

const base = @import("c.zig");
const files = @import("file.zig");
const objects = @import("object.zig");
const loads = @import("load.zig");
const writers = @import("writer.zig");

pub const c = base.c;
pub const Error = base.Error;
pub const Failure = base.Failure;
pub const lastFailure = base.lastFailure;
pub const setLastError = base.setLastError;
pub const statusName = base.statusName;
pub const sized = base.sized;

pub const File = files.File;
pub const repair = files.repair;
pub const Object = objects.Object;
pub const Component = objects.Component;
pub const Buffer = objects.Buffer;
pub const elementsOf = objects.elementsOf;
pub const Value = @import("value.zig").Value;
pub const Writer = writers.Writer;
pub const Part = writers.Part;
pub const Attribute = writers.Attribute;
pub const Cache = @import("cache.zig").Cache;
pub const Load = loads.Load;
pub const LoadEvent = loads.LoadEvent;
pub const types = @import("types.zig");
pub const BF16 = types.BF16;
pub const callbacks = @import("callbacks.zig");

/// The version of the loaded library.
pub fn version() [:0]const u8 {
    return base.text(c.zt_version()).?;
}
/// The expected value of c.ZT_ABI_VERSION.
pub fn abiVersion() u32 {
    return c.zt_abi_version();
}
