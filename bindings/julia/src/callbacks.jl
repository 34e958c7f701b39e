# Julia functions that the library calls, from the thread that called it. If a call has such functions, it
# does not start threads. Exceptions must not unwind through C; they continue after the call.

mutable struct Watcher
    progress::Any  # (done, total); false stops the call
    failed::Any    # (object, component, status, message); false stops the call
    thrown::Any
end
Watcher(progress; failed = nothing) = Watcher(progress, failed, nothing)

function guarded(body, owner, otherwise)
    try
        return body()
    catch e
        owner.thrown = (e, catch_backtrace())
        return otherwise
    end
end

function progress_step(context::Ptr{Cvoid}, done::UInt64, total::UInt64)::Int32
    watcher = unsafe_pointer_to_objref(context)::Watcher
    return guarded(() -> Int32(watcher.progress(done, total) === false), watcher, Int32(1))
end

function failure_step(context::Ptr{Cvoid}, object::Ptr{Cvoid}, component::Ptr{Cvoid}, status::Int32, message::Ptr{UInt8})::Int32
    watcher = unsafe_pointer_to_objref(context)::Watcher
    return guarded(() -> Int32(watcher.failed(object, component, status, unsafe_string(message)) === false), watcher, Int32(1))
end

"The fields of an options struct that call a watcher."
function watching(watcher::Watcher)
    fields = Dict{Symbol,Any}(:context => pointer_from_objref(watcher))
    if watcher.progress !== nothing
        fields[:progress] = @cfunction(progress_step, Int32, (Ptr{Cvoid}, UInt64, UInt64))
    end
    if watcher.failed !== nothing
        fields[:on_failure] = @cfunction(failure_step, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Int32, Ptr{UInt8}))
    end
    return fields
end
watches(watcher::Watcher) = watcher.progress !== nothing || watcher.failed !== nothing

"check, after rethrowing an exception of the caller's function."
function check(status, watcher)
    thrown, watcher.thrown = watcher.thrown, nothing
    thrown === nothing || throw(thrown[1])
    check(status)
end

# Sources: functions that read a file, until C closes the source.

mutable struct Source
    size::UInt64
    read_at::Any    # fills bytes from (offset, bytes)
    read_many::Any  # a vector of such pairs, or nothing
    close::Any      # or nothing
    open::Bool
    thrown::Any
end
const sources = Source[]

"Reports the failure of a caller's function to C."
function failed(owner, e)
    owner.thrown = (e, catch_backtrace())
    zt_set_last_error(replace(split(sprint(showerror, e), '\n')[1], '\0' => ' '))
    return e isa ZTensorError ? e.status : Int32(ZT_ERROR_IO)
end
function answered(body, owner)
    try
        body()
        return Int32(ZT_OK)
    catch e
        return failed(owner, e)
    end
end

bytes_at(dst, n) = unsafe_wrap(Array, Ptr{UInt8}(dst), Int(n); own = false)
source_of(context) = unsafe_pointer_to_objref(context)::Source

function source_size(context::Ptr{Cvoid}, size::Ptr{UInt64})::Int32
    unsafe_store!(size, source_of(context).size)
    return Int32(ZT_OK)
end
source_read(context::Ptr{Cvoid}, offset::UInt64, dst::Ptr{Cvoid}, n::Csize_t)::Int32 =
    answered(() -> source_of(context).read_at(Int(offset), bytes_at(dst, n)), source_of(context))
source_read_many(context::Ptr{Cvoid}, ranges::Ptr{zt_source_range}, count::Csize_t)::Int32 =
    answered(source_of(context)) do
        source_of(context).read_many([(Int(r.offset), bytes_at(r.dst, r.size)) for r in unsafe_wrap(Array, ranges, Int(count))])
    end
function source_close(context::Ptr{Cvoid})::Cvoid
    source = source_of(context)
    source.open = false # freed later: the caller may be a finalizer
    source.close === nothing || answered(source.close, source)
    return nothing
end

"The fields of a zt_source."
function source_fields(source::Source)
    filter!(one -> one.open, sources)
    push!(sources, source)
    fields = Dict{Symbol,Any}(:context => pointer_from_objref(source), :callers_thread => 1,
        :size => @cfunction(source_size, Int32, (Ptr{Cvoid}, Ptr{UInt64})),
        :read_at => @cfunction(source_read, Int32, (Ptr{Cvoid}, UInt64, Ptr{Cvoid}, Csize_t)),
        :close => @cfunction(source_close, Cvoid, (Ptr{Cvoid},)))
    if source.read_many !== nothing
        fields[:read_many] = @cfunction(source_read_many, Int32, (Ptr{Cvoid}, Ptr{zt_source_range}, Csize_t))
    end
    return fields
end

# Stores: functions that open the files of a model.

mutable struct Store
    open::Any  # returns a Source for a name
    list::Any  # returns the names in a folder, or nothing
    thrown::Any
end
function store_open(context::Ptr{Cvoid}, name::Ptr{UInt8}, made::Ptr{zt_source})::Int32
    store = unsafe_pointer_to_objref(context)::Store
    return answered(store) do
        for (field, value) in source_fields(store.open(unsafe_string(name)))
            put(made, field, value)
        end
    end
end
function store_list(context::Ptr{Cvoid}, folder::Ptr{UInt8}, add::Ptr{Cvoid}, names::Ptr{Cvoid})::Int32
    store = unsafe_pointer_to_objref(context)::Store
    status = Int32(ZT_OK)
    said = answered(store) do
        for name in store.list(unsafe_string(folder))
            status == ZT_OK || break
            status = ccall(add, Int32, (Ptr{Cvoid}, Cstring), names, name)
        end
    end
    return said == ZT_OK ? status : said
end

# Sinks: streams that receive a written file.

mutable struct Sink
    io::IO
    thrown::Any
end
function sink_write(context::Ptr{Cvoid}, data::Ptr{Cvoid}, n::Csize_t)::Int32
    sink = unsafe_pointer_to_objref(context)::Sink
    return answered(() -> unsafe_write(sink.io, Ptr{UInt8}(data), UInt(n)), sink)
end
