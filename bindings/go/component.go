package ztensor

/*
#include <ztensor.h>
*/
import "C"

import (
	"io"
	"unsafe"
)

// Component is one blob of an object. It lives until its file is closed.
type Component struct {
	handle *C.zt_component
}

// DType is a storage type.
type DType int32

// The storage types.
const (
	F64  DType = C.ZT_DTYPE_F64
	F32  DType = C.ZT_DTYPE_F32
	F16  DType = C.ZT_DTYPE_F16
	BF16 DType = C.ZT_DTYPE_BF16
	I64  DType = C.ZT_DTYPE_I64
	I32  DType = C.ZT_DTYPE_I32
	I16  DType = C.ZT_DTYPE_I16
	I8   DType = C.ZT_DTYPE_I8
	U64  DType = C.ZT_DTYPE_U64
	U32  DType = C.ZT_DTYPE_U32
	U16  DType = C.ZT_DTYPE_U16
	U8   DType = C.ZT_DTYPE_U8
	Bool DType = C.ZT_DTYPE_BOOL
)

func (d DType) String() string { return C.GoString(C.zt_dtype_name(C.zt_dtype(d))) }

// Size of an element in bytes.
func (d DType) Size() int { return int(C.zt_dtype_size(C.zt_dtype(d))) }

// Role of the component in its object.
func (c Component) Role() string {
	return C.GoStringN(C.zt_component_role(c.handle), C.int(C.zt_component_role_length(c.handle)))
}

// DType is the storage type; 0 for one that is not known, which DTypeName names.
func (c Component) DType() DType { return DType(C.zt_component_dtype(c.handle)) }

// DTypeName is the name of the storage type.
func (c Component) DTypeName() string { return C.GoString(C.zt_component_dtype_name(c.handle)) }

// TypeName is the name of the logical type, "" if there is none.
func (c Component) TypeName() string { return C.GoString(C.zt_component_type_name(c.handle)) }

// Encoding is "raw", "zstd" or another.
func (c Component) Encoding() string { return C.GoString(C.zt_component_encoding_name(c.handle)) }

// Digest as it is written, "" if there is none.
func (c Component) Digest() string { return C.GoString(C.zt_component_digest(c.handle)) }

// Offset of the stored bytes in the file.
func (c Component) Offset() uint64 { return uint64(C.zt_component_offset(c.handle)) }

// StoredSize is how many bytes it takes in the file.
func (c Component) StoredSize() uint64 { return uint64(C.zt_component_stored_size(c.handle)) }

// UnknownSize is what Size gives where the file does not declare it: Measure finds out.
const UnknownSize = uint64(C.ZT_UNKNOWN_SIZE)

// Measure gives Size, found out where the file does not declare it.
func (c Component) Measure() (uint64, error) {
	var size C.uint64_t
	err := call(func() C.zt_status { return C.zt_component_measure(c.handle, nil, nil, &size) })
	return uint64(size), err
}

// Size is how many bytes it has when it is decoded; UnknownSize where the file does not say.
func (c Component) Size() uint64 { return uint64(C.zt_component_size(c.handle)) }

// Bytes lends the component's bytes in the mapped file: read-only, until File.Close. ErrNotMappable where they are
// compressed or the file is not mapped; then Read.
func (c Component) Bytes() ([]byte, error) {
	var data unsafe.Pointer
	var size C.size_t
	if err := call(func() C.zt_status { return C.zt_component_ptr(c.handle, &data, &size) }); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(data), int(size)), nil
}

// Read gives the decoded bytes, in the host's byte order, in memory of their own.
func (c Component) Read() ([]byte, error) {
	// The library checks what is stored before it takes memory; so is it here.
	var loaded *C.zt_buffer
	if err := call(func() C.zt_status { return C.zt_component_load(c.handle, nil, &loaded) }); err != nil {
		return nil, err
	}
	defer C.zt_buffer_free(loaded)
	made := make([]byte, int(C.zt_buffer_size(loaded)))
	copy(made, unsafe.Slice((*byte)(C.zt_buffer_data(loaded)), len(made)))
	return made, nil
}

// ReadInto fills dst, which must have room for Size bytes.
func (c Component) ReadInto(dst []byte) error {
	return call(func() C.zt_status { return C.zt_component_read(c.handle, pointer(dst), C.size_t(len(dst))) })
}

// ReadAt reads decoded bytes from an offset on: an io.ReaderAt.
func (c Component) ReadAt(p []byte, offset int64) (int, error) {
	size, err := c.Measure()
	if err != nil {
		return 0, err
	}
	if offset < 0 || uint64(offset) >= size {
		return 0, io.EOF
	}
	var end error
	if left := size - uint64(offset); uint64(len(p)) > left {
		p, end = p[:left], io.EOF
	}
	err = call(func() C.zt_status {
		return C.zt_component_read_range(c.handle, C.uint64_t(offset), pointer(p), C.size_t(len(p)))
	})
	if err != nil {
		return 0, err
	}
	return len(p), end
}

// Verify checks the digest; ErrUnsupported if there is none.
func (c Component) Verify() error {
	return call(func() C.zt_status { return C.zt_component_verify(c.handle) })
}

// Element is a Go type that a dtype has.
type Element interface {
	float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float64:
		return F64
	case float32:
		return F32
	case int64:
		return I64
	case int32:
		return I32
	case int16:
		return I16
	case int8:
		return I8
	case uint64:
		return U64
	case uint32:
		return U32
	case uint16:
		return U16
	default:
		return U8
	}
}

// Elements lends the component as a slice of its elements: see Component.Bytes. uint16 also looks at f16 and bf16, uint8
// at bool, f8 and anything else of one byte.
func Elements[T Element](c Component) ([]T, error) {
	data, err := c.Bytes()
	if err != nil {
		return nil, err
	}
	var zero T
	width := int(unsafe.Sizeof(zero))
	want, is := dtypeOf[T](), c.DType()
	bits := (want == U16 || want == U8) && is.Size() == width
	if is != want && !bits {
		return nil, refuse(ErrInvalidArgument, "the elements are "+c.DTypeName()+", not "+want.String())
	}
	return unsafe.Slice((*T)(pointer(data)), len(data)/width), nil
}

// Convert reads the elements as T: see zt_component_read_as.
func Convert[T Element](c Component) ([]T, error) {
	width := c.DType().Size()
	if width == 0 {
		return nil, refuse(ErrUnsupported, "elements of "+c.DTypeName()+" cannot be converted")
	}
	made := make([]T, int(c.Size())/width)
	var zero T
	err := call(func() C.zt_status {
		var first unsafe.Pointer
		if len(made) > 0 {
			first = unsafe.Pointer(&made[0])
		}
		return C.zt_component_read_as(c.handle, C.zt_dtype(dtypeOf[T]()), first, C.size_t(len(made)*int(unsafe.Sizeof(zero))))
	})
	return made, err
}
