//! Containers, models, lists, values, failures, progress, hooks, sources.
const std = @import("std");
const zt = @import("ztensor.zig");
const c = zt.c;
const expect = std.testing.expect;
const equal = std.testing.expectEqual;
const expectError = std.testing.expectError;

const data = "../../tests/data/";

test "every container" {
    var text: [4096]u8 = undefined;
    const table = try std.fs.cwd().readFile("../golden/containers.txt", &text);
    var lines = std.mem.tokenizeScalar(u8, table, '\n');
    var seen: usize = 0;
    while (lines.next()) |line| : (seen += 1) {
        var fields = std.mem.splitScalar(u8, line, '\t');
        var path_buffer: [256]u8 = undefined;
        const path = try std.fmt.bufPrintZ(&path_buffer, data ++ "{s}", .{fields.next().?});
        const file = try zt.File.open(path);
        defer file.close();
        const is = (try file.part(0)).container;
        try std.testing.expectEqualStrings(fields.next().?, zt.types.containerName(is).?);
        try equal(try std.fmt.parseInt(usize, fields.next().?, 10), file.len());
        var objects: [64]c.zt_object_info = undefined;
        try equal(file.len(), (try file.listObjects(0, &objects)).len);
        try equal(file.len() - 1, (try file.listObjects(1, &objects)).len);
        try equal(file.at(1 % file.len()).?.handle, objects[0].object orelse file.at(0).?.handle);
        var components: [64]c.zt_component_info = undefined;
        const listed = try file.listComponents(null, 0, &components);
        try equal((try file.verify()).components, listed.len);
        for (listed) |info| {
            const part = zt.Component{ .handle = info.component.? };
            try std.testing.expectEqualStrings(part.role(), info.role[0..info.role_length]);
            try expect(part.offset() == info.offset and part.storedSize() == info.stored_size and part.size() == info.size);
            try expect(part.dtype() == info.dtype and part.logicalType() == info.type and part.encoding() == info.encoding and part.part() == info.part);
        }
        try equal(file.at(0).?.len(), (try file.listComponents(file.at(0), 0, &components)).len);
        var options = zt.sized(c.zt_open_options);
        options.containers = (@as(u32, 2) << c.ZT_CONTAINER_TORCH) - 2 & ~(@as(u32, 1) << @intCast(is));
        try expectError(error.Unsupported, zt.File.openWith(path, options));
    }
    try equal(@as(usize, 10), seen);
}

test "types and blocks" {
    try expect(try zt.types.ggmlNumber(c.ZT_DTYPE_U8, c.ZT_TYPE_GGUF_Q4_0) == 2);
    try expect((try zt.types.fromGgml(30)).dtype == c.ZT_DTYPE_BF16);
    const q4 = try zt.types.blockOf(c.ZT_TYPE_GGUF_Q4_0);
    try expect(q4.elements == 32 and q4.bytes == 18);
    try expectError(error.InvalidArgument, zt.types.blockOf(c.ZT_TYPE_NONE));
    try equal(@as(c.zt_dtype, c.ZT_DTYPE_BF16), try zt.types.dtypeFromName(zt.types.dtypeName(c.ZT_DTYPE_BF16).?));
    try equal(@as(c.zt_type, c.ZT_TYPE_F4_E2M1), try zt.types.typeFromName(zt.types.typeName(c.ZT_TYPE_F4_E2M1).?));
    try expect(zt.types.dtypeSize(c.ZT_DTYPE_I16) == 2 and zt.types.dtypeName(0) == null);
    try std.testing.expectEqualStrings("zstd", zt.types.encodingName(c.ZT_ENCODING_ZSTD).?);
    try std.testing.expectEqualStrings("dense", zt.types.formatName(c.ZT_FORMAT_DENSE).?);
    const file = try zt.File.open(data ++ "foreign/valid/amber-all-types-py.gguf");
    defer file.close();
    const blocks = file.find("amber.q4_0.2").?;
    try std.testing.expectEqualStrings("gguf.q4_0/1", blocks.formatName());
    try expect(blocks.format() == c.ZT_FORMAT_BLOCKS and blocks.elementCount() == 64 and blocks.find("data").?.size() == 36);
}

test "a model of shards" {
    const model = try zt.File.openModel(data ++ "foreign/valid/amber-hf-sharded", zt.sized(c.zt_open_options));
    defer model.close();
    try expect(model.partCount() == 3 and model.len() == 12 and model.at(11).?.find("data").?.part() == 2);
    var total: u64 = 0;
    var paths: [3][*:0]const u8 = undefined;
    for (0..3) |i| {
        const part = try model.part(i);
        const alone = try zt.File.open(std.mem.span(@as([*:0]const u8, part.path)));
        defer alone.close();
        try equal((try alone.identity()).manifest_hash, (try model.partIdentity(i)).manifest_hash);
        try std.testing.expectEqualSlices(u8, try alone.bytes(0), try model.bytes(i));
        total += part.size;
        paths[i] = part.path;
    }
    try equal(total, (try model.identity()).size);
    const same = try zt.File.openParts(&paths, zt.sized(c.zt_open_options));
    defer same.close();
    try equal((try same.identity()).manifest_hash, (try model.identity()).manifest_hash);
    try expectError(error.InvalidArgument, model.partIdentity(3));
    try expectError(error.InvalidArgument, model.part(3));
}

const Folder = struct {
    path: []const u8,
    files: [8]Shard = undefined,
    count: std.atomic.Value(usize) = .init(0),

    const Shard = struct {
        file: std.fs.File,
        pub fn size(self: *Shard) zt.Error!u64 {
            return self.file.getEndPos() catch error.Io;
        }
        pub fn readAt(self: *Shard, offset: u64, dst: []u8) zt.Error!void {
            const n = self.file.preadAll(dst, offset) catch return error.Io;
            if (n != dst.len) return error.Io;
        }
        pub fn close(self: *Shard) void {
            self.file.close();
        }
    };
    pub fn open(self: *Folder, name: [:0]const u8) zt.Error!c.zt_source {
        var buffer: [256]u8 = undefined;
        const path = std.fmt.bufPrint(&buffer, "{s}/{s}", .{ self.path, name }) catch return error.Internal;
        const file = std.fs.cwd().openFile(path, .{}) catch {
            zt.setLastError("no such shard");
            return error.NoFile;
        };
        const shard = &self.files[self.count.fetchAdd(1, .seq_cst)];
        shard.* = .{ .file = file };
        return zt.callbacks.source(Shard, shard);
    }
    pub fn list(_: *Folder, folder: [:0]const u8, names: zt.callbacks.Names) zt.Error!void {
        if (folder.len != 0) return error.NotFound;
        for ([_][:0]const u8{ "model.safetensors.index.json", "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors" }) |name| try names.add(name);
    }
};

test "a model that functions open" {
    for ([_][:0]const u8{ "model.safetensors.index.json", "" }) |name| {
        var folder = Folder{ .path = data ++ "foreign/valid/amber-hf-sharded" };
        const model = try zt.File.openModelFrom(zt.callbacks.store(Folder, &folder), name, zt.sized(c.zt_open_options));
        defer model.close();
        try expect(model.partCount() == 3 and model.len() == 12);
    }
    var folder = Folder{ .path = data ++ "foreign/valid/amber-hf-sharded" };
    try expectError(error.NoFile, zt.File.openModelFrom(zt.callbacks.store(Folder, &folder), "none", zt.sized(c.zt_open_options)));
    try expect(std.mem.indexOf(u8, zt.lastFailure().message, "no such shard") != null);
}

test "a cache" {
    const model = try zt.File.openModel(data ++ "foreign/valid/amber-hf-sharded", zt.sized(c.zt_open_options));
    defer model.close();
    var options = zt.sized(c.zt_cache_options);
    options.slot_size = 1 << 16;
    options.budget = 1 << 20;
    const cache = try zt.Cache.create(options);
    defer cache.free();
    var slices: [12]c.zt_read_request = undefined;
    for (&slices, 0..) |*slice, i| {
        slice.* = zt.sized(c.zt_read_request);
        slice.component = model.at(i).?.find("data").?.handle;
        slice.length = c.ZT_WHOLE;
    }
    try cache.prefetch(&slices);
    for (&slices) |*slice| {
        var pin = try cache.get(slice, -1);
        try std.testing.expectEqualSlices(u8, try (zt.Component{ .handle = slice.component.? }).bytes(), pin.bytes());
        try pin.unpin();
    }
    const stats = try cache.stats();
    try expect(stats.pinned == 0 and stats.hits + stats.joined + stats.misses == 12);
    try cache.cancel();
    try cache.drop(&.{});
    try equal(@as(u64, 0), (try cache.stats()).used);
    options.budget = 1;
    try expectError(error.Limit, zt.Cache.create(options));
}

test "values, one by one and in bulk" {
    const file = try zt.File.open(data ++ "foreign/valid/amber-kv-all-le3.gguf");
    defer file.close();
    const all = file.attributes().?;
    try expect(all.kind() == c.ZT_VALUE_KIND_MAP and all.len() > 20 and all.find("none") == null and all.at(all.len()) == null);
    try std.testing.expectEqualStrings("amber.u8", try all.keyAt(0).?.get([]const u8));
    try equal(@as(u64, 255), try all.at(0).?.get(u64));
    try equal(@as(i64, -128), try all.find("amber.i8").?.get(i64));
    try equal(@as(u64, std.math.maxInt(u64)), try all.find("amber.u64").?.get(u64));
    try expect(try all.find("amber.bool_t").?.get(bool) and (try all.find("amber.f64").?.get(f64)) == 0);
    try std.testing.expectEqualStrings("\xff\xfe\x80abc", try all.find("str.not_utf8").?.bytes());
    try expectError(error.InvalidArgument, all.find("amber.u64").?.get(i64));
    try expectError(error.InvalidArgument, all.find("amber.u64").?.tag());
    const small = all.find("arr.u16").?;
    try equal(@as(c.zt_dtype, c.ZT_DTYPE_U16), small.dtype());
    var numbers: [2]u16 = undefined;
    try small.readNumbers(u16, &numbers);
    try equal([2]u16{ 0, 65535 }, numbers);
    var narrow: [2]u8 = undefined;
    try expectError(error.InvalidArgument, small.readNumbers(u8, &narrow));
    var buffer: [64]u8 = undefined;
    try std.testing.expectEqualStrings("[0,65535]", try small.json(&buffer));
    try equal(@as(usize, 10), try small.jsonSize());
    try expectError(error.BufferSize, small.json(buffer[0..3]));
    const words = try zt.File.open(data ++ "foreign/valid/amber-vocab.gguf");
    defer words.close();
    const tokens = words.attributes().?.find("tokenizer.ggml.tokens").?;
    const starts = try std.testing.allocator.alloc([*c]const u8, tokens.len());
    defer std.testing.allocator.free(starts);
    const lengths = try std.testing.allocator.alloc(usize, tokens.len());
    defer std.testing.allocator.free(lengths);
    try tokens.readStrings(starts, lengths);
    try std.testing.expectEqualStrings("</s>", starts[2][0..lengths[2]]);
}

/// Functions that C calls in these tests.
const Watcher = struct {
    stop_at: usize = std.math.maxInt(usize),
    steps: usize = 0,
    broken: usize = 0,
    requests: usize = 0,
    threads: std.atomic.Value(usize) = .init(0),

    pub fn progress(self: *Watcher, now: u64, total: u64) bool {
        std.debug.assert(now <= total or total == 0);
        self.steps += 1;
        return self.steps < self.stop_at;
    }
    pub fn failed(self: *Watcher, object: ?*const c.zt_object, component: ?*const c.zt_component, failure: zt.Error, message: []const u8) bool {
        std.debug.assert(object != null and component != null and failure == error.DigestMismatch and message.len > 0);
        self.broken += 1;
        return self.broken < self.stop_at;
    }
    pub fn done(self: *Watcher, tag: u64, result: zt.Error!void, message: []const u8) void {
        result catch @panic("a request failed");
        std.debug.assert(tag == 7 and message.len == 0);
        self.requests += 1;
    }
    pub fn start(self: *Watcher, _: u32) void {
        _ = self.threads.fetchAdd(1, .seq_cst);
    }
    pub fn end(self: *Watcher, _: u32) void {
        _ = self.threads.fetchAdd(1000, .seq_cst);
    }
};

fn written(path: [:0]const u8, bytes: []u8) !void {
    var options = zt.sized(c.zt_write_options);
    options.digest = c.ZT_DIGEST_CRC32C;
    const w = try zt.Writer.create(path, options);
    for ([_][]const u8{ "a", "b", "c" }) |name| try w.dense(u8, name, &.{bytes.len}, bytes);
    _ = try w.finish();
}

test "failures one by one, progress stops everything" {
    const path = "failures-by-zig-test.zt";
    var bytes: [4096]u8 = @splat(3);
    try written(path, &bytes);
    defer std.fs.cwd().deleteFile(path) catch {};
    var watcher = Watcher{ .stop_at = 1 };
    var options = zt.sized(c.zt_open_options);
    options.mode = c.ZT_MODE_READ;
    options.verify = 1;
    options.context = &watcher;
    options.progress = zt.callbacks.progress(Watcher);
    try expectError(error.Cancelled, zt.File.openWith(path, options));
    watcher = .{};
    var file = try zt.File.openWith(path, options);
    try expect(watcher.steps > 0 and file.mode() == c.ZT_MODE_READ);
    watcher = .{ .stop_at = 1 };
    var reading = zt.sized(c.zt_read_options);
    reading.context = &watcher;
    reading.progress = zt.callbacks.progress(Watcher);
    try expectError(error.Cancelled, file.find("a").?.find("data").?.loadWith(reading));
    const unsized = try zt.File.open(data ++ "v1.1/rs-1.1.1-sparse-zstd-digest.zt");
    defer unsized.close();
    const part = unsized.find("coo").?.find("coords").?;
    watcher = .{ .stop_at = 1 };
    try expectError(error.Cancelled, part.measureWith(reading.progress, &watcher));
    watcher = .{};
    try equal(try part.measureWith(reading.progress, &watcher), try part.measure());
    try expect(watcher.steps > 0);
    watcher = .{};
    reading.on_done = zt.callbacks.done(Watcher);
    var request = zt.sized(c.zt_read_request);
    request.component = file.find("a").?.find("data").?.handle;
    request.length = c.ZT_WHOLE;
    request.dst = &bytes;
    request.dst_size = bytes.len;
    request.tag = 7;
    _ = try file.readBatch(&.{request}, reading);
    try expect(watcher.requests == 1 and watcher.steps > 0);
    watcher = .{ .stop_at = 1 };
    var repairing = zt.sized(c.zt_repair_options);
    repairing.context = &watcher;
    repairing.progress = zt.callbacks.progress(Watcher);
    try expectError(error.Cancelled, zt.repair(path, repairing));
    repairing.progress = null;
    try equal(@as(u64, 3), (try zt.repair(path, repairing)).objects);

    const stream = try std.fs.cwd().openFile(path, .{ .mode = .read_write });
    for ([_][]const u8{ "a", "c" }) |name| try stream.pwriteAll("x", file.find(name).?.find("data").?.offset());
    stream.close();
    file.close();
    file = try zt.File.open(path);
    watcher = .{};
    var verifying = zt.sized(c.zt_verify_options);
    verifying.context = &watcher;
    verifying.on_failure = zt.callbacks.failed(Watcher);
    verifying.progress = zt.callbacks.progress(Watcher);
    try expectError(error.DigestMismatch, file.verifyWith(verifying));
    try equal(@as(usize, 2), watcher.broken);
    verifying.object = file.find("a").?.handle;
    try expectError(error.DigestMismatch, file.verifyWith(verifying));
    verifying.object = file.find("b").?.handle;
    try equal(@as(u64, 1), (try file.verifyWith(verifying)).components);
    file.close();
}

test "hooks, budgets, private memory, advice, descriptors" {
    const path = "hooks-by-zig-test.zt";
    const large = try std.testing.allocator.alloc(u8, 8 << 20);
    defer std.testing.allocator.free(large);
    for (large, 0..) |*b, i| b.* = @truncate(i * 31 >> 3);
    var wanted = zt.sized(c.zt_write_options);
    wanted.encoding = c.ZT_ENCODING_ZSTD;
    wanted.threads = 2;
    var watcher = Watcher{};
    var hooks = zt.callbacks.threadHooks(Watcher, &watcher);
    wanted.thread_hooks = &hooks;
    const w = try zt.Writer.create(path, wanted);
    try w.dense(u8, "a", &.{large.len}, large);
    _ = try w.finish();
    defer std.fs.cwd().deleteFile(path) catch {};
    const threads = watcher.threads.load(.seq_cst);
    try expect(threads > 0 and threads % 1000 == threads / 1000);

    const from = std.testing.allocator; // detects leaks, and frees with a wrong size
    var memory = zt.callbacks.allocator(&from);
    var options = zt.sized(c.zt_open_options);
    options.allocator = &memory;
    const file = try zt.File.openWith(path, options);
    const part = file.find("a").?.find("data").?;
    const buffer = try part.load();
    try std.testing.expectEqualSlices(u8, large, buffer.bytes());
    buffer.free();
    try std.testing.expectEqualSlices(u8, large, try zt.elementsOf(u8, std.mem.zeroInit(c.zt_array, .{
        .data = (try file.find("a").?.tensor()).data,
        .size = large.len,
        .dtype = c.ZT_DTYPE_U8,
    })));
    try expect(part.caps() & c.ZT_CAP_MAP == 0 and part.caps() & c.ZT_CAP_READ != 0);
    try part.advise(c.ZT_ADVICE_WILLNEED);
    try expectError(error.InvalidArgument, part.advise(99));
    var some: [3]u8 = undefined;
    try part.readRange(1 << 20, &some);
    try std.testing.expectEqualSlices(u8, large[1 << 20 ..][0..3], &some);
    const stored = try std.testing.allocator.alloc(u8, part.storedSize());
    defer std.testing.allocator.free(stored);
    try part.readStored(stored);
    try expectError(error.BufferSize, part.readStored(stored[1..]));
    const again = file.retain();
    file.close();
    try equal(@as(usize, 1), again.len());
    again.close();

    options = zt.sized(c.zt_open_options);
    options.max_memory = 100;
    try expectError(error.Limit, zt.File.openWith(path, options));
    options.max_memory = 0;
    options.mode = c.ZT_MODE_PRIVATE;
    const own = try zt.File.openWith(path, options);
    defer own.close();
    try equal(@as(c.zt_mode, c.ZT_MODE_PRIVATE), own.mode());
    const whole = @constCast(try own.bytes(0));
    whole[whole.len - 1] +%= 1; // a private page
    const stream = try std.fs.cwd().openFile(path, .{});
    defer stream.close();
    const by_fd = try zt.File.openFd(stream.handle, 0, c.ZT_WHOLE, zt.sized(c.zt_open_options));
    defer by_fd.close();
    try expect((try by_fd.part(0)).path == null and (try by_fd.part(0)).size == (try own.part(0)).size);
    if (@import("builtin").os.tag != .windows)
        try std.testing.expectError(error.Unsupported, zt.File.openHandle(@ptrFromInt(4), 0, c.ZT_WHOLE, zt.sized(c.zt_open_options)));
    const in_memory = try zt.File.openMemory(try by_fd.bytes(0), zt.sized(c.zt_open_options));
    defer in_memory.close();
    try equal(@as(usize, 1), in_memory.len());
}
