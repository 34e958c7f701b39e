# Tests the package on real files, and the files that it writes.
using Test
using ZTensor
const ZT = ZTensor

const DATA = joinpath(@__DIR__, "../../../tests/data")
const FOREIGN = joinpath(DATA, "foreign/valid")
const SHARDS = joinpath(FOREIGN, "amber-hf-sharded")

"The status of a call that fails."
function status(body)
    try
        body()
        return ZT.ZT_OK
    catch e
        return e isa ZT.ZTensorError ? e.status : rethrow()
    end
end
stop(done, total) = false
scratch(body) = mktempdir(folder -> body(joinpath(folder, "file.zt")))

@testset "every container" begin
    for line in eachline(joinpath(@__DIR__, "../../golden/containers.txt"))
        path, is, count = split(line, '\t')
        ZT.open(joinpath(DATA, path)) do f
            kind = ZT.container(f)
            @test ZT.container_name(kind) == is && length(f) == parse(Int, count) == length(collect(f))
            listed, objects = ZT.components(f), ZT.objects(f)
            @test length(objects) == length(f) && length(listed) == ZT.verify(f).components && isempty(ZT.failures(f))
            for i in listed
                c = i.component
                @test (i.role, i.dtype, i.digest, i.part, i.offset, i.stored_size) ==
                      (ZT.role(c), ZT.dtype(c), ZT.digest(c), ZT.part(c), ZT.offset(c), ZT.stored_size(c))
                @test i.logical_type == ZT.logical_type(c) && i.bytes in (nothing, sizeof(c))
            end
            for (i, o) in zip(objects, f)
                @test i.name == ZT.name(o) && i.size == size(o) && i.components == length(ZT.components(f, o)) && i.format == ZT.format(o)
            end
            others = filter(other -> !(other in (:none, kind)), collect(keys(ZT.CONTAINERS)))
            @test status(() -> ZT.open(joinpath(DATA, path); containers = others)) == ZT.ZT_ERROR_UNSUPPORTED
        end
    end
    @test ZT.ggml_number("gguf.q4_0") == 2 && ZT.ggml_number("bf16") == 30 && ZT.ggml_type(39) == "gguf.mxfp4"
    @test ZT.block("gguf.q4_0") == (elements = 32, bytes = 18) && ZT.dtype_size("bf16") == 2
    ZT.open(joinpath(FOREIGN, "amber-all-types-py.gguf")) do f
        q4 = f["amber.q4_0.2"]
        @test ZT.format(q4) === :blocks && ZT.format_name(q4) == "gguf.q4_0/1" && length(q4) == 64 && length(ZT.array(q4["data"])) == 36
    end
    @test ZT.library_version() >= v"1.0"
end

@testset "every dtype of a released file" begin
    ZT.open(joinpath(DATA, "v1.2/py-1.2.3-all-dtypes.zt")) do f
        for o in f
            c = o["data"]
            @test reinterpret(UInt8, vec(ZT.array(o))) == read(c) == ZT.borrowed(c) == read!(c, zeros(UInt8, sizeof(c)))
            @test size(ZT.array(o)) == size(o) && :map in ZT.caps(c)
        end
    end
end

@testset "models" begin
    model = ZT.open_model(SHARDS)
    parts = ZT.parts(model)
    @test length(parts) == 3 && length(model) == 12 && ZT.part(collect(model)[12]["data"]) == 3
    @test filesize(model) == sum(part.size for part in parts)
    for (i, part) in enumerate(parts)
        ZT.open(alone -> (@test ZT.identity(alone) == ZT.identity(model, i) && ZT.borrowed(model, i) == read(part.path)), part.path)
    end
    @test status(() -> ZT.identity(model, 4)) == ZT.ZT_ERROR_INVALID_ARGUMENT
    @test ZT.identity(ZT.open_parts([part.path for part in parts])).manifest_hash == ZT.identity(model).manifest_hash
    targets = [o["data"] => Vector{UInt8}(undef, sizeof(o["data"])) for o in model]
    @test ZT.read_batch(model, targets; threads = 2).requests == 12
    @test all(bytes == read(c) for (c, bytes) in targets)
    source(name) = (content = read(joinpath(SHARDS, name)); ZT.source((at, to) -> copyto!(to, 1, content, at + 1, length(to)), length(content)))
    @test length(ZT.open_model_from(source, "model.safetensors.index.json")) == 12
    @test length(ZT.open_model_from(source, ""; list = _ -> readdir(SHARDS))) == 12
    @test_throws SystemError ZT.open_model_from(source, "none.safetensors")
    close(model)
    @test_throws ArgumentError length(model)
end

@testset "a cache" begin
    model = ZT.open_model(SHARDS)
    cache = ZT.Cache(1 << 20, 1 << 16; policy = :slru)
    slices = [o["data"] for o in model]
    ZT.prefetch(cache, slices)
    @test all(c -> ZT.pinned(copy, cache, c) == read(c), slices)
    stats = ZT.stats(cache)
    @test stats.pinned == 0 && stats.hits + stats.joined + stats.misses == 12
    ZT.cancel(cache)
    ZT.drop(cache)
    @test ZT.stats(cache).used == 0
    close(cache)
    @test status(() -> ZT.Cache(1, 1 << 16)) == ZT.ZT_ERROR_LIMIT
end

"The output of a program, or its error."
function printed(program, file)
    command = `$(Base.julia_cmd()) --startup-file=no -e $program $file`
    return try
        read(pipeline(command; stderr = devnull), String)
    catch e
        string(typeof(e))
    end
end

@testset "arrays are not larger than their bytes" begin
    for (file, name) in (("foreign/valid/amber-float4.pt", "enc.1.norm.gain.21"), ("v2/real/py-zstd.zt", "f4"),
        ("v2/real/py-f4-even-and-odd.zt", "odd"), ("invalid/dense-unknown-type-size.zt", "x"))
        o = ZT.open(joinpath(DATA, file))[name]
        part = o["data"]
        @test_throws ArgumentError ZT.array(o)
        @test_throws Union{ArgumentError,ZT.ZTensorError} ZT.tensor(o)
        @test ZT.array(part) == read(part)
        n = sizeof(part)
        @test_throws ArgumentError ZT.array(part, (n + 1,))
        @test_throws ArgumentError ZT.array(part, (n, 1 << 62, 4))
        @test size(ZT.array(part, (1, n))) == (1, n)
    end
end

@testset "the memory of a file stays until its last reader is done" begin
    scratch() do path
        ZT.create(w -> foreach(i -> ZT.write(w, "t$i", fill(UInt8(i), 2 << 20)), 1:24), path)
        @test printed("""
            using ZTensor
            function made()
                f = ZTensor.open_memory(read(ARGS[1]))
                all = [ZTensor.tensor(f["t3"]), ZTensor.array(f["t4"])]
                close(f)
                return all
            end
            all = made()
            foreach(i -> GC.gc(true), 1:3)
            print(sum(all[1]) + sum(all[2]))
            """, path) == string(7 * (2 << 20))
        @test printed("""
            using ZTensor
            function filled(cache)
                f = ZTensor.open_memory(read(ARGS[1]))
                ZTensor.prefetch(cache, [f["t\$i"]["data"] for i in 1:24])
                close(f)
            end
            cache = ZTensor.Cache(64 << 20, 2 << 20; threads = 1)
            filled(cache)
            foreach(i -> GC.gc(true), 1:3)
            while ZTensor.stats(cache).bytes_read < 24 * (2 << 20) end
            print(ZTensor.stats(cache).failures)
            """, path) == "0"
    end
end

@testset "loads" begin
    scratch() do path
        want = [UInt8[(7at + i) % 256 for at in 1:n] for (i, n) in enumerate([0, 1, 4096, 300000, 100, 65537, 1000000, 5])]
        ZT.create(w -> foreach(((i, content),) -> ZT.write(w, string(i), content), enumerate(want)), path)
        file = ZT.open(path)
        parts = [file[string(i)]["data"] for i in 1:length(want)]
        got = [zeros(UInt8, length(content)) for content in want]
        ended = 0
        ring = zeros(UInt8, 2 << 16)
        for (how, targets) in ((slots = 2, slot_size = 1 << 16) => parts, (slots = 2, slot_size = 1 << 16, ring = ring, order = :largest) => parts,
            NamedTuple() => [i % 2 == 0 ? part => zeros(UInt8, length(want[i])) : part for (i, part) in enumerate(parts)])
            foreach(content -> fill!(content, 0x00), got)
            ZT.Load(targets; how...) do load
                for event in load
                    copyto!(got[event.number], event.offset + 1, event.bytes, 1, length(event.bytes))
                    ended += event.last
                end
                read = ZT.part_stats(load)
                @test length(read) == 1 && read[1].path == path && read[1].stored_bytes == sum(length, want) && !isempty(read[1].reason)
            end
            @test got == want && all(i -> !(targets[i] isa Pair) || targets[i][2] == want[i], eachindex(targets))
        end
        @test ended == 3 * length(want)
        load = ZT.Load(parts[7:7]; slots = 1, slot_size = 1 << 16)
        event = ZT.next_event(load)
        @test event.bytes == want[7][event.offset+1:event.offset+length(event.bytes)] && !event.last
        ZT.cancel(load)
        @test status(() -> collect(load)) == ZT.ZT_ERROR_CANCELLED
        close(load)
        @test_throws ArgumentError ZT.next_event(load)
        @test_throws ArgumentError ZT.Load(parts; slots = 3, slot_size = 1 << 16, ring = ring)
        ZT.create(path; digest = :crc32c) do w
            ZT.write(w, "bad", want[2])
            ZT.write(w, "good", want[3])
        end
        offset = ZT.offset(ZT.open(path)["bad"]["data"])
        Base.open(io -> (seek(io, offset); write(io, map(~, want[2]))), path, "r+")
        broken = ZT.open(path; mode = :read)
        ZT.Load([broken["bad"]["data"], broken["good"]["data"]]; verify = true, keep_going = true) do load
            events = sort([ZT.next_event(load), ZT.next_event(load)]; by = event -> event.number)
            @test events[1].error.status == ZT.ZT_ERROR_DIGEST_MISMATCH && isempty(events[1].bytes) && events[2].error === nothing
            @test status(() -> ZT.next_event(load)) == ZT.ZT_ERROR_DIGEST_MISMATCH
        end
    end
end

@testset "values" begin
    f = ZT.open(joinpath(FOREIGN, "amber-kv-all-le3.gguf"))
    got = ZT.attributes(f)
    @test got["amber.u64"] === typemax(UInt64) && got["amber.i64"] === typemin(Int64) && isnan(got["amber.f32"])
    @test got["str.not_utf8"] == b"\xff\xfe\x80abc" && got["arr.bool"] == [true, false, true] && got["str.nul"] == "a\0b\0"
    @test got["arr.u16"] == UInt16[0, 65535] && got["arr.empty_str"] == []
    tree = ZT.attribute_values(f)
    @test ZT.kind(tree) === :map && ZT.dtype(tree["arr.u16"]) == "u16" && ZT.numbers(tree["arr.u16"], Float32) == [0, 65535]
    @test status(() -> ZT.numbers(tree["arr.u16"], UInt8)) == ZT.ZT_ERROR_INVALID_ARGUMENT
    @test ZT.json(tree["arr.u16"]) == "[0,65535]" && "arr.u16" in keys(tree) && !haskey(tree, "none")
    @test_throws KeyError tree["none"]
    @test_throws BoundsError tree["arr.u16"][3]
    words = ZT.attribute_values(ZT.open(joinpath(FOREIGN, "amber-vocab.gguf")))["tokenizer.ggml.tokens"]
    @test ZT.strings(words)[3] == "</s>" == ZT.julia(words[3])
end

@testset "failures one by one, progress stops everything" begin
    scratch() do path
        grown = Ref(0)
        ZT.create(path; digest = :crc32c, progress = (done, _) -> (grown[] = done; true)) do w
            foreach(name -> ZT.write(w, name, zeros(Float32, 64)), ("a", "b", "c"))
        end
        @test grown[] > 700
        cancelled(body) = @test status(body) == ZT.ZT_ERROR_CANCELLED
        cancelled(() -> ZT.open(path; verify = true, progress = stop))
        seen = []
        f = ZT.open(path; mode = :read, verify = true, progress = (at...) -> push!(seen, at))
        @test !isempty(seen) && ZT.mode(f) === :read
        cancelled(() -> ZT.array(f["a"]; progress = stop))
        cancelled(() -> ZT.read_batch(f, [f["a"]["data"] => zeros(Float32, 64)]; progress = stop))
        cancelled(() -> ZT.verify(f; progress = stop))
        cancelled(() -> ZT.repair(path; progress = stop))
        cancelled(() -> ZT.create(w -> ZT.copy_object(w, f["a"]), path * ".copy"; progress = stop))
        @test !ispath(path * ".copy") && ZT.repair(path).objects == 3
        @test_throws DivideError ZT.verify(f; progress = (_, _) -> div(1, 0))
        unsized = ZT.open(joinpath(DATA, "v1.1/rs-1.1.1-sparse-zstd-digest.zt"))["coo"]["coords"]
        cancelled(() -> ZT.measure(unsized; progress = stop))
        @test ZT.measure(unsized; progress = (_, _) -> true) == sizeof(unsized) == length(read(unsized))
        offsets = [ZT.offset(f[name]["data"]) for name in ("a", "c")]
        Base.open(path, "r+") do io
            foreach(offset -> (seek(io, offset); write(io, 0x01)), offsets)
        end
        f = ZT.open(path)
        @test [ZT.name(one[1]) for one in ZT.failures(f)] == ["a", "c"]
        @test all(one[3].status == ZT.ZT_ERROR_DIGEST_MISMATCH && ZT.role(one[2]) == "data" for one in ZT.failures(f))
        calls = Ref(0)
        @test status(() -> ZT.verify(f; on_failure = (_...) -> (calls[] += 1; false))) != ZT.ZT_OK && calls[] == 1
        @test_throws DivideError ZT.verify(f; on_failure = (_...) -> div(1, 0))
        try
            ZT.verify(f; component = f["a"]["data"])
            @test false
        catch e
            @test e.rule == "digest-mismatch" && e.os_error == 0 && occursin("ZT_ERROR_DIGEST_MISMATCH", sprint(showerror, e))
        end
        @test ZT.verify(f; object = f["b"]).components == 1
        @test ZT.verify(f; component = f["b"]["data"], checks = (:require_digests,)).components == 1
        try
            ZT.open(path * ".none")
            @test false
        catch e
            @test e.status == ZT.ZT_ERROR_NO_FILE && e.os_error != 0
        end
    end
end

@testset "written, edited, copied" begin
    scratch() do path
        a = reshape(Float32.(1:6), 3, 2)
        ZT.create(path) do w
            for (key, value) in ("null" => nothing, "bool" => true, "i64" => -5, "u64" => typemax(UInt64), "f64" => 0.5, "k\0" => "",
                                 "bytes" => UInt8[0, 255], "strings" => ["a\0b", ""], "gone" => 1, "tag" => ZT.Json("{\"\$tag\":[7,[1]]}"))
                ZT.set_attribute(w, key, value)
            end
            @test_throws ArgumentError ZT.set_attribute(w, "gone", [1.0f0 + 2im])
            ZT.set_attribute(w, "gone", ZT.Removed())
            @test status(() -> ZT.set_attribute(w, "gone", ZT.Removed())) == ZT.ZT_ERROR_NOT_FOUND
            ZT.write(w, "a", a)
            ZT.write(w, "complex", [1.0f0 + 2im]; encoding = :zstd, digest = :sha256)
            ZT.write_batch(w, ["n\0n" => Int16[1, 2], "scalar" => fill(1.5)])
            ZT.write_object(w, "pieces", :dense, (4,)) do w
                ZT.set_attribute(w, "unit", "m"; object = "pieces")
                ZT.begin_component(w, "data", UInt8)
                ZT.write_data(w, UInt8[1, 2])
                ZT.write_data(w, UInt8[3, 4])
            end
            ZT.write_object(w, "mine", "my.format", (2,), ["x" => UInt8[1], "y" => Int64[2]])
        end
        @test_throws ErrorException ZT.append(w -> (ZT.remove_object(w, "a"); error("mine")), path)
        ZT.append(path) do w
            ZT.remove_object(w, "pieces")
            ZT.write(w, "pieces", Int8[1])
            ZT.rename_object(w, "scalar", "s\0")
            ZT.set_attribute(w, "unit", "m"; object = "a")
            @test status(() -> ZT.remove_object(w, "scalar")) == ZT.ZT_ERROR_NOT_FOUND
        end
        f = ZT.open(path)
        got = ZT.attributes(f)
        @test length(got) == 9 && got["tag"] == ZT.Tag(7, [1]) && got["strings"] == ["a\0b", ""] && got["u64"] === typemax(UInt64)
        @test got["bytes"] == [0, 255] && got["k\0"] == "" && got["null"] === nothing && got["i64"] === -5
        @test ZT.array(f["a"]) == a == ZT.tensor(f["a"]) && ZT.shape(f["a"]) == [2, 3] && ZT.array(f["complex"]) == [1 + 2im]
        @test ZT.read_slice(f["a"], 1:2:3, 2:2) == a[1:2:3, 2:2] && ZT.read_as(f["a"], Float64) == vec(a) && ZT.size_as(f["a"], Float64) == 8 * length(a)
        @test_throws BoundsError ZT.read_slice(f["a"], 1:4, 1:1)
        @test ZT.attributes(f["a"]) == Dict("unit" => "m") && ZT.array(f["s\0"])[] == 1.5 && ZT.format_name(f["mine"]) == "my.format"
        @test ZT.array(f["pieces"]) == [1] && haskey(f, "n\0n") && !haskey(f, "scalar") && get(f["a"], "x", 0) == 0
        stored = ZT.read_stored(f["complex"]["data"])
        @test length(stored) == ZT.stored_size(f["complex"]["data"]) && ZT.read_range(f["a"]["data"], 4, 4) == reinterpret(UInt8, [2.0f0])
        ZT.advise(f["a"]["data"], :willneed)
        @test_throws ArgumentError ZT.advise(f["a"]["data"], :perhaps)
        ZT.create(path * ".copy") do w
            @test_throws ArgumentError ZT.read_as(f["complex"], ComplexF32)
            @test_throws ArgumentError ZT.numbers(ZT.attribute_values(f)["i64"], ComplexF32)
            ZT.copy_attributes(w, f)
            ZT.set_attribute(w, "again", ZT.attribute_values(f)["tag"])
            ZT.copy_object(w, f["a"])
            ZT.copy_object(w, f["a"], "b\0")
            ZT.copy_object(w, f["a"], "half"; encoding = :zstd, dtype = "f16")
        end
        g = ZT.open(path * ".copy")
        @test length(ZT.attributes(g)) == 10 && ZT.array(g["half"]) == Float16.(a) && ZT.array(g["b\0"]) == a
        kept = ZT.array(f["a"])
        close(f)
        GC.gc()
        @test kept == a
    end
end

function views_are_checked(f)
    csr, coo, q = ZT.csr(f["csr"]), ZT.coo(f["coo"]), ZT.quantized(f["q"])
    @test csr.values == [1, 2, 3] && csr.indptr == [0, 2, 3] && csr.columns == 4 && coo.coords == [1 3] && coo.shape == [2, 4]
    @test q.bits == 4 && q.packing == "8_per_i32" && q.zeros === nothing && q.scales == [1, 1]
    @test status(() -> ZT.csr(f["q"])) == ZT.ZT_ERROR_UNSUPPORTED && ZT.identity(f).source_identity == 5
end

@testset "sparse and quantized, through streams and functions" begin
    io = IOBuffer()
    ZT.create(io) do w
        ZT.write_csr(w, "csr", 2, 4, [1.0, 2, 3], [0, 3, 1], [0, 2, 3])
        ZT.write_coo(w, "coo", (2, 4), Float32[5], [1 3])
        ZT.write_quantized(w, "q", (2, 8), UInt32[1, 2], Float16[1, 1]; bits = 4, group_size = 8, packing = "8_per_i32")
        @test status(() -> ZT.write_coo(w, "bad", (2, 4), Float32[5], [1 4])) == ZT.ZT_ERROR_CORRUPT
        @test_throws ArgumentError ZT.write_csr(w, "bad", 2, 4, [1.0], [0], [0])
    end
    content = take!(io)
    closed, many = Ref(0), Ref(0)
    fill_from(at, to) = copyto!(to, 1, content, at + 1, length(to))
    f = ZT.open_source(fill_from, length(content); read_many = ranges -> (many[] += 1; foreach(r -> fill_from(r...), ranges)),
        close = () -> closed[] += 1, profile = (gap = 1, identity = 5), name = "my bucket")
    views_are_checked(f)
    ZT.read_batch(f, [f["csr"]["values"] => zeros(3), f["q"]["scales"] => zeros(Float16, 2)])
    close(f)
    GC.gc() # arrays of views keep the file
    GC.gc()
    @test closed[] == 1
    @test many[] > 0
    @test_throws DivideError ZT.open_source((at, to) -> div(1, 0), 1000)
    @test length(ZT.open_source(IOBuffer(content))) == 3 == length(ZT.open_memory(content))
    mktemp() do path, file
        write(file, content)
        flush(file)
        @test length(ZT.open_fd(RawFD(fd(file)))) == 3
        Sys.iswindows() || @test status(() -> ZT.open_handle(Ptr{Cvoid}(4))) == ZT.ZT_ERROR_UNSUPPORTED
        @test status(() -> ZT.open(path; max_memory = 100)) == ZT.ZT_ERROR_LIMIT
        own = ZT.open(path; mode = :private, advice = :sequential)
        ZT.array(own["csr"]["values"])[1] = 7
        @test ZT.array(own["csr"]["values"])[1] == 7 && read(path) == content
    end
    struct_full = IOBuffer(; maxsize = 10)
    close(struct_full)
    @test_throws Exception ZT.create(w -> ZT.write(w, "a", zeros(100)), struct_full)
end

# An allocator and hooks must be C functions: use the C library's own.
const allocated = Ref(0)
allocate(context::Ptr{Cvoid}, size::Csize_t, alignment::Csize_t)::Ptr{Cvoid} = (allocated[] += 1; ccall(:aligned_alloc, Ptr{Cvoid}, (Csize_t, Csize_t), alignment, cld(size, alignment) * alignment))
release(context::Ptr{Cvoid}, memory::Ptr{Cvoid}, size::Csize_t, alignment::Csize_t)::Cvoid = (allocated[] -= 1; Libc.free(memory))

@testset "an allocator" begin
    functions = ZT.sized(ZT.zt_allocator; allocate = @cfunction(allocate, Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t, Csize_t)),
        free = @cfunction(release, Cvoid, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t, Csize_t)))
    f = ZT.open(joinpath(DATA, "../../bindings/golden/written.zt"); allocator = functions, threads = 1)
    a = ZT.array(f["packed"])
    @test a[8] == 0 && a[9] == 1 && allocated[] == 1
    finalize(a)
    @test allocated[] == 0
end
