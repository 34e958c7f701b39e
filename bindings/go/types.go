package ztensor

/*
#include <stdlib.h>
#include <ztensor_advanced.h>
*/
import "C"

import "unsafe"

func (d DType) String() string     { return C.GoString(C.zt_dtype_name(C.zt_dtype(d))) }
func (t Type) String() string      { return C.GoString(C.zt_type_name(C.zt_type(t))) }
func (f Format) String() string    { return C.GoString(C.zt_format_name(C.zt_format(f))) }
func (e Encoding) String() string  { return C.GoString(C.zt_encoding_name(C.zt_encoding(e))) }
func (c Container) String() string { return C.GoString(C.zt_container_name(C.zt_container(c))) }

// own returns the name in the file if the library does not know the name.
func own(name *C.char, known interface{ String() string }) string {
	if name != nil {
		return C.GoString(name)
	}
	return known.String()
}

// Size returns the size of an element in bytes.
func (d DType) Size() int { return int(C.zt_dtype_size(C.zt_dtype(d))) }

// ParseDType returns the dtype with a name, such as "bf16".
func ParseDType(name string) (DType, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var found C.zt_dtype
	err := call(func() C.zt_status { return C.zt_dtype_from_name(text, &found) })
	return DType(found), err
}

// ParseType returns the logical type with a name, such as "f8_e4m3fn".
func ParseType(name string) (Type, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var found C.zt_type
	err := call(func() C.zt_status { return C.zt_type_from_name(text, &found) })
	return Type(found), err
}

// Block returns how many elements of a logical type are in how many bytes: 32 elements in 18 bytes.
func (t Type) Block() (elements, bytes int, err error) {
	var n, size C.size_t
	err = call(func() C.zt_status { return C.zt_type_block(C.zt_type(t), &n, &size) })
	return int(n), int(size), err
}

// GGMLNumber returns ggml's number (enum ggml_type) of a type that is stored as dtype.
func GGMLNumber(dtype DType, t Type) (number int, err error) {
	var found C.int32_t
	err = call(func() C.zt_status { return C.zt_type_ggml(C.zt_dtype(dtype), C.zt_type(t), &found) })
	return int(found), err
}

// TypeFromGGML returns the storage type and the logical type with a number in ggml.
func TypeFromGGML(number int) (dtype DType, t Type, err error) {
	var stored C.zt_dtype
	var found C.zt_type
	err = call(func() C.zt_status { return C.zt_type_from_ggml(C.int32_t(number), &stored, &found) })
	return DType(stored), Type(found), err
}
