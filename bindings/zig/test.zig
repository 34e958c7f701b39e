const std = @import("std");
const zt = @import("ztensor.zig");
const expect = std.testing.expect;
const equal = std.testing.expectEqual;

const data = "../../tests/data/";

test {
    _ = @import("test_files.zig");
    _ = @import("test_load.zig");
    _ = @import("test_writing.zig");
}

test "every dtype of a released file" {
    const file = try zt.File.open(data ++ "v1.2/py-1.2.3-all-dtypes.zt");
    defer file.close();
    try equal(@as(usize, 13), file.len());
    for (0..file.len()) |i| {
        const object = file.at(i).?;
        const part = object.find("data").?;
        const loaded = try part.load();
        defer loaded.free();
        const read = try std.testing.allocator.alloc(u8, part.size());
        defer std.testing.allocator.free(read);
        try part.read(read);
        try std.testing.expectEqualSlices(u8, read, try part.bytes());
        try std.testing.expectEqualSlices(u8, read, loaded.bytes());
        try equal(object.handle, file.find(object.name()).?.handle);
        if (part.dtype() == zt.c.ZT_DTYPE_U64) {
            try equal(part.size() / 8, (try part.elements(u64)).len);
        } else {
            try std.testing.expectError(error.InvalidArgument, part.elements(u64));
        }
    }
}

test "written, read, sliced, converted, appended" {
    const path = "written-by-zig-test.zt";
    defer std.fs.cwd().deleteFile(path) catch {};
    var options = zt.sized(zt.c.zt_write_options);
    options.digest = zt.c.ZT_DIGEST_CRC32C;
    const w = try zt.Writer.create(path, options);
    try w.dense(f32, "a", &.{ 2, 2 }, &.{ 1, 2, 3, 4 });
    try w.dense(i16, "empty", &.{0}, &.{});
    try w.dense(f16, "scalar", &.{}, &.{1.5});
    try std.testing.expectError(error.Exists, w.dense(f32, "a", &.{1}, &.{1}));
    _ = try w.finish();
    {
        const file = try zt.File.open(path);
        defer file.close();
        const a = file.find("a").?;
        try std.testing.expectEqualSlices(u64, &.{ 2, 2 }, a.shape());
        try std.testing.expectEqualSlices(f32, &.{ 1, 2, 3, 4 }, try a.find("data").?.elements(f32));
        var wide: [5]f64 = undefined;
        try equal(@as(u64, 32), try a.sizeAs(zt.c.ZT_DTYPE_F64));
        try std.testing.expectEqualSlices(f64, &.{ 1, 2, 3, 4 }, try a.readAs(f64, &wide));
        var column: [2]f32 = undefined;
        try a.readSlice(&.{ 0, 1 }, &.{ 2, 1 }, null, std.mem.sliceAsBytes(&column));
        try equal(@as(f32, 4), column[1]);
        try std.testing.expectError(error.InvalidArgument, a.readSlice(&.{0}, &.{1}, null, std.mem.sliceAsBytes(&column)));
        var one = zt.sized(zt.c.zt_verify_options);
        one.component = a.find("data").?.handle;
        one.checks = zt.c.ZT_VERIFY_REQUIRE_DIGESTS;
        try equal(@as(u64, 1), (try file.verifyWith(one)).digests_verified);
        try equal(@as(u64, 3), (try file.verify()).digests_verified);
        var request = zt.sized(zt.c.zt_read_request);
        request.component = a.find("data").?.handle;
        request.length = zt.c.ZT_WHOLE;
        request.dst = &wide;
        request.dst_size = 16;
        try equal(@as(u64, 16), (try file.readBatch(&.{request}, zt.sized(zt.c.zt_read_options))).bytes);
        try equal(@as(f16, 1.5), (try file.find("scalar").?.find("data").?.elements(f16))[0]);
        try expect(file.find("none") == null and a.find("none") == null and file.at(3) == null);
    }
    const more = try zt.Writer.append(path, options);
    more.abort();
    try equal(@as(usize, 3), (try zt.File.open(path)).len());
    const edits = try zt.Writer.append(path, options);
    try edits.renameObject("scalar", "renamed");
    try edits.removeObject("renamed");
    try std.testing.expectError(error.NotFound, edits.removeObject("scalar"));
    _ = try edits.finish();
    try equal(@as(usize, 2), (try zt.File.open(path)).len());
}

test "elements of a file in memory, however it is aligned and whatever size they say" {
    const path = "elements-by-zig-test.zt";
    defer std.fs.cwd().deleteFile(path) catch {};
    const w = try zt.Writer.create(path, zt.sized(zt.c.zt_write_options));
    try w.csr(i16, "s", .{ 2, 2 }, &.{ 1, 2, 3 }, &.{ 0, 1, 1 }, &.{ 0, 2, 3 });
    try w.csr(f32, "t", .{ 2, 2 }, &.{}, &.{}, &.{ 0, 0, 0 });
    _ = try w.finish();
    var memory: [4096]u8 align(64) = undefined;
    const bytes = try std.fs.cwd().readFile(path, memory[2..]);
    {
        const file = try zt.File.openMemory(bytes, zt.sized(zt.c.zt_open_options));
        defer file.close();
        const s = try file.find("s").?.csr();
        try std.testing.expectEqualSlices(i16, &.{ 1, 2, 3 }, try zt.elementsOf(i16, s.values));
        try equal(@as(usize, 0), (try zt.elementsOf(f32, (try file.find("t").?.csr()).values)).len);
    }
    const dtype = std.mem.indexOf(u8, bytes, "i16").?;
    @memcpy(bytes[dtype .. dtype + 3], "i64");
    std.mem.copyForwards(u8, memory[0..bytes.len], bytes);
    const file = try zt.File.openMemory(memory[0..bytes.len], zt.sized(zt.c.zt_open_options));
    defer file.close();
    const part = file.find("s").?.find("values").?;
    try equal(@as(u64, 6), part.size());
    try std.testing.expectError(error.InvalidArgument, part.elements(i64));
}

test "failures are errors with a message" {
    try std.testing.expectError(error.Corrupt, zt.File.open(data ++ "invalid/offset-align-8.zt"));
    try expect(std.mem.indexOf(u8, zt.lastFailure().message, "offset 8 is not a multiple of 64") != null);
    try expect(zt.lastFailure().rule.len > 0 and zt.lastFailure().os_error == 0);
    try std.testing.expectError(error.NoFile, zt.File.open("no such file"));
    try expect(zt.lastFailure().os_error != 0);
    try std.testing.expectEqualStrings("ZT_ERROR_NO_FILE", zt.statusName(error.NoFile));
    try expect(zt.abiVersion() == zt.c.ZT_ABI_VERSION and std.mem.startsWith(u8, zt.version(), "1.0"));
}
