"""
zTensor `.zt` files through the C library libztensor. Dimensions are reversed: a file is row-major, Julia is column-major.
"""
module ZTensor

const libztensor = get(ENV, "LIBZTENSOR", "libztensor.so.0")

include("declarations.jl")

"What went wrong: a ZT_ERROR_ number and the library's message."
struct ZTensorError <: Exception
    status::Int32
    message::String
end
Base.showerror(io::IO, e::ZTensorError) = print(io, unsafe_string(zt_status_name(e.status)), ": ", e.message)

check(status) = status == ZT_OK ? nothing : throw(ZTensorError(status, unsafe_string(zt_last_error())))

"A struct of the interface with struct_size set and all else zero, which is the default."
function sized(::Type{T}) where {T}
    made = Ref{T}()
    GC.@preserve made begin
        bytes = Ptr{UInt8}(Base.unsafe_convert(Ptr{T}, made))
        for i in 1:sizeof(T)
            unsafe_store!(bytes, 0x00, i)
        end
        unsafe_store!(Ptr{Csize_t}(bytes), sizeof(T))
    end
    return made
end

"An open file; `file[\"name\"]` is an object. `close` it, or leave it to the garbage collector."
mutable struct File
    handle::Ptr{Cvoid}
    function File(handle)
        file = new(handle)
        finalizer(close, file)
    end
end

"Opens a file. `mapped = false` reads instead, and survives files that are cut short while they are open."
function open(path::AbstractString; mapped::Bool = true)
    options = sized(zt_open_options)
    if !mapped
        GC.@preserve options begin
            at = Base.unsafe_convert(Ptr{zt_open_options}, options) + fieldoffset(zt_open_options, 2)
            unsafe_store!(Ptr{Int32}(at), Int32(ZT_MODE_READ))
        end
    end
    handle = Ref{Ptr{Cvoid}}(C_NULL)
    check(zt_open(path, options, handle))
    return File(handle[])
end

function Base.close(file::File)
    zt_close(file.handle)
    file.handle = C_NULL
    return nothing
end

text(p) = p == C_NULL ? nothing : unsafe_string(p)

version(file::File) = text(zt_file_version(file.handle))
Base.length(file::File) = Int(zt_object_count(file.handle))

struct Object
    file::File
    handle::Ptr{Cvoid}
end

struct Component
    object::Object
    handle::Ptr{Cvoid}
end

Base.iterate(file::File, i = 0) = i < length(file) ? (Object(file, zt_object_at(file.handle, i)), i + 1) : nothing
Base.eltype(::Type{File}) = Object

function Base.getindex(file::File, name::AbstractString)
    found = zt_object_find(file.handle, name)
    found == C_NULL && throw(KeyError(name))
    return Object(file, found)
end

name(o::Object) = unsafe_string(Ptr{UInt8}(zt_object_name(o.handle)), zt_object_name_length(o.handle))
format(o::Object) = text(zt_object_format_name(o.handle))
"The dimensions as Julia has them: the file's in reverse."
Base.size(o::Object) = Tuple(reverse(Int.(unsafe_wrap(Array, zt_object_shape(o.handle), zt_object_rank(o.handle)))))
components(o::Object) = [Component(o, zt_component_at(o.handle, i)) for i in 0:Int(zt_component_count(o.handle))-1]

function Base.getindex(o::Object, role::AbstractString)
    found = zt_component_find(o.handle, role)
    found == C_NULL && throw(KeyError(role))
    return Component(o, found)
end

role(c::Component) = unsafe_string(Ptr{UInt8}(zt_component_role(c.handle)), zt_component_role_length(c.handle))
dtype(c::Component) = text(zt_component_dtype_name(c.handle))
logical_type(c::Component) = text(zt_component_type_name(c.handle))
encoding(c::Component) = text(zt_component_encoding_name(c.handle))
digest(c::Component) = text(zt_component_digest(c.handle))
function Base.sizeof(c::Component)
    size = Ref{UInt64}(0)
    check(zt_component_measure(c.handle, C_NULL, C_NULL, size))
    Int(size[])
end

"bfloat16 as its bits: Julia has no such type of its own."
primitive type BF16 16 end

const TYPES = Dict("f64" => Float64, "f32" => Float32, "f16" => Float16, "bf16" => BF16, "i64" => Int64, "i32" => Int32, "i16" => Int16,
    "i8" => Int8, "u64" => UInt64, "u32" => UInt32, "u16" => UInt16, "u8" => UInt8, "bool" => UInt8,
    "complex64" => ComplexF32, "complex128" => ComplexF64)

eltype_of(c::Component) = get(TYPES, something(logical_type(c), dtype(c))) do
    TYPES[dtype(c)]
end

"""
The elements: in the mapped file where they are raw (do not write to them), else decoded. The array keeps what it stands on.
"""
function array(c::Component, dims = nothing)
    T = eltype_of(c)
    buffer = Ref{Ptr{Cvoid}}(C_NULL)
    check(zt_component_load(c.handle, C_NULL, buffer))
    handle = buffer[]
    n = div(Int(zt_buffer_size(handle)), sizeof(T))
    made = unsafe_wrap(Array, Ptr{T}(zt_buffer_data(handle)), dims === nothing ? (n,) : dims; own = false)
    finalizer(_ -> zt_buffer_free(handle), made)
    return made
end
array(o::Object) = array(o["data"], size(o))

"Writes a file: `ZTensor.create(path) do w; ZTensor.write(w, \"a\", rand(Float32, 3, 2)); end`. It appears whole, or not at all."
function create(body::Function, path::AbstractString)
    handle = Ref{Ptr{Cvoid}}(C_NULL)
    check(zt_writer_create(path, sized(zt_writer_options), handle))
    try
        body(handle[])
    catch
        zt_writer_abort(handle[])
        rethrow()
    end
    check(zt_writer_finish(handle[], C_NULL))
end

"Writes an array as a dense object whose shape is the array's in reverse."
function write(writer::Ptr{Cvoid}, name::AbstractString, a::Array{T}) where {T}
    found = findfirst(isequal(T), TYPES)
    found === nothing && throw(ArgumentError("no dtype has elements of $T"))
    logical = startswith(found, "complex")
    number = Ref{Int32}(0)
    check(zt_dtype_from_name(logical ? (T === ComplexF32 ? "f32" : "f64") : (T === UInt8 ? "u8" : found), number))
    kind = Ref{Int32}(ZT_TYPE_NONE)
    logical && check(zt_type_from_name(found, kind))
    shape = UInt64[reverse(size(a))...]
    check(zt_writer_add_dense(writer, name, 0, number[], kind[], shape, length(shape), a, sizeof(a)))
end

end
