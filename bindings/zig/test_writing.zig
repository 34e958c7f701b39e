//! Objects of all formats, in pieces, copied, edited; attributes; sinks and sources; DLPack.
const std = @import("std");
const zt = @import("ztensor.zig");
const c = zt.c;
const expect = std.testing.expect;
const equal = std.testing.expectEqual;
const expectError = std.testing.expectError;

const Memory = struct {
    list: std.ArrayList(u8),
    full: bool = false,
    ended: usize = 0,

    pub fn write(self: *Memory, data: []const u8) zt.Error!void {
        if (self.full) return error.Limit;
        self.list.appendSlice(data) catch return error.OutOfMemory;
    }
    pub fn close(self: *Memory) void {
        self.ended += 1;
    }
    pub fn size(self: *Memory) zt.Error!u64 {
        return self.list.items.len;
    }
    pub fn readAt(self: *Memory, offset: u64, dst: []u8) zt.Error!void {
        if (self.full) return error.NotFound;
        @memcpy(dst, self.list.items[@intCast(offset)..][0..dst.len]);
    }
    pub fn readMany(self: *Memory, ranges: []const c.zt_source_range) zt.Error!void {
        for (ranges) |range| try self.readAt(range.offset, @as([*]u8, @ptrCast(range.dst.?))[0..range.size]);
    }
};

test "written to a sink, read from a source" {
    var memory = Memory{ .list = .init(std.testing.allocator) };
    defer memory.list.deinit();
    const w = try zt.Writer.toSink(zt.callbacks.sink(Memory, &memory), zt.sized(c.zt_write_options));
    try w.csr(f64, "csr", .{ 2, 4 }, &.{ 1, 2, 3 }, &.{ 0, 3, 1 }, &.{ 0, 2, 3 });
    try w.coo(f32, "coo", &.{ 2, 4 }, &.{5}, &.{ 1, 3 });
    try expectError(error.Corrupt, w.coo(f32, "bad", &.{ 2, 4 }, &.{5}, &.{ 1, 4 }));
    try expectError(error.InvalidArgument, w.csr(f64, "bad", .{ 2, 4 }, &.{1}, &.{1}, &.{0}));
    var quantized = zt.sized(c.zt_quantized_desc);
    const weights = [_]u32{ 1, 2 };
    const scales = [_]f16{ 1, 1 };
    quantized.bits = 4;
    quantized.group_size = 8;
    quantized.packed_weight = &weights;
    quantized.packed_weight_size = @sizeOf(@TypeOf(weights));
    quantized.packed_weight_dtype = c.ZT_DTYPE_U32;
    quantized.scales = &scales;
    quantized.scales_size = @sizeOf(@TypeOf(scales));
    quantized.scales_dtype = c.ZT_DTYPE_F16;
    try w.quantized("q", &.{ 2, 8 }, quantized);
    try w.beginObject("pieces", c.ZT_FORMAT_DENSE, &.{4});
    try w.setAttribute("pieces", "unit", .{ .string = "m" });
    try w.addComponent(.{ .role = "data", .dtype = c.ZT_DTYPE_U8, .data = &.{} });
    try w.addData("ab");
    try w.addData("cd");
    try w.endObject();
    var request = zt.sized(c.zt_write_request);
    const shape = [_]u64{2};
    request.name = "n\x00n";
    request.name_length = 3;
    request.shape = &shape;
    request.rank = 1;
    request.data = &weights;
    request.size = 8;
    request.dtype = c.ZT_DTYPE_U32;
    try w.batch(&.{request});
    try equal(@as(u64, 5), (try w.finish()).objects);
    try equal(@as(usize, 1), memory.ended);

    var source = zt.callbacks.source(Memory, &memory);
    source.concurrency = 2;
    const file = try zt.File.openSource(source, zt.sized(c.zt_open_options));
    const csr = try file.find("csr").?.csr();
    try equal(@as(f64, 3), (try zt.elementsOf(f64, csr.values))[2]);
    try equal(@as(u64, 3), (try zt.elementsOf(u64, csr.indices))[1]);
    try expectError(error.InvalidArgument, zt.elementsOf(f32, csr.values));
    try equal(@as(u64, 1), (try file.find("coo").?.coo()).nnz);
    try equal(@as(u64, 4), (try file.find("q").?.quantized()).bits);
    try expectError(error.Unsupported, file.find("pieces").?.csr());
    try std.testing.expectEqualStrings("m", try file.find("pieces").?.attributes().?.find("unit").?.get([]const u8));
    try std.testing.expectEqualStrings("n\x00n", file.find("n\x00n").?.name());
    try expectError(error.NotMappable, file.bytes(0));
    memory.full = true;
    var some: [4]u8 = undefined;
    try expectError(error.NotFound, file.find("pieces").?.find("data").?.read(&some));
    file.close();
    try equal(@as(usize, 2), memory.ended);
    try expectError(error.Limit, zt.Writer.toSink(zt.callbacks.sink(Memory, &memory), zt.sized(c.zt_write_options)));
    try equal(@as(usize, 3), memory.ended);
}

test "attributes of every kind, edited and copied" {
    const path = "edited-by-zig-test.zt";
    const twin = "copied-by-zig-test.zt";
    defer std.fs.cwd().deleteFile(path) catch {};
    defer std.fs.cwd().deleteFile(twin) catch {};
    const w = try zt.Writer.create(path, zt.sized(c.zt_write_options));
    try w.setAttribute(null, "null", .null);
    try w.setAttribute(null, "bool", .{ .bool = true });
    try w.setAttribute(null, "i64", .{ .i64 = -5 });
    try w.setAttribute(null, "u64", .{ .u64 = std.math.maxInt(u64) });
    try w.setAttribute(null, "f64", .{ .f64 = 0.5 });
    try w.setAttribute(null, "k\x00", .{ .string = "" });
    try w.setAttribute(null, "bytes", .{ .bytes = "\x00\xff" });
    try w.setAttribute(null, "json", .{ .json = "{\"$tag\":[7,[1,2]]}" });
    try w.setAttribute(null, "numbers", zt.Attribute.numbers(f32, &.{ 0.5, 1 }));
    try w.setAttribute(null, "strings", .{ .strings = &.{ "one", "two" } });
    try w.setAttribute(null, "gone", .{ .i64 = 1 });
    try w.setAttribute(null, "gone", .remove);
    try expectError(error.NotFound, w.setAttribute(null, "gone", .remove));
    for ([_][]const u8{ "a", "b", "c" }) |name| try w.dense(f32, name, &.{2}, &.{ 1, 2 });
    _ = try w.finish();

    const edits = try zt.Writer.append(path, zt.sized(c.zt_write_options));
    try edits.removeObject("a");
    try edits.dense(f32, "a", &.{1}, &.{9});
    try edits.renameObject("b", "b\x00b");
    try edits.setAttribute("c", "unit", .{ .string = "m" });
    try edits.setAttribute("c", "gone", .{ .bool = false });
    try edits.setAttribute("c", "gone", .remove);
    try expectError(error.NotFound, edits.removeObject("b"));
    _ = try edits.finish();

    const file = try zt.File.open(path);
    defer file.close();
    const all = file.attributes().?;
    try expect(all.len() == 10 and all.find("gone") == null and all.find("null").?.kind() == c.ZT_VALUE_KIND_NULL);
    try expect((try all.find("i64").?.get(i64)) == -5 and (try all.find("k\x00").?.get([]const u8)).len == 0);
    try expect((try all.find("json").?.tag()) == 7 and all.find("json").?.at(0).?.len() == 2);
    try std.testing.expectEqualStrings("two", try all.find("strings").?.at(1).?.get([]const u8));
    try expect(file.find("b") == null and file.find("b\x00b") != null and file.find("a").?.shape()[0] == 1);
    try equal(@as(usize, 1), file.find("c").?.attributes().?.len());

    const copies = try zt.Writer.create(twin, zt.sized(c.zt_write_options));
    try copies.copyAttributes(file);
    try copies.setAttribute(null, "again", .{ .value = all.find("numbers").? });
    try copies.copy(file.find("c").?, null);
    try copies.copy(file.find("c").?, "d\x00d");
    var as_half = zt.sized(c.zt_copy_options);
    as_half.encoding = c.ZT_ENCODING_ZSTD;
    as_half.digest = c.ZT_DIGEST_SHA256;
    as_half.dtype = c.ZT_DTYPE_F16;
    try copies.copyWith(file.find("c").?, "half", as_half);
    const tensor = try file.find("c").?.toDlpack();
    try copies.dlpack("by dlpack", tensor);
    const flat = try file.find("c").?.find("data").?.toDlpack();
    const old = try file.find("c").?.toDlpackUnversioned();
    try copies.dlpackUnversioned("by old dlpack", old);
    inline for (.{ .{ tensor, 16 }, .{ flat, 16 }, .{ old, 56 } }) |row| {
        const place: *const *const fn (*anyopaque) callconv(.c) void = @ptrFromInt(@intFromPtr(row[0]) + row[1]);
        place.*(row[0]);
    }
    try equal(@as(u64, 5), (try copies.finish()).objects);
    const copied = try zt.File.open(twin);
    defer copied.close();
    try equal(@as(usize, 11), copied.attributes().?.len());
    try equal(@as(c.zt_dtype, c.ZT_DTYPE_F16), copied.find("half").?.find("data").?.dtype());
    try expect(copied.find("d\x00d").?.find("data\x00") == null);
    try std.testing.expectEqualSlices(f32, &.{ 1, 2 }, try copied.find("by dlpack").?.find("data").?.elements(f32));
}
