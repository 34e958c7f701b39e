# Writing files. Dimensions of arrays are reversed, as in reading.

mutable struct Writer
    handle::Ptr{Cvoid}
    watcher::Watcher
    sink::Any
    function Writer(handle, watcher, sink = nothing)
        writer = new(handle, watcher, sink)
        finalizer(abort, writer)
    end
end
live(w::Writer) = w.handle == C_NULL ? throw(ArgumentError("the writer has ended")) : w.handle

function begun(call; version = :default, encoding = :default, digest = :default, level = 0, progress = nothing, threads = 0, sink = nothing, more...)
    watcher, handle = Watcher(progress), Ref{Ptr{Cvoid}}(C_NULL)
    fields = Dict{Symbol,Any}(more)
    haskey(fields, :thread_hooks) && (fields[:thread_hooks] = Base.unsafe_convert(Ptr{zt_thread_hooks}, fields[:thread_hooks]))
    options = sized(zt_write_options; spec = chosen(SPECS, version), encoding = chosen(ENCODINGS, encoding),
        digest = chosen(DIGESTS, digest), zstd_level = level, threads = watches(watcher) ? 1 : threads, merge!(fields, watching(watcher))...)
    GC.@preserve watcher more check(call(options, handle), thrower(watcher, sink))
    return Writer(handle[], watcher, sink)
end
thrower(watcher, sink) = sink !== nothing && sink.thrown !== nothing ? sink : watcher
done(status, w::Writer) = check(status, thrower(w.watcher, w.sink))

"""
    create(path; encoding = :raw, digest = :crc32c, level = 0, durable = false, progress = nothing, ...) do w
        ZTensor.write(w, "a", rand(Float32, 3, 2))
    end

Writes a file. If the block returns, the complete file appears; if it throws, no file appears. progress: a
function of (bytes, 0) that may return false to stop. Other keywords are fields of zt_write_options. Returns
what was written.
"""
create(body::Function, path::AbstractString; how...) = finishing(body, create(path; how...))
create(path::AbstractString; how...) = begun((options, handle) -> zt_write_create(path, options, handle); how...)
"Adds to a file and edits it."
append(body::Function, path::AbstractString; how...) = finishing(body, append(path; how...))
append(path::AbstractString; how...) = begun((options, handle) -> zt_write_append(path, options, handle); how...)
"Writes a file to a stream, front to back."
create(body::Function, io::IO; how...) = finishing(body, create(io; how...))
function create(io::IO; how...)
    sink = Sink(io, nothing)
    made = sized(zt_sink; context = pointer_from_objref(sink), write = @cfunction(sink_write, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t)))
    return begun((options, handle) -> zt_write_create_sink(made, options, handle); sink = sink, how...)
end
function finishing(body, w::Writer)
    try
        body(w)
    catch
        abort(w)
        rethrow()
    end
    return finish(w)
end
"Publishes the file and returns what was written."
function finish(w::Writer)
    summary = sized(zt_write_summary)
    handle = live(w)
    w.handle = C_NULL
    done(zt_write_finish(handle, summary), w)
    return report(summary)
end
"Discards the file."
function abort(w::Writer)
    zt_write_abort(w.handle)
    w.handle = C_NULL
    return nothing
end

dims(a) = UInt64[reverse(size(a))...]
named(name) = (text = String(name); (text, sizeof(text)))

"Writes an array as a dense object. The object's shape is the reverse of the array's."
function write(w::Writer, name::AbstractString, a::Array{T}; encoding = :default, digest = :default) where {T}
    if encoding === :default && digest === :default
        return done(zt_write_dense(live(w), named(name)..., types_of(T)..., dims(a), ndims(a), a, sizeof(a)), w)
    end
    write_object(w, name, :dense, size(a), ["data" => a]; encoding = encoding, digest = digest)
end
"Writes arrays as dense objects, `[name => array, ...]`, several at once if that is faster."
function write_batch(w::Writer, arrays)
    texts, shapes = [String(name) for (name, _) in arrays], [dims(a) for (_, a) in arrays]
    requests = map(enumerate(arrays)) do (i, (_, a))
        dtype, type = types_of(eltype(a))
        sized(zt_write_request; name = pointer(texts[i]), name_length = sizeof(texts[i]), shape = pointer(shapes[i]), rank = ndims(a),
            data = pointer(a), size = sizeof(a), dtype = dtype, type_ = type)[]
    end
    GC.@preserve texts shapes arrays done(zt_write_batch(live(w), requests, length(requests)), w)
end

function describing(body, name, format, size)
    text, other = String(name), format isa Symbol ? "" : String(format)
    shape = UInt64[reverse(size)...]
    GC.@preserve text other shape begin
        body(sized(zt_object_desc; name = pointer(text), name_length = sizeof(text), shape = pointer(shape), rank = length(shape),
            format = format isa Symbol ? chosen(FORMATS, format) : ZT_FORMAT_OTHER, format_name = format isa Symbol ? C_NULL : pointer(other)))
    end
end
function component_desc(text, ::Type{T}, data, bytes, encoding, digest) where {T}
    dtype, type = types_of(T)
    return sized(zt_component_desc; role = pointer(text), role_length = sizeof(text), dtype = dtype, type_ = type, data = data, size = bytes,
        encoding = chosen(ENCODINGS, encoding), digest = chosen(DIGESTS, digest))
end
"""
Writes an object of any format (a symbol, or the name of an unknown format) with components `[role => array,
...]`. size: in Julia's order.
"""
function write_object(w::Writer, name, format, size, parts; encoding = :default, digest = :default)
    texts = [String(role) for (role, _) in parts]
    arrays = [a for (_, a) in parts]
    GC.@preserve texts arrays begin
        descs = [component_desc(texts[i], eltype(a), pointer(a), sizeof(a), encoding, digest)[] for (i, a) in enumerate(arrays)]
        GC.@preserve descs describing(name, format, size) do desc
            put(Base.unsafe_convert(Ptr{zt_object_desc}, desc), :components, pointer(descs))
            put(Base.unsafe_convert(Ptr{zt_object_desc}, desc), :component_count, length(descs))
            done(zt_write_object(live(w), desc), w)
        end
    end
end
"""
Writes an object in pieces: `write_object(w, "a", :dense, (4,)) do w; begin_component(w, "data", UInt8);
write_data(w, bytes); end`.
"""
function write_object(body::Function, w::Writer, name, format, size)
    describing(desc -> done(zt_write_begin(live(w), desc), w), name, format, size)
    body(w)
    done(zt_write_end(live(w)), w)
end
function begin_component(w::Writer, role, ::Type{T}; bytes = 0, encoding = :default, digest = :default) where {T}
    text = String(role)
    GC.@preserve text done(zt_write_component(live(w), component_desc(text, T, C_NULL, bytes, encoding, digest)), w)
end
write_data(w::Writer, data::Array) = done(zt_write_data(live(w), data, sizeof(data)), w)

"Checks and writes a matrix of compressed sparse rows. indices and indptr count from 0."
function write_csr(w::Writer, name, rows, columns, values::Vector{T}, indices, indptr) where {T}
    length(indices) == length(values) && length(indptr) == rows + 1 || throw(ArgumentError("indices needs one index for each value, indptr needs rows + 1 row starts"))
    done(zt_write_csr(live(w), named(name)..., types_of(T)..., UInt64[rows, columns], length(values), values, sizeof(values),
            Vector{UInt64}(indices), Vector{UInt64}(indptr)), w)
end
"""
Checks and writes a coordinate list. shape: in the file's order. coords: a column for each dimension, from 0.
"""
function write_coo(w::Writer, name, shape, values::Vector{T}, coords) where {T}
    length(coords) == length(values) * length(shape) || throw(ArgumentError("coords needs one coordinate for each value and dimension"))
    done(zt_write_coo(live(w), named(name)..., types_of(T)..., UInt64[shape...], length(shape), length(values), values, sizeof(values),
            Array{UInt64}(coords)), w)
end
"""
Checks and writes a tensor of quantized groups. zTensor 2 needs axis and stores zt.quant_group/1. shape, axis:
in the file's order.
"""
function write_quantized(w::Writer, name, shape, packed_weight::Array, scales::Array, zeros = nothing; bits = 0, group_size = 0, packing = nothing,
        axis = nothing, zero_point = 0, msb_first = false, zeros_packed = false)
    fields, kept = Dict{Symbol,Any}(:bits => bits, :group_size => group_size), Any[]
    merge!(fields, Dict(:has_axis => axis !== nothing, :axis => something(axis, 0), :zero_point => zero_point, :msb_first => msb_first,
        :zeros_packed => zeros_packed, :scales_type => types_of(eltype(scales))[2]))
    for (role, a) in (:packed_weight => packed_weight, :scales => scales, :zeros => zeros)
        a === nothing && continue
        push!(kept, a)
        fields[role], fields[Symbol(role, :_size)], fields[Symbol(role, :_dtype)] = pointer(a), sizeof(a), types_of(eltype(a))[1]
    end
    if packing !== nothing
        push!(kept, String(packing))
        fields[:packing] = pointer(kept[end])
    end
    GC.@preserve kept done(zt_write_quantized(live(w), named(name)..., UInt64[shape...], length(shape), sized(zt_quantized_desc; fields...)), w)
end

optional(name) = name === nothing ? (C_NULL, 0) : named(name)
"""
Copies the stored bytes of an object of an open file of any container. With another encoding, digest or dtype
of floats, "f16", it rewrites the object. type: the block type to quantize floats to, "gguf.q8_0".
"""
function copy_object(w::Writer, from::Object, name = nothing; encoding = :default, digest = :default, dtype = nothing,
        type = nothing)
    text, length = optional(name)
    options = sized(zt_copy_options; name_length = length, encoding = chosen(ENCODINGS, encoding),
        digest = chosen(DIGESTS, digest), dtype = dtype === nothing ? ZT_DTYPE_OTHER : dtype_number(dtype),
        type_ = type === nothing ? ZT_TYPE_NONE : type_number(type))
    GC.@preserve text options begin
        name === nothing || put(Base.unsafe_convert(Ptr{zt_copy_options}, options), :name, pointer(text))
        done(zt_write_copy(live(w), from.handle, options), w)
    end
end
"Makes an open file of zTensor 2 a shard of the file that is written. Readers look for it as STEM-NAME.zt."
add_shard(w::Writer, name, file::File) = done(zt_write_shard(live(w), named(name)..., live(file)), w)
"Adds an object of a shard that add_shard added. Its bytes stay in the shard."
link_object(w::Writer, from::Object, name = nothing) = done(zt_write_link(live(w), from.handle, optional(name)...), w)
"Replaces all attributes of the file by those of an open file."
copy_attributes(w::Writer, from::File) = done(zt_write_copy_attributes(live(w), live(from)), w)

"The value that removes an attribute."
struct Removed end
"JSON text as the value of an attribute; see ZT_ATTRIBUTE_KIND_JSON."
struct Json
    text::String
end

fields_of(::Nothing) = (kind = ZT_ATTRIBUTE_KIND_NULL,)
fields_of(::Removed) = (kind = ZT_ATTRIBUTE_KIND_REMOVE,)
fields_of(v::Bool) = (kind = ZT_ATTRIBUTE_KIND_BOOL, i64 = v)
fields_of(v::Signed) = (kind = ZT_ATTRIBUTE_KIND_I64, i64 = v)
fields_of(v::Unsigned) = (kind = ZT_ATTRIBUTE_KIND_U64, u64 = v)
fields_of(v::AbstractFloat) = (kind = ZT_ATTRIBUTE_KIND_F64, f64 = v)
fields_of(v::String) = (kind = ZT_ATTRIBUTE_KIND_STRING, data = pointer(v), size = sizeof(v))
fields_of(v::Json) = (kind = ZT_ATTRIBUTE_KIND_JSON, data = pointer(v.text), size = sizeof(v.text))
fields_of(v::Value) = (kind = ZT_ATTRIBUTE_KIND_VALUE, data = v.handle)
fields_of(v::Vector{T}) where {T<:Number} = (kind = ZT_ATTRIBUTE_KIND_NUMBERS, dtype = dtype_of(T), data = pointer(v), count = length(v))

function give(call, key, value)
    text = String(key)
    GC.@preserve value call(text, sized(zt_attribute; key_length = sizeof(text), fields_of(value)...))
end
function give(call, key, value::Vector{String})
    text, starts, lengths = String(key), pointer.(value), Csize_t.(sizeof.(value))
    GC.@preserve value starts lengths call(text, sized(zt_attribute; key_length = sizeof(text), kind = ZT_ATTRIBUTE_KIND_STRINGS,
        data = pointer(starts), count = length(value), lengths = pointer(lengths)))
end
"""
Sets an attribute of the file or, by its name, of an object: one that write_object is writing in pieces, or
one that the file had before an append. The value is nothing, a Bool, number, String, vector of numbers (also
bytes) or of String, Json, a Value of an open file, or Removed().
"""
set_attribute(w::Writer, key, value; object = nothing) =
    give((k, a) -> done(zt_write_attribute(live(w), optional(object)..., k, a), w), key, value)
"In an append: removes an object of the file. A new object may have its name."
remove_object(w::Writer, name) = done(zt_write_remove(live(w), named(name)...), w)
"In an append: renames an object of the file."
rename_object(w::Writer, name, new_name) = done(zt_write_rename(live(w), named(name)..., named(new_name)...), w)
