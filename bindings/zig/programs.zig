//! list FILE; read FILE NAME; write FILE: three commands in one program.
const std = @import("std");
const zt = @import("ztensor.zig");

pub fn main() !void {
    var arena = std.heap.ArenaAllocator.init(std.heap.page_allocator);
    defer arena.deinit();
    const args = try std.process.argsAlloc(arena.allocator());
    const out = std.io.getStdOut().writer();
    if (std.mem.eql(u8, args[1], "list")) return list(out, args[2]);
    if (std.mem.eql(u8, args[1], "read")) return read(out, args[2], args[3]);
    return write(args[2]);
}

fn list(out: anytype, path: [:0]const u8) !void {
    const file = try zt.File.open(path);
    defer file.close();
    try out.print("zTensor {s}, {d} objects\n", .{ file.version(), file.len() });
    for (0..file.len()) |i| {
        const object = file.at(i).?;
        try out.print("{s}: {s} [", .{ object.name(), object.formatName() });
        for (object.shape(), 0..) |n, d| try out.print("{s}{d}", .{ if (d == 0) "" else ", ", n });
        try out.print("]\n", .{});
        for (0..object.len()) |k| {
            const part = object.at(k).?;
            try out.print("  {s}: {s} {s} {s} {d} bytes, {s}\n", .{
                part.role(),                      part.dtypeName(), part.typeName() orelse "-", part.encodingName(), part.size(),
                part.digest() orelse "no digest",
            });
        }
    }
}

fn read(out: anytype, path: [:0]const u8, name: [:0]const u8) !void {
    const file = try zt.File.open(path);
    defer file.close();
    const object = file.find(name) orelse return error.NotFound;
    for (0..object.len()) |k| {
        const part = object.at(k).?;
        const loaded = try part.load();
        defer loaded.free();
        var sum: u64 = 0;
        for (loaded.bytes()) |b| sum += b;
        const first = std.fmt.fmtSliceHexLower(loaded.bytes()[0..8]);
        try out.print("{s}: {d} bytes, sum {d}, first {}\n", .{ part.role(), loaded.bytes().len, sum, first });
    }
}

fn write(path: [:0]const u8) !void {
    const w = try zt.Writer.create(path, zt.sized(zt.c.zt_write_options));
    errdefer w.abort();
    try w.setAttribute(null, "producer", .{ .string = "bindings" });
    try w.setAttribute(null, "layers", .{ .i64 = 3 });
    try w.dense(f32, "weight", &.{ 2, 3 }, &.{ 0, 0.5, 1, 1.5, 2, 2.5 });
    try w.dense(zt.BF16, "half", &.{4}, @ptrCast(&[_]u16{ 0x3f80, 0x4000, 0x4040, 0x4080 }));
    var numbers: [1000]i32 = undefined;
    for (&numbers, 0..) |*n, i| n.* = @intCast(i % 7);
    var packed_part = zt.Part.of(i32, "data", &numbers);
    packed_part.encoding = zt.c.ZT_ENCODING_ZSTD;
    packed_part.digest = zt.c.ZT_DIGEST_SHA256;
    try w.object("packed", zt.c.ZT_FORMAT_DENSE, &.{1000}, &.{packed_part});
    try w.object("sparse", zt.c.ZT_FORMAT_SPARSE_CSR, &.{ 2, 4 }, &.{
        zt.Part.of(f64, "values", &.{ 1, 2, 3 }),
        zt.Part.of(u64, "indices", &.{ 0, 3, 1 }),
        zt.Part.of(u64, "indptr", &.{ 0, 2, 3 }),
    });
    _ = try w.finish();
}
