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
	half := ztensor.DataOf("data", []uint16{0x3f80, 0x4000, 0x4040, 0x4080})
	half.DType = ztensor.DTypeBF16
	must(w.WriteObject(ztensor.Description{Name: "half", Format: ztensor.FormatDense, Shape: []uint64{4}}, half))
	numbers := make([]int32, 1000)
	for i := range numbers {
		numbers[i] = int32(i % 7)
	}
	packed := ztensor.DataOf("data", numbers)
	packed.Encoding, packed.Digest = ztensor.EncodingZstd, ztensor.DigestSHA256
	must(w.WriteObject(ztensor.Description{Name: "packed", Format: ztensor.FormatDense, Shape: []uint64{1000}}, packed))
	must(w.WriteObject(ztensor.Description{Name: "sparse", Format: ztensor.FormatSparseCSR, Shape: []uint64{2, 4}},
		ztensor.DataOf("values", []float64{1, 2, 3}), ztensor.DataOf("indices", []uint64{0, 3, 1}), ztensor.DataOf("indptr", []uint64{0, 2, 3})))
	_, err = w.Finish()
	must(err)
}
