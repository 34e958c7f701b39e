// Writes a file with one tensor of each kind: write FILE
package main

import (
	"log"
	"os"

	"ztensor"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	w, err := ztensor.Create(os.Args[1], nil)
	must(err)
	defer w.Abort()
	must(w.SetAttribute("producer", "bindings"))
	must(w.SetAttribute("layers", 3))
	must(ztensor.WriteDense(w, "weight", []uint64{2, 3}, []float32{0, 0.5, 1, 1.5, 2, 2.5}))
	half := ztensor.PartOf("data", []uint16{0x3f80, 0x4000, 0x4040, 0x4080})
	half.DType = ztensor.BF16
	must(w.WriteObject("half", "dense", []uint64{4}, nil, half))
	numbers := make([]int32, 1000)
	for i := range numbers {
		numbers[i] = int32(i % 7)
	}
	packed := ztensor.PartOf("data", numbers)
	packed.Zstd, packed.Digest = true, "sha256"
	must(w.WriteObject("packed", "dense", []uint64{1000}, nil, packed))
	must(w.WriteObject("sparse", "sparse_csr", []uint64{2, 4}, nil, ztensor.PartOf("values", []float64{1, 2, 3}),
		ztensor.PartOf("indices", []uint64{0, 3, 1}), ztensor.PartOf("indptr", []uint64{0, 2, 3})))
	must(w.Finish())
}
