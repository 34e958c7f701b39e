# Errors, structs of the interface, and numbers with names.

"""
An error: the ZT_ERROR_ number, the library's message, the name of the format's rule that the file broke (or
""), and the number of the system's error (or 0).
"""
struct ZTensorError <: Exception
    status::Int32
    message::String
    rule::String
    os_error::Int32
end
ZTensorError(status, message) = ZTensorError(status, message, "", 0)
Base.showerror(io::IO, e::ZTensorError) = print(io, unsafe_string(zt_status_name(e.status)), ": ", e.message)

function check(status)
    status == ZT_OK && return nothing
    throw(ZTensorError(status, unsafe_string(zt_last_error()), unsafe_string(zt_last_error_rule()), zt_last_os_error()))
end

function __init__()
    zt_abi_version() == ZT_ABI_VERSION || error("$libztensor has ABI $(zt_abi_version()), this package needs $ZT_ABI_VERSION")
end

"The version of the loaded library."
library_version() = VersionNumber(unsafe_string(zt_version()))

"A struct of the interface with struct_size set, the given fields, and zeros, the defaults, elsewhere."
function sized(::Type{T}; fields...) where {T}
    made = Ref{T}()
    at = Base.unsafe_convert(Ptr{T}, made)
    GC.@preserve made begin
        ccall(:memset, Ptr{Cvoid}, (Ptr{Cvoid}, Cint, Csize_t), at, 0, sizeof(T))
        put(at, :struct_size, sizeof(T))
        for (name, value) in fields
            put(at, name, value)
        end
    end
    return made
end

"Sets a field of a struct that is in memory."
function put(at::Ptr{T}, name::Symbol, value) where {T}
    i = findfirst(isequal(name), fieldnames(T))
    i === nothing && throw(ArgumentError("$T has no $name"))
    unsafe_store!(Ptr{fieldtype(T, i)}(at + fieldoffset(T, i)), convert(fieldtype(T, i), value))
end

"A struct that a function fills."
function got(::Type{T}, call, of...) where {T}
    made = sized(T)
    check(call(of..., made))
    return made
end

text(p) = p == C_NULL ? nothing : unsafe_string(p)
text(p, length) = p == C_NULL ? nothing : unsafe_string(Ptr{UInt8}(p), length)

"The fields of a filled struct as a named tuple, without struct_size."
function report(made::Ref{T}) where {T}
    names = fieldnames(T)[2:end]
    values = map(name -> getfield(made[], name), names)
    return NamedTuple{names}(map(v -> v isa Ptr{UInt8} ? text(v) : v, values))
end

"The values of an enumeration by lower-case symbols: :safetensors is ZT_CONTAINER_SAFETENSORS."
function enumeration(prefix)
    names = filter(name -> startswith(string(name), prefix), names_of_constants)
    return Dict(Symbol(lowercase(string(name)[length(prefix)+1:end])) => getfield(@__MODULE__, name) for name in names)
end
const names_of_constants = filter(name -> startswith(string(name), "ZT_"), names(@__MODULE__; all = true))
const MODES = enumeration("ZT_MODE_")
const ADVICE = enumeration("ZT_ADVICE_")
const CONTAINERS = enumeration("ZT_CONTAINER_")
const DIRECT = enumeration("ZT_DIRECT_")
const ENCODINGS = enumeration("ZT_ENCODING_")
const DIGESTS = enumeration("ZT_DIGEST_")
const FORMATS = enumeration("ZT_FORMAT_")
const KINDS = enumeration("ZT_VALUE_KIND_")
const CHECKS = enumeration("ZT_VERIFY_")
const CAPS = enumeration("ZT_CAP_")
const SPECS = enumeration("ZT_SPEC_")

chosen(table, key) = get(() -> throw(ArgumentError("one of $(sort(collect(keys(table)))), not $(repr(key))")), table, key)
symbol(table, number) = findfirst(isequal(number), table)
bits(table, keys) = reduce(|, (chosen(table, key) for key in keys); init = 0)

function dtype_number(name::AbstractString)
    found = Ref{Int32}(0)
    check(zt_dtype_from_name(name, found))
    return found[]
end
function type_number(name::AbstractString)
    found = Ref{Int32}(0)
    check(zt_type_from_name(name, found))
    return found[]
end
dtype_name(number) = text(zt_dtype_name(number))
type_name(number) = text(zt_type_name(number))
format_name(number) = text(zt_format_name(number))
encoding_name(number) = text(zt_encoding_name(number))
"The name in the file, if the library does not know the name."
names_of(i) = (dtype = own(i.dtype_name, dtype_name(i.dtype)), logical_type = own(i.type_name, type_name(i.type_)),
    encoding = own(i.encoding_name, encoding_name(i.encoding)))
own(name, known) = name == C_NULL ? known : text(name)
"The size of an element of a dtype in bytes."
dtype_size(name::AbstractString) = Int(zt_dtype_size(dtype_number(name)))

"The block of a logical type: (elements = 32, bytes = 18) for \"gguf.q4_0\"."
function block(name::AbstractString)
    elements, bytes = Ref{Csize_t}(0), Ref{Csize_t}(0)
    check(zt_type_block(type_number(name), elements, bytes))
    return (elements = Int(elements[]), bytes = Int(bytes[]))
end

"ggml's number (enum ggml_type) of a logical type, or of a dtype: 2 for \"gguf.q4_0\", 0 for \"f32\"."
function ggml_number(name::AbstractString)
    number, type = Ref{Int32}(0), zt_type_from_name(name, Ref{Int32}(0)) == ZT_OK
    check(zt_type_ggml(type ? ZT_DTYPE_U8 : dtype_number(name), type ? type_number(name) : ZT_TYPE_NONE, number))
    return Int(number[])
end

"The name of the type with this number in ggml."
function ggml_type(number::Integer)
    dtype, type = Ref{Int32}(0), Ref{Int32}(0)
    check(zt_type_from_ggml(number, dtype, type))
    return type[] == ZT_TYPE_NONE ? dtype_name(dtype[]) : type_name(type[])
end

"The bits of a bfloat16: Julia does not have this type."
primitive type BF16 16 end

const TYPES = Dict("f64" => Float64, "f32" => Float32, "f16" => Float16, "bf16" => BF16, "i64" => Int64, "i32" => Int32,
    "i16" => Int16, "i8" => Int8, "u64" => UInt64, "u32" => UInt32, "u16" => UInt16, "u8" => UInt8, "bool" => Bool,
    "complex32" => ComplexF16, "complex64" => ComplexF32, "complex128" => ComplexF64)
const STORAGE = Dict("complex32" => "f16", "complex64" => "f32", "complex128" => "f64")

"""
The Julia type of elements. bools in a file may be bytes other than 0 and 1, so they are UInt8. Elements
without a Julia type have their storage type.
"""
function element_type(dtype::AbstractString, logical)
    logical in keys(TYPES) && return TYPES[logical]
    return dtype == "bool" ? UInt8 : TYPES[dtype]
end

"The numbers of the dtype and logical type for elements of T."
function types_of(::Type{T}) where {T}
    found = findfirst(isequal(T), TYPES)
    found === nothing && throw(ArgumentError("elements of $T do not have a dtype"))
    logical = haskey(STORAGE, found)
    return dtype_number(logical ? STORAGE[found] : found), logical ? type_number(found) : Int32(ZT_TYPE_NONE)
end

"""
The number of the dtype for elements of T, which must not have a logical type. A complex number is two
elements.
"""
function dtype_of(::Type{T}) where {T}
    dtype, logical = types_of(T)
    logical == ZT_TYPE_NONE || throw(ArgumentError("$T is not a dtype but a logical type"))
    return dtype
end
