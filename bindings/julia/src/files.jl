# Files and models, read.

"An open file; `file[\"name\"]` is an object, and it iterates over its objects. `close` it, or leave it to the garbage collector."
mutable struct File
    handle::Ptr{Cvoid}
    kept::Any # memory that was given
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

Opens a file of any container. mode: `:map` borrows bytes in place, `:read` survives files that are cut short meanwhile, `:auto` maps
where that can be done and the file is on this machine, `:private` maps bytes that may be changed in memory only. containers:
those that may be opened, `:safetensors`, `:gguf`, ...; by default all. progress: of verify, a function of (done, total) that
may return false to stop; then the call uses one thread. Others are the fields of zt_open_options: max_memory, max_objects, ...;
allocator and thread_hooks are a `Ref` to their structs, of C functions, as Julia's may not run on threads of others.

With a function, as `open(path) do file`, it is closed when that ends.
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
"A model that may be of many files: a file, an index, one of several numbered files, a folder."
open_model(path::AbstractString; how...) = opened((options, handle) -> zt_open_model(path, options, handle); how...)
"Several files as one."
function open_parts(paths; how...)
    texts = String.(paths)
    GC.@preserve texts opened((options, handle) -> zt_open_parts(pointer.(texts), length(texts), options, handle); how...)
end
"A file that is part of a larger one, of a descriptor."
open_fd(fd::RawFD, offset = 0, length = ZT_WHOLE; how...) =
    opened((options, handle) -> zt_open_fd(Base.cconvert(Cint, fd), offset, length, options, handle); how...)
"The same by a HANDLE of Windows."
open_handle(handle::Ptr{Cvoid}, offset = 0, length = ZT_WHOLE; how...) =
    opened((options, opened_file) -> zt_open_handle(handle, offset, length, options, opened_file); how...)
"A file that is in memory: bytes that must stay as they are."
open_memory(data::Vector{UInt8}; how...) =
    opened((options, handle) -> zt_open_memory(data, length(data), options, handle); kept = data, how...)

"""
A file that functions of yours read: read_at(offset, bytes) fills bytes from an offset that counts from 0; read_many takes a vector
of such pairs. They are called from the threads that use the file. profile: gap, largest_request, identity, as zt_source has them.
"""
function open_source(read_at::Function, size::Integer; read_many = nothing, close = nothing, profile = NamedTuple(), how...)
    source = Source(size, read_at, read_many, close, true, nothing)
    made = sized(zt_source; source_fields(source)..., profile...)
    return opened((options, handle) -> zt_open_source(made, options, handle); thrower = source, how...)
end
"What a seekable stream holds."
function open_source(io::IO; how...)
    size = seekend(io) |> position
    return open_source((offset, bytes) -> (seek(io, offset); read!(io, bytes)), size; how...)
end
"A model whose files a function opens: `open_file(name)` gives what `source` makes; list(folder) gives names."
function open_model_from(open_file::Function, name::AbstractString; list = nothing, how...)
    store = Store(open_file, list, nothing)
    fields = Dict{Symbol,Any}(:context => pointer_from_objref(store), :open => @cfunction(store_open, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Ptr{zt_source})))
    list === nothing || (fields[:list] = @cfunction(store_list, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Ptr{Cvoid}, Ptr{Cvoid})))
    made = sized(zt_store; fields...)
    GC.@preserve store opened((options, handle) -> zt_open_model_from(made, name, options, handle); thrower = store, threads = 1, how...)
end
"A source of open_model_from; see open_source."
source(read_at::Function, size::Integer; read_many = nothing, close = nothing) = Source(size, read_at, read_many, close, true, nothing)

function Base.close(file::File)
    zt_close(file.handle)
    file.handle = C_NULL
    return nothing
end
live(file::File) = file.handle == C_NULL ? throw(ArgumentError("the file is closed")) : file.handle

version(file::File) = text(zt_file_version(live(file)))
"Bytes of the file, of all its parts."
Base.filesize(file::File) = sum(part.size for part in parts(file))
"What came of :auto, else what was asked for."
mode(file::File) = symbol(MODES, zt_file_mode(live(file)))
attribute_values(file::File) = value_or_nothing(file, zt_file_attributes(live(file)))
"Its files: path (nothing where it was not opened by one), size, container."
parts(file::File) = [part_of(live(file), i - 1) for i in 1:Int(zt_part_count(live(file)))]
function part_of(file, number)
    i = got(zt_part_info, zt_part_get_info, file, number)[]
    return (path = text(i.path), size = Int(i.size), container = symbol(CONTAINERS, i.container))
end
container(file::File) = parts(file)[1].container
container_name(container::Symbol) = text(zt_container_name(chosen(CONTAINERS, container)))
"What changes when the file does: for caches."
identity(file::File) = report(got(zt_identity, zt_file_identity, live(file)))
"The same of one of the files of a model, from 1."
identity(file::File, part::Integer) = report(got(zt_identity, zt_part_identity, live(file), part - 1))
"What is not shown of a model: passed_over, files in its folder, and unlisted, tensors that its index names nowhere."
model_info(file::File) = report(got(zt_model_info, zt_model_get_info, live(file)))
"All bytes of a part in the mapped file, until it is closed."
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

"All that a listing function fills."
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
What is known of every object without touching its bytes. dtype, logical_type, encoding, stored_size and bytes are of the data of a
dense object or of blocks. Another object has 0 bytes and no dtype: see components.
"""
objects(file::File) = map(listed((at...) -> zt_object_list(live(file), at...), zt_object_info)) do i
    (object = Object(file, i.object), name = text(i.name, i.name_length), size = Tuple(reverse(Int.(unsafe_wrap(Array, i.shape, Int(i.rank))))),
        format = symbol(FORMATS, i.format), components = Int(i.component_count), dtype = dtype_name(i.dtype), logical_type = type_name(i.type_),
        encoding = encoding_name(i.encoding), stored_size = Int(i.stored_size), bytes = known(i.size))
end
"What is known of every component, or those of an object, without touching their bytes."
components(file::File, of = nothing) = map(listed((at...) -> zt_component_list(live(file), of === nothing ? C_NULL : of.handle, at...), zt_component_info)) do i
    (component = Component(file, i.component), object = Object(file, i.object), role = text(i.role, i.role_length),
        names_of(i)..., digest = text(i.digest), part = Int(i.part) + 1, offset = Int(i.offset),
        stored_size = Int(i.stored_size), bytes = known(i.size))
end

"""
Checks every digest and all contents, of the file or of one object or component; what was looked at. progress: a
function of (done, total); on_failure: of (object, component, error), called for each failure, where object and component
may be nothing. Both may return false to stop; then the call uses one thread. checks: of :digests, :contents, :padding,
:shards and :require_digests, which fails for bytes without a digest.
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
"All that verify finds broken: a vector of (object, component, error)."
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
Fills arrays with the decoded bytes of components, many at once: `read_batch(file, [component => array, ...])`. direct: :auto,
:never (through the page cache: for what is read again soon) or :always. keep_going: reads the others if one fails.
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

"Cuts an unfinished append back; see zt_repair. progress: as of verify."
function repair(path::AbstractString; dry_run = false, cut_at = 0, progress = nothing)
    watcher, found = Watcher(progress), sized(zt_repair_report)
    options = sized(zt_repair_options; dry_run = dry_run, cut_at = cut_at, watching(watcher)...)
    GC.@preserve watcher check(zt_repair(path, options, found), watcher)
    return report(found)
end
