"""
zTensor `.zt` files, and the other containers that libztensor reads (safetensors, GGUF, ...), through the C library libztensor.

Dimensions are reversed: a file is row-major, Julia is column-major. Indices, coordinates and offsets are
those of the file, from 0. Borrowed memory is valid as long as its File. Objects and arrays keep the File;
arrays stay valid after `close`.
"""
module ZTensor

const libztensor = get(ENV, "LIBZTENSOR", "libztensor.so.1")

include("declarations.jl")
include("base.jl")
include("callbacks.jl")
include("values.jl")
include("objects.jl")
include("files.jl")
include("caches.jl")
include("loads.jl")
include("writing.jl")

end
