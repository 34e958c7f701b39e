# Attributes: a tree of values.

"A value of an attribute. Keeps its file."
struct Value
    file::Any
    handle::Ptr{Cvoid}
end
"A value that CBOR tags with a number."
struct Tag
    number::UInt64
    value::Any
end

Base.:(==)(a::Tag, b::Tag) = a.number == b.number && a.value == b.value
value_or_nothing(file, handle) = handle == C_NULL ? nothing : Value(file, handle)

":null, :bool, :int, :float, :string, :bytes, :array, :map, :tag or :other."
kind(v::Value) = symbol(KINDS, zt_value_get_kind(v.handle))
"The dtype that the container declares for a number or an array's elements, or nothing."
dtype(v::Value) = dtype_name(zt_value_dtype(v.handle))
"The number of items of an array or of pairs of a map; 1 for a tag."
Base.length(v::Value) = Int(zt_value_count(v.handle))
Base.eltype(::Type{Value}) = Value
Base.firstindex(::Value) = 1
Base.lastindex(v::Value) = length(v)
function Base.getindex(v::Value, i::Integer)
    1 <= i <= length(v) || throw(BoundsError(v, i))
    return Value(v.file, zt_value_at(v.handle, i - 1))
end
function Base.get(v::Value, key::AbstractString, otherwise)
    name = String(key)
    found = zt_value_find_n(v.handle, name, sizeof(name))
    return found == C_NULL ? otherwise : Value(v.file, found)
end
Base.haskey(v::Value, key::AbstractString) = get(v, key, nothing) !== nothing
function Base.getindex(v::Value, key::AbstractString)
    found = get(v, key, nothing)
    return found === nothing ? throw(KeyError(key)) : found
end
Base.iterate(v::Value, i = 1) = i <= length(v) ? (v[i], i + 1) : nothing
"The keys of a map."
Base.keys(v::Value) = [julia(Value(v.file, zt_value_key_at(v.handle, i - 1))) for i in 1:length(v)]

function got(v::Value, call, ::Type{T}) where {T}
    out = Ref{T}()
    check(call(v.handle, out))
    return out[]
end
function borrowed(v::Value, call, ::Type{T}) where {T}
    data, size = Ref{T}(C_NULL), Ref{Csize_t}(0)
    check(call(v.handle, data, size))
    return Ptr{UInt8}(data[]), Int(size[])
end

"""
The numbers of an array as elements of T. Throws if T cannot hold one exactly. A number is read as an array of
one.
"""
function numbers(v::Value, ::Type{T}) where {T}
    made = Vector{T}(undef, kind(v) === :array ? length(v) : 1)
    check(zt_value_read_numbers(v.handle, dtype_of(T), made, length(made)))
    return made
end
"The texts of an array."
function strings(v::Value)
    starts, lengths = Vector{Ptr{UInt8}}(undef, length(v)), Vector{Csize_t}(undef, length(v))
    check(zt_value_read_strings(v.handle, starts, lengths, length(v)))
    return [unsafe_string(p, n) for (p, n) in zip(starts, lengths)]
end
"JSON text. zt_value_to_json describes values that JSON does not have."
function json(v::Value)
    needed = Ref{Csize_t}(0)
    check(zt_value_to_json(v.handle, C_NULL, 0, needed))
    buffer = Vector{UInt8}(undef, needed[])
    check(zt_value_to_json(v.handle, buffer, length(buffer), needed))
    return String(buffer[1:end-1])
end

function integer(v::Value)
    wide, small = Ref{UInt64}(0), Ref{Int64}(0)
    zt_value_get_i64(v.handle, small) == ZT_OK && return small[]
    zt_value_get_u64(v.handle, wide) == ZT_OK && return wide[]
    return parse(BigInt, json(v))
end

"""
The Julia value: nothing, Bool, a number, String, a vector of bytes, a vector, a Dict, or a Tag. For other
values JSON text.
"""
function julia(v::Value)
    k = kind(v)
    k === :null && return nothing
    k === :bool && return got(v, zt_value_get_bool, Int32) != 0
    k === :int && return integer(v)
    k === :float && return got(v, zt_value_get_f64, Float64)
    k === :string && return unsafe_string(borrowed(v, zt_value_get_string, Ptr{UInt8})...)
    if k === :bytes
        data, size = borrowed(v, zt_value_get_bytes, Ptr{Cvoid})
        return copy(bytes_at(data, size))
    end
    k === :array && return dtype(v) === nothing ? [julia(item) for item in v] : numbers(v, TYPES[dtype(v)])
    k === :map && return Dict{Any,Any}(key => julia(item) for (key, item) in zip(keys(v), v))
    k === :tag && return Tag(got(v, zt_value_get_tag, UInt64), julia(v[1]))
    return json(v)
end
