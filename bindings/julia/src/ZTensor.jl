"""
zTensor `.zt` files, and the other containers that libztensor reads (safetensors, GGUF, ...), through the C library libztensor.

Dimensions are reversed: a file is row-major, Julia is column-major. Numbers that a file holds (indices, coordinates, offsets) are
the file's, from 0. What is borrowed lives as long as its File, which everything keeps; arrays outlive `close`.
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
