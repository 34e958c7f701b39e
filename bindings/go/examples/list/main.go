// Lists the objects of a .zt file: list FILE
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"ztensor"
)

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func main() {
	f, err := ztensor.Open(os.Args[1], nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Printf("zTensor %s, %d objects\n", f.Version(), f.Len())
	for _, o := range f.Objects() {
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(o.Shape()), "[]"), " ", ", ")
		fmt.Printf("%s: %s [%s]\n", o.Name(), o.FormatName(), shape)
		for _, c := range o.Components() {
			fmt.Printf("  %s: %s %s %s %d bytes, %s\n", c.Role(), c.DTypeName(), or(c.TypeName(), "-"), c.EncodingName(), c.Size(),
				or(c.Digest(), "no digest"))
		}
	}
}
