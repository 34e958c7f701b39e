//! Loads: into the caller's memory, with small slots, and stopped early.
const std = @import("std");
const zt = @import("ztensor.zig");
const c = zt.c;
const expect = std.testing.expect;
const equal = std.testing.expectEqual;
const expectError = std.testing.expectError;

const path = "loaded-by-zig-test.zt";
const sizes = [_]usize{ 0, 1, 4096, 300000, 100, 65537, 1000000, 5 };

fn byteOf(i: usize, at: usize) u8 {
    return @truncate(at *% 7 +% (at >> 8) +% i);
}

fn write() !void {
    const w = try zt.Writer.create(path, zt.sized(c.zt_write_options));
    for (sizes, 0..) |size, i| {
        const content = try std.testing.allocator.alloc(u8, size);
        defer std.testing.allocator.free(content);
        for (content, 0..) |*byte, at| byte.* = byteOf(i, at);
        try w.dense(u8, &.{@intCast('a' + i)}, &.{size}, content);
    }
    _ = try w.finish();
}

fn requestsOf(file: zt.File) [sizes.len]c.zt_read_request {
    var requests: [sizes.len]c.zt_read_request = undefined;
    for (&requests, 0..) |*request, i| {
        request.* = zt.sized(c.zt_read_request);
        request.component = file.at(i).?.find("data").?.handle;
        request.length = c.ZT_WHOLE;
        request.tag = i;
    }
    return requests;
}

fn receiveAll(requests: []const c.zt_read_request, options: c.zt_load_options) !void {
    var load = try zt.Load.start(requests, options);
    var got = [_]usize{0} ** sizes.len;
    var ended: usize = 0;
    while (try load.next()) |one| {
        const bytes = try one.bytes();
        const i = one.event.tag;
        for (bytes, one.event.offset..) |byte, at| try equal(byteOf(i, at), byte);
        got[i] += bytes.len;
        ended += one.event.last;
    }
    try equal(sizes, got);
    try equal(sizes.len, ended);
    var infos: [2]c.zt_load_part_stats = undefined;
    const read = try load.partStats(0, &infos);
    const stats = try load.finish();
    try equal(@as(usize, 1), read.len);
    try equal(stats.stored_bytes, read[0].stored_bytes);
    try equal(@as(u64, sizes.len), stats.requests);
}

test "loads" {
    defer std.fs.cwd().deleteFile(path) catch {};
    try write();
    const file = try zt.File.open(path);
    defer file.close();
    var requests = requestsOf(file);
    var options = zt.sized(c.zt_load_options);
    options.slot_size = 1 << 16;
    options.slot_count = 2;
    try receiveAll(&requests, options);
    var own: [300000]u8 = undefined;
    requests[3].dst = &own;
    requests[3].dst_size = own.len;
    try receiveAll(&requests, zt.sized(c.zt_load_options));
    for (own, 0..) |byte, at| try equal(byteOf(3, at), byte);

    options.slot_count = 1;
    const load = try zt.Load.start(requests[6..7], options);
    const held = (try load.wait(-1)).?;
    try expectError(error.Timeout, load.wait(0)); // the only slot is in use
    load.release(held);
    load.release((try load.wait(-1)).?);
    try load.cancel();
    try expectError(error.Cancelled, load.wait(-1));
    try expectError(error.Cancelled, load.finish());
    options.slot_size = 1;
    try expectError(error.InvalidArgument, zt.Load.start(&requests, options));
}
