# Reading files and models.

"""
An open file; `file[\"name\"]` is an object, and it iterates over its objects. `close` it, or leave it to the
garbage collector.
"""
mutable struct File
    handle::Ptr{Cvoid}
    kept::Any # memory that was passed in
    function File(handle, kept)
        file = new(handle, kept)
        finalizer(close, file)
    end
end

function opened(call; mode = :map, verify = false, strict = false, threads = 0, advice = :none, containers = (), name = nothing,
                progress = nothing, kept = nothing, thrower = nothing, more...)
    watcher, handle = Watcher(progress), Ref{Ptr{Cvoid}}(C_NULL)
    fields = Dict{Symbol,Any}(more)
    for (field, struct_of) in (:allocator => zt_allocator, :thread_hooks => zt_thread_hooks)
        haskey(fields, field) && (fields[field] = Base.unsafe_convert(Ptr{struct_of}, fields[field]))
    end
    text = name === nothing ? "" : String(name)
    name === nothing || (fields[:name] = pointer(text))
    merge!(fields, watching(watcher))
    options = sized(zt_open_options; mode = chosen(MODES, mode), verify = verify, strict = strict, advice = chosen(ADVICE, advice),
        threads = watches(watcher) ? 1 : threads, containers = bits_of(containers), fields...)
    GC.@preserve watcher text more check(call(options, handle), thrower === nothing || watcher.thrown !== nothing ? watcher : thrower)
    return File(handle[], kept)
end
bits_of(containers) = reduce(|, (UInt32(1) << chosen(CONTAINERS, one) for one in containers); init = UInt32(0))

"""
    open(path; mode = :map, verify = false, strict = false, threads = 0, containers = (), progress = nothing, ...)

Opens a file of any container. mode: `:map` maps the file and borrows its bytes; `:read` is safe if the file
is truncated during use; `:auto` maps local files if possible; `:private` maps bytes that can be changed in
memory only. containers: the accepted containers, `:safetensors`, `:gguf`, ...; all by default. progress: a
function of (done, total) for verify that may return false to stop; the call then uses one thread. Other
keywords are fields of zt_open_options: max_memory, max_objects, .... allocator and thread_hooks are a `Ref`
to their structs, with C functions, because Julia functions cannot run on the library's threads.

With a function, as `open(path) do file`, the file is closed when the function returns.
"""
open(path::AbstractString; how...) = opened((options, handle) -> zt_open(path, options, handle); how...)
open(body::Function, path::AbstractString; how...) = closing(body, open(path; how...))
function closing(body, file)
    try
        return body(file)
    finally
        close(file)
    end
end
"A model of one or several files. path is one of its files, its index, or its folder."
open_model(path::AbstractString; how...) = opened((options, handle) -> zt_open_model(path, options, handle); how...)
"Opens several files as one."
function open_parts(paths; how...)
    texts = String.(paths)
    GC.@preserve texts opened((options, handle) -> zt_open_parts(pointer.(texts), length(texts), options, handle); how...)
end
"Opens a file inside a larger one, by a file descriptor."
open_fd(fd::RawFD, offset = 0, length = ZT_WHOLE; how...) =
    opened((options, handle) -> zt_open_fd(Base.cconvert(Cint, fd), offset, length, options, handle); how...)
"Opens a file inside a larger one, by a HANDLE of Windows."
open_handle(handle::Ptr{Cvoid}, offset = 0, length = ZT_WHOLE; how...) =
    opened((options, opened_file) -> zt_open_handle(handle, offset, length, options, opened_file); how...)
"Opens a file in memory. The bytes must not change."
open_memory(data::Vector{UInt8}; how...) =
    opened((options, handle) -> zt_open_memory(data, length(data), options, handle); kept = data, how...)

"""
A file that functions of the caller read. read_at(offset, bytes) fills bytes from an offset that counts from
0. read_many gets a vector of such pairs. They are called from the threads that use the file. profile: gap,
largest_request and identity of zt_source.
"""
function open_source(read_at::Function, size::Integer; read_many = nothing, close = nothing, profile = NamedTuple(), how...)
    source = Source(size, read_at, read_many, close, true, nothing)
    made = sized(zt_source; source_fields(source)..., profile...)
    return opened((options, handle) -> zt_open_source(made, options, handle); thrower = source, how...)
end
"Opens the contents of a seekable stream."
function open_source(io::IO; how...)
    size = seekend(io) |> position
    return open_source((offset, bytes) -> (seek(io, offset); read!(io, bytes)), size; how...)
end
"A model; `open_file(name)` opens each file and returns a result of `source`. list(folder) returns names."
function open_model_from(open_file::Function, name::AbstractString; list = nothing, how...)
    store = Store(open_file, list, nothing)
    fields = Dict{Symbol,Any}(:context => pointer_from_objref(store), :open => @cfunction(store_open, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Ptr{zt_source})))
    list === nothing || (fields[:list] = @cfunction(store_list, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Ptr{Cvoid}, Ptr{Cvoid})))
    made = sized(zt_store; fields...)
    GC.@preserve store opened((options, handle) -> zt_open_model_from(made, name, options, handle); thrower = store, threads = 1, how...)
end
"A source for open_model_from; see open_source."
source(read_at::Function, size::Integer; read_many = nothing, close = nothing) = Source(size, read_at, read_many, close, true, nothing)

function Base.close(file::File)
    zt_close(file.handle)
    file.handle = C_NULL
    return nothing
end
live(file::File) = file.handle == C_NULL ? throw(ArgumentError("the file is closed")) : file.handle

version(file::File) = text(zt_file_version(live(file)))
"The size in bytes of the file, of all its parts."
Base.filesize(file::File) = sum(part.size for part in parts(file))
"The mode of the file; for :auto, the mode that the library chose."
mode(file::File) = symbol(MODES, zt_file_mode(live(file)))
attribute_values(file::File) = value_or_nothing(file, zt_file_attributes(live(file)))
"Its files: path (nothing if it was not opened by a path), size, container."
parts(file::File) = [part_of(live(file), i - 1) for i in 1:Int(zt_part_count(live(file)))]
function part_of(file, number)
    i = got(zt_part_info, zt_part_get_info, file, number)[]
    return (path = text(i.path), size = Int(i.size), container = symbol(CONTAINERS, i.container))
end
container(file::File) = parts(file)[1].container
container_name(container::Symbol) = text(zt_container_name(chosen(CONTAINERS, container)))
"Identifies a version of the file, for caches."
identity(file::File) = report(got(zt_identity, zt_file_identity, live(file)))
"The identity of one of the model's files, from 1."
identity(file::File, part::Integer) = report(got(zt_identity, zt_part_identity, live(file), part - 1))
"""
Counts of a model: passed_over, files in its folder that are not part of it; unlisted, tensors that its index
does not name.
"""
model_info(file::File) = report(got(zt_model_info, zt_model_get_info, live(file)))
"All bytes of a part in the mapped file, valid until the file is closed."
function borrowed(file::File, part::Integer = 1)
    data, size = Ref{Ptr{Cvoid}}(C_NULL), Ref{UInt64}(0)
    check(zt_file_bytes(live(file), part - 1, data, size))
    return bytes_at(data[], size[])
end

Base.length(file::File) = Int(zt_object_count(live(file)))
Base.iterate(file::File, i = 0) = i < length(file) ? (Object(file, zt_object_at(file.handle, i)), i + 1) : nothing
Base.eltype(::Type{File}) = Object
function Base.get(file::File, name::AbstractString, otherwise)
    text = String(name)
    found = zt_object_find_n(live(file), text, sizeof(text))
    return found == C_NULL ? otherwise : Object(file, found)
end
Base.haskey(file::File, name::AbstractString) = get(file, name, nothing) !== nothing
function Base.getindex(file::File, name::AbstractString)
    found = get(file, name, nothing)
    return found === nothing ? throw(KeyError(name)) : found
end

"All entries that a listing function fills."
function listed(fill, ::Type{T}) where {T}
    all, chunk, filled = T[], Vector{T}(undef, 256), Ref{Csize_t}(1)
    while filled[] > 0
        unsafe_store!(Ptr{Csize_t}(pointer(chunk)), sizeof(T))
        GC.@preserve chunk check(fill(length(all), chunk, length(chunk), filled))
        append!(all, view(chunk, 1:Int(filled[])))
    end
    return all
end
known(size) = size == ZT_UNKNOWN_SIZE ? nothing : Int(size)
"""
Describes every object without reading its bytes. dtype, logical_type, encoding, stored_size and bytes
describe the data of a dense object or of blocks. For other objects they are 0 bytes and no dtype; see
components.
"""
objects(file::File) = map(listed((at...) -> zt_object_list(live(file), at...), zt_object_info)) do i
    (object = Object(file, i.object), name = text(i.name, i.name_length), size = Tuple(reverse(Int.(unsafe_wrap(Array, i.shape, Int(i.rank))))),
        format = symbol(FORMATS, i.format), components = Int(i.component_count), dtype = dtype_name(i.dtype), logical_type = type_name(i.type_),
        encoding = encoding_name(i.encoding), stored_size = Int(i.stored_size), bytes = known(i.size))
end
"Describes every component, or those of one object, without reading their bytes."
components(file::File, of = nothing) = map(listed((at...) -> zt_component_list(live(file), of === nothing ? C_NULL : of.handle, at...), zt_component_info)) do i
    (component = Component(file, i.component), object = Object(file, i.object), role = text(i.role, i.role_length),
        names_of(i)..., digest = text(i.digest), part = Int(i.part) + 1, offset = Int(i.offset),
        stored_size = Int(i.stored_size), bytes = known(i.size))
end

"""
Checks every digest and all contents of the file, or of one object or component, and returns counts. progress
is a function of (done, total). on_failure is a function of (object, component, error) that is called for each
failure; object and component may be nothing. Both may return false to stop; the call then uses one thread.
checks: a set of :digests, :contents, :padding, :shards and :require_digests, which fails for bytes without a
digest.
"""
function verify(file::File; checks = (), threads = 0, progress = nothing, on_failure = nothing, object = nothing, component = nothing)
    wrapped = on_failure === nothing ? nothing : (o, c, status, message) -> on_failure(o == C_NULL ? nothing : Object(file, o),
        c == C_NULL ? nothing : Component(file, c), ZTensorError(status, message))
    watcher = Watcher(progress; failed = wrapped)
    options = sized(zt_verify_options; checks = bits(CHECKS, checks), threads = watches(watcher) ? 1 : threads,
        object = object === nothing ? C_NULL : object.handle, component = component === nothing ? C_NULL : component.handle,
        watching(watcher)...)
    found = sized(zt_verify_report)
    GC.@preserve watcher check(zt_verify(live(file), options, found), watcher)
    return report(found)
end
"All damage that verify finds: a vector of (object, component, error)."
function failures(file::File; how...)
    found = []
    try
        verify(file; on_failure = (one...) -> (push!(found, one); true), how...)
    catch e
        isempty(found) && rethrow()
    end
    return found
end

"""
Fills arrays with the decoded bytes of many components: `read_batch(file, [component => array, ...])`. direct:
:auto, :always, or :never, which uses the page cache, for bytes that are read again soon. keep_going: if one
fails, reads the others.
"""
function read_batch(file::File, targets; threads = 0, verify = false, direct = :auto, keep_going = false, progress = nothing)
    watcher, stats = Watcher(progress), sized(zt_read_stats)
    arrays = [array for (_, array) in targets]
    requests = [sized(zt_read_request; component = c.handle, length = ZT_WHOLE, dst = pointer(array), dst_size = sizeof(array), tag = i)[]
                for (i, (c, array)) in enumerate(targets)]
    options = reading(watcher; threads = threads, verify = verify, direct = direct, keep_going = keep_going)
    GC.@preserve watcher arrays check(zt_read_batch(live(file), requests, length(requests), options, stats), watcher)
    return report(stats)
end

"Removes an unfinished append; see zt_repair. progress: as for verify."
function repair(path::AbstractString; dry_run = false, cut_at = 0, progress = nothing)
    watcher, found = Watcher(progress), sized(zt_repair_report)
    options = sized(zt_repair_options; dry_run = dry_run, cut_at = cut_at, watching(watcher)...)
    GC.@preserve watcher check(zt_repair(path, options, found), watcher)
    return report(found)
end
