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
"The dimensions as the file has them, outermost first."
shape(o::Object) = Int.(unsafe_wrap(Array, zt_object_shape(o.handle), Int(zt_object_rank(o.handle))))
"The dimensions as Julia has them: the file's in reverse."
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
"The part of a model that it is in, from 1, where offset counts from 0."
part(c::Component) = Int(info(c).part) + 1
offset(c::Component) = Int(info(c).offset)
stored_size(c::Component) = Int(info(c).stored_size)
"What would work: a set of :map, :read, :range, :direct, :verify and :page_exclusive."
caps(c::Component) = Set(key for (key, bit) in CAPS if zt_component_caps(c.handle) & bit != 0)
"Decoded bytes, found out where the file does not declare them."
function Base.sizeof(c::Component)
    known = zt_component_size(c.handle)
    return known == ZT_UNKNOWN_SIZE ? measure(c) : Int(known)
end
"The same. progress: a function of (done, total) that may return false to stop, called where all has to be decoded for it."
function measure(c::Component; progress = nothing)
    watcher, size = Watcher(progress), Ref{UInt64}(0)
    call = get(watching(watcher), :progress, C_NULL)
    GC.@preserve watcher check(zt_component_measure(c.handle, call, pointer_from_objref(watcher), size), watcher)
    return Int(size[])
end
"Says what will be done with the stored bytes: :willneed, :evict, :lock, ..."
advise(c::Component, advice::Symbol) = check(zt_component_advise(c.handle, chosen(ADVICE, advice)))

function filled(body, n)
    made = Vector{UInt8}(undef, n)
    check(body(made))
    return made
end
"The decoded bytes, copied."
Base.read(c::Component) = filled(made -> zt_component_read(c.handle, made, length(made)), sizeof(c))
"The stored bytes as they are: compressed, of an unknown encoding."
read_stored(c::Component) = filled(made -> zt_component_read_stored(c.handle, made, length(made)), stored_size(c))
"n of the decoded bytes, from an offset that counts from 0."
read_range(c::Component, offset, n) = filled(made -> zt_component_read_range(c.handle, offset, made, n), n)
"Fills an array of the component's bytes."
Base.read!(c::Component, dst::Array) = (check(zt_component_read(c.handle, dst, sizeof(dst))); dst)

element_type(c::Component) = (i = names_of(info(c)); element_type(i.dtype, i.logical_type))

"The fields of zt_read_options."
function reading(watcher; threads, verify, direct, keep_going = false)
    threads = watches(watcher) ? 1 : threads
    return sized(zt_read_options; threads = threads, verify = verify, direct = chosen(DIRECT, direct), keep_going = keep_going,
        watching(watcher)...)
end

"""
The elements: in the mapped file where they are raw (do not write to them, but in mode :private), else decoded. The array keeps what
it stands on, also when the file is closed. progress: a function of (done, total) that may return false to stop.
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

"The bytes in the mapped file, until it is closed; an error where they cannot be borrowed."
function borrowed(c::Component)
    data, size = Ref{Ptr{Cvoid}}(C_NULL), Ref{Csize_t}(0)
    check(zt_component_ptr(c.handle, data, size))
    return bytes_at(data[], size[])
end

"""
An array over memory of the library. A file may say any shape, and of elements of less than a byte the shape does not count what is stored.
"""
function over(data, bytes, ::Type{T}, dims) where {T}
    dims = dims === nothing ? (div(Int(bytes), sizeof(T)),) : dims
    foldl(*, dims; init = big(1)) == div(bytes, sizeof(T)) ||
        throw(ArgumentError("$bytes bytes are no $T of the size $dims; array of the component gives them as they are stored"))
    return unsafe_wrap(Array, Ptr{T}(data), dims; own = false)
end

"A view's memory as an array that keeps the file open, and the memory that it was opened in."
function kept(file, data, bytes, ::Type{T}, dims = nothing) where {T}
    made, handle, memory = over(data, bytes, T, dims), zt_retain(live(file)), file.kept
    return finalizer(_ -> (zt_close(handle); memory), made)
end
function kept(file, a::zt_array)
    a.data == C_NULL && return nothing
    return kept(file, a.data, a.size, element_type(dtype_name(a.dtype), type_name(a.type_)))
end

"A dense object as an array that the file keeps: decoded at most once, however often it is asked for."
function tensor(o::Object)
    v = got(zt_tensor, zt_tensor_view, o.handle)[]
    return kept(o.file, v.data, v.size, element_type(dtype_name(v.dtype), type_name(v.type_)), size(o))
end
"The parts of a sparse_csr object, checked; indices and indptr count from 0."
function csr(o::Object)
    v = got(zt_csr, zt_csr_view, o.handle)[]
    return (rows = Int(v.rows), columns = Int(v.columns), values = kept(o.file, v.values), indices = kept(o.file, v.indices),
        indptr = kept(o.file, v.indptr))
end
"The parts of a sparse_coo object, checked; coords has a column for each dimension of the file's, from 0."
function coo(o::Object)
    v = got(zt_coo, zt_coo_view, o.handle)[]
    return (shape = shape(o), values = kept(o.file, v.values), coords = reshape(kept(o.file, v.coords), Int(v.nnz), Int(v.rank)))
end
"The parts of a quantized_group, zt.quant_group/1 or zt.mx/1 object, checked to fit each other; axis counts as in the file."
function quantized(o::Object)
    v = got(zt_quantized, zt_quantized_view, o.handle)[]
    return (shape = shape(o), bits = Int(v.bits), group_size = Int(v.group_size), packing = text(v.packing),
        packed_weight = kept(o.file, v.packed_weight), scales = kept(o.file, v.scales), zeros = kept(o.file, v.zeros),
        weights_per_element = Int(v.weights_per_element), axis = Int(v.axis), zero_point = v.zero_point,
        msb_first = v.msb_first != 0, zeros_packed = v.zeros_packed != 0)
end

"Bytes of all numbers as elements of T; an error if the object is not one array of numbers."
function size_as(o::Object, ::Type{T}) where {T}
    size = Ref{UInt64}(0)
    check(zt_object_size_as(o.handle, dtype_of(T), size))
    return Int(size[])
end
"All numbers of a dense object as elements of T, in the order of its memory: see zt_object_read_as. A complex number is two."
function read_as(o::Object, ::Type{T}) where {T}
    made, written = Vector{T}(undef, div(size_as(o, T), sizeof(T))), Ref{Csize_t}(0)
    check(zt_object_read_as(o.handle, dtype_of(T), made, sizeof(made), written))
    return made
end

"""
A part of a dense object: a range for each dimension, in Julia's order, as of an array: `read_slice(o, 1:3, 2:2:8)`. Only its bytes
are read, as far as the encoding allows.
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
