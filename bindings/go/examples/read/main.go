// Reads the components of an object: read FILE NAME
package main

import (
	"fmt"
	"log"
	"os"

	"ztensor"
)

func main() {
	f, err := ztensor.Open(os.Args[1], nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	o, err := f.Object(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range o.Components() {
		data, err := c.Read()
		if err != nil {
			log.Fatal(err)
		}
		var sum uint64
		for _, b := range data {
			sum += uint64(b)
		}
		fmt.Printf("%s: %d bytes, sum %d, first %x\n", c.Role(), len(data), sum, data[:8])
	}
}
