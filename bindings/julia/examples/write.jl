# Writes a file: julia write.jl FILE
using ZTensor

ZTensor.create(ARGS[1]) do w
    ZTensor.set_attribute(w, "producer", "bindings")
    ZTensor.set_attribute(w, "layers", 3)
    ZTensor.write(w, "weight", reshape(Float32[0, 0.5, 1, 1.5, 2, 2.5], 3, 2)) # 2 x 3 in the file
    ZTensor.write(w, "half", reinterpret.(ZTensor.BF16, UInt16[0x3f80, 0x4000, 0x4040, 0x4080]))
    ZTensor.write(w, "packed", Int32[i % 7 for i in 0:999]; encoding = :zstd, digest = :sha256)
    ZTensor.write_csr(w, "sparse", 2, 4, [1.0, 2.0, 3.0], [0, 3, 1], [0, 2, 3])
end
