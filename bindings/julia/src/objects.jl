# Objects, their components, views.

"A named tensor. Keeps its file."
struct Object
    file::Any
    handle::Ptr{Cvoid}
end
"One blob of an object. Keeps its file."
struct Component
    file::Any
    handle::Ptr{Cvoid}
end

info(o::Object) = got(zt_object_info, zt_object_get_info, o.handle)[]
name(o::Object) = (i = info(o); text(i.name, i.name_length))
":dense, :sparse_csr, ... or :other, which format_name names."
format(o::Object) = symbol(FORMATS, zt_object_format(o.handle))
format_name(o::Object) = (i = info(o); own(i.format_name, format_name(i.format)))
"The dimensions in the file's order, outermost first."
shape(o::Object) = Int.(unsafe_wrap(Array, zt_object_shape(o.handle), Int(zt_object_rank(o.handle))))
"The dimensions in Julia's order, the reverse of the file's."
Base.size(o::Object) = Tuple(reverse(shape(o)))
Base.length(o::Object) = Int(zt_object_element_count(o.handle))
attribute_values(o::Object) = value_or_nothing(o.file, zt_object_attributes(o.handle))
attributes(of) = (found = attribute_values(of); found === nothing ? Dict{Any,Any}() : julia(found))
components(o::Object) = [Component(o.file, zt_component_at(o.handle, i - 1)) for i in 1:Int(zt_component_count(o.handle))]

function Base.get(o::Object, role::AbstractString, otherwise)
    text = String(role)
    found = zt_component_find_n(o.handle, text, sizeof(text))
    return found == C_NULL ? otherwise : Component(o.file, found)
end
function Base.getindex(o::Object, role::AbstractString)
    found = get(o, role, nothing)
    return found === nothing ? throw(KeyError(role)) : found
end

info(c::Component) = got(zt_component_info, zt_component_get_info, c.handle)[]
role(c::Component) = (i = info(c); text(i.role, i.role_length))
dtype(c::Component) = names_of(info(c)).dtype
logical_type(c::Component) = names_of(info(c)).logical_type
encoding(c::Component) = names_of(info(c)).encoding
digest(c::Component) = text(zt_component_digest(c.handle))
"The number of the model's file that holds the component, from 1. offset counts from 0 in it."
part(c::Component) = Int(info(c).part) + 1
offset(c::Component) = Int(info(c).offset)
stored_size(c::Component) = Int(info(c).stored_size)
"The calls that work on the component: a set of :map, :read, :range, :direct, :verify and :page_exclusive."
caps(c::Component) = Set(key for (key, bit) in CAPS if zt_component_caps(c.handle) & bit != 0)
"The number of decoded bytes. If the file does not declare it, the component is decoded to count them."
function Base.sizeof(c::Component)
    known = zt_component_size(c.handle)
    return known == ZT_UNKNOWN_SIZE ? measure(c) : Int(known)
end
"""
The number of decoded bytes. progress: a function of (done, total) that may return false to stop. It is called
if the component must be decoded completely.
"""
function measure(c::Component; progress = nothing)
    watcher, size = Watcher(progress), Ref{UInt64}(0)
    call = get(watching(watcher), :progress, C_NULL)
    GC.@preserve watcher check(zt_component_measure(c.handle, call, pointer_from_objref(watcher), size), watcher)
    return Int(size[])
end
"Tells the system how the stored bytes will be used: :willneed, :evict, :lock, ..."
advise(c::Component, advice::Symbol) = check(zt_component_advise(c.handle, chosen(ADVICE, advice)))

function filled(body, n)
    made = Vector{UInt8}(undef, n)
    check(body(made))
    return made
end
"A copy of the decoded bytes."
Base.read(c::Component) = filled(made -> zt_component_read(c.handle, made, length(made)), sizeof(c))
"The stored bytes, not decoded."
read_stored(c::Component) = filled(made -> zt_component_read_stored(c.handle, made, length(made)), stored_size(c))
"n decoded bytes from an offset on, which counts from 0."
read_range(c::Component, offset, n) = filled(made -> zt_component_read_range(c.handle, offset, made, n), n)
"Fills an array with the component's bytes."
Base.read!(c::Component, dst::Array) = (check(zt_component_read(c.handle, dst, sizeof(dst))); dst)

element_type(c::Component) = (i = names_of(info(c)); element_type(i.dtype, i.logical_type))

"The fields of zt_read_options."
function reading(watcher; threads, verify, direct, keep_going = false)
    threads = watches(watcher) ? 1 : threads
    return sized(zt_read_options; threads = threads, verify = verify, direct = chosen(DIRECT, direct), keep_going = keep_going,
        watching(watcher)...)
end

"""
The elements. If they are raw, the array is in the mapped file: do not write to it, except in mode :private.
Otherwise they are decoded. The array keeps its memory, even after the file is closed. progress: a function of
(done, total) that may return false to stop.
"""
function array(c::Component, dims = nothing; threads = 0, verify = false, progress = nothing)
    T = element_type(c)
    watcher, buffer = Watcher(progress), Ref{Ptr{Cvoid}}(C_NULL)
    options = reading(watcher; threads = threads, verify = verify, direct = :auto)
    by = threads == 0 && !verify && progress === nothing ? C_NULL : options
    GC.@preserve watcher check(zt_component_load(c.handle, by, buffer), watcher)
    handle = buffer[]
    try
        made = over(zt_buffer_data(handle), zt_buffer_size(handle), T, dims)
        memory = c.file.kept
        return finalizer(_ -> (zt_buffer_free(handle); memory), made)
    catch
        zt_buffer_free(handle)
        rethrow()
    end
end
array(o::Object; how...) = array(o["data"], size(o); how...)

"The bytes in the mapped file, valid until the file is closed. Throws if they cannot be borrowed."
function borrowed(c::Component)
    data, size = Ref{Ptr{Cvoid}}(C_NULL), Ref{Csize_t}(0)
    check(zt_component_ptr(c.handle, data, size))
    return bytes_at(data[], size[])
end

"""
An array in memory of the library. The file may declare any shape. For elements of less than a byte, the shape
does not give the number of stored bytes.
"""
function over(data, bytes, ::Type{T}, dims) where {T}
    dims = dims === nothing ? (div(Int(bytes), sizeof(T)),) : dims
    foldl(*, dims; init = big(1)) == div(bytes, sizeof(T)) ||
        throw(ArgumentError("$bytes bytes are not $T of the size $dims; array of the component returns the stored bytes"))
    return unsafe_wrap(Array, Ptr{T}(data), dims; own = false)
end

"A view's memory as an array, which keeps the file open and the memory that it was opened in."
function kept(file, data, bytes, ::Type{T}, dims = nothing) where {T}
    made, handle, memory = over(data, bytes, T, dims), zt_retain(live(file)), file.kept
    return finalizer(_ -> (zt_close(handle); memory), made)
end
function kept(file, a::zt_array)
    a.data == C_NULL && return nothing
    return kept(file, a.data, a.size, element_type(dtype_name(a.dtype), type_name(a.type_)))
end

"A dense object as an array. The file keeps the array, so it is decoded at most once."
function tensor(o::Object)
    v = got(zt_tensor, zt_tensor_view, o.handle)[]
    return kept(o.file, v.data, v.size, element_type(dtype_name(v.dtype), type_name(v.type_)), size(o))
end
"Checks a sparse_csr object and returns its parts. indices and indptr count from 0."
function csr(o::Object)
    v = got(zt_csr, zt_csr_view, o.handle)[]
    return (rows = Int(v.rows), columns = Int(v.columns), values = kept(o.file, v.values), indices = kept(o.file, v.indices),
        indptr = kept(o.file, v.indptr))
end
"""
Checks a sparse_coo object and returns its parts. coords has a column for each of the file's dimensions, from
0.
"""
function coo(o::Object)
    v = got(zt_coo, zt_coo_view, o.handle)[]
    return (shape = shape(o), values = kept(o.file, v.values), coords = reshape(kept(o.file, v.coords), Int(v.nnz), Int(v.rank)))
end
"""
Checks a quantized_group, zt.quant_group/1 or zt.mx/1 object and returns its parts. axis counts in the file's
order.
"""
function quantized(o::Object)
    v = got(zt_quantized, zt_quantized_view, o.handle)[]
    return (shape = shape(o), bits = Int(v.bits), group_size = Int(v.group_size), packing = text(v.packing),
        packed_weight = kept(o.file, v.packed_weight), scales = kept(o.file, v.scales), zeros = kept(o.file, v.zeros),
        weights_per_element = Int(v.weights_per_element), axis = Int(v.axis), zero_point = v.zero_point,
        msb_first = v.msb_first != 0, zeros_packed = v.zeros_packed != 0)
end

"The size of all numbers as elements of T in bytes. Throws if the object is not one array of numbers."
function size_as(o::Object, ::Type{T}) where {T}
    size = Ref{UInt64}(0)
    check(zt_object_size_as(o.handle, dtype_of(T), size))
    return Int(size[])
end
"""
All numbers of an object as elements of T, in the order of its memory; see zt_object_read_as. A complex number
becomes two.
"""
function read_as(o::Object, ::Type{T}) where {T}
    made, written = Vector{T}(undef, div(size_as(o, T), sizeof(T))), Ref{Csize_t}(0)
    check(zt_object_read_as(o.handle, dtype_of(T), made, sizeof(made), written))
    return made
end

"""
A part of a dense object: a range for each dimension, in Julia's order, as for an array: `read_slice(o, 1:3,
2:2:8)`. If the encoding allows it, only the bytes of the part are read.
"""
function read_slice(o::Object, ranges::OrdinalRange{Int,Int}...)
    dims = size(o)
    length(ranges) == length(dims) || throw(ArgumentError("a slice needs a range for each dimension"))
    all(i -> step(ranges[i]) > 0 && issubset(ranges[i], 1:dims[i]), eachindex(ranges)) || throw(BoundsError(o, ranges))
    turned(f) = UInt64[f(range) for range in reverse(ranges)]
    made = Array{element_type(o["data"])}(undef, length.(ranges)...)
    starts, counts, steps = turned(r -> isempty(r) ? 0 : first(r) - 1), turned(length), turned(step)
    check(zt_object_read_slice(o.handle, starts, counts, steps, made, sizeof(made)))
    return made
end
