# Reads an object: julia read.jl FILE NAME
using ZTensor

ZTensor.open(ARGS[1]) do file
    for c in ZTensor.components(file[ARGS[2]])
        data = read(c)
        println(ZTensor.role(c), ": ", length(data), " bytes, sum ", sum(Int, data), ", first ", bytes2hex(data[1:8]))
    end
end
