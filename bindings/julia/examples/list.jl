# Lists the objects of a .zt file: julia list.jl FILE
using ZTensor

ZTensor.open(ARGS[1]) do file
    println("zTensor ", ZTensor.version(file), ", ", length(file), " objects")
    for o in file
        println(ZTensor.name(o), ": ", ZTensor.format_name(o), " [", join(ZTensor.shape(o), ", "), "]")
        for c in ZTensor.components(o)
            println("  ", ZTensor.role(c), ": ", ZTensor.dtype(c), " ", something(ZTensor.logical_type(c), "-"), " ", ZTensor.encoding(c), " ",
                sizeof(c), " bytes, ", something(ZTensor.digest(c), "no digest"))
        end
    end
end
