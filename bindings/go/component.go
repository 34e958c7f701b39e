package ztensor

/*
#include <ztensor_advanced.h>
#include "callbacks.h"
*/
import "C"

import (
	"io"
	"math"
	"unsafe"
)

// Component is one blob of an object. It is valid until its file is closed.
type Component struct {
	handle *C.zt_component
	kept   *lasting
}

// info returns zeros for the null component.
func (c Component) info() (i C.zt_component_info) {
	i.struct_size = C.sizeof_zt_component_info
	C.zt_component_get_info(c.handle, &i)
	return i
}

// Role returns the component's role in its object.
func (c Component) Role() string {
	i := c.info()
	return counted(i.role, i.role_length)
}

// DType returns the storage type, or 0 if it is unknown. DTypeName then returns its name.
func (c Component) DType() DType { return DType(C.zt_component_dtype(c.handle)) }

// DTypeName returns the name of the storage type.
func (c Component) DTypeName() string {
	i := c.info()
	return own(i.dtype_name, DType(i.dtype))
}

// TypeName returns the name of the logical type, or "" if there is not one.
func (c Component) TypeName() string {
	i := c.info()
	return own(i.type_name, Type(i._type))
}

// Type returns the logical type, or TypeNone if there is not one.
func (c Component) Type() Type { return Type(C.zt_component_type(c.handle)) }

// Encoding returns EncodingRaw, EncodingZstd or another encoding.
func (c Component) Encoding() Encoding { return Encoding(C.zt_component_encoding(c.handle)) }

// EncodingName returns "raw", "zstd" or another name. If the encoding is unknown, this is the name in the
// file.
func (c Component) EncodingName() string {
	i := c.info()
	return own(i.encoding_name, Encoding(i.encoding))
}

// Digest returns the text of the digest, or "" if there is not one.
func (c Component) Digest() string { return C.GoString(C.zt_component_digest(c.handle)) }

// Caps returns a set of Cap bits: the calls that work on the component.
func (c Component) Caps() Cap { return Cap(C.zt_component_caps(c.handle)) }

// Part returns the number of the model's file that holds the component. Offset counts from its start.
func (c Component) Part() int { return int(c.info().part) }

// Offset returns the position of the stored bytes in the file.
func (c Component) Offset() uint64 { return uint64(c.info().offset) }

// StoredSize returns the number of stored bytes.
func (c Component) StoredSize() uint64 { return uint64(c.info().stored_size) }

// UnknownSize is the result of Size if the file does not declare the size. Measure computes it.
const UnknownSize = uint64(C.ZT_UNKNOWN_SIZE)

// Measure returns Size. If the file does not declare the size, it decodes the component to compute it.
func (c Component) Measure() (uint64, error) {
	var size C.uint64_t
	err := call(func() C.zt_status { return C.zt_component_measure(c.handle, nil, nil, &size) })
	return uint64(size), err
}

// MeasureWatched is Measure with a Watch, for components that must be decoded completely.
func (c Component) MeasureWatched(watch Watch) (uint64, error) {
	w := watch.watcher()
	if w == nil {
		return c.Measure()
	}
	var size C.uint64_t
	handle := w.context()
	err := w.call(func() C.zt_status { return C.zt_go_measure(c.handle, handle, &size) })
	return uint64(size), err
}

// Size returns the number of decoded bytes, or UnknownSize if the file does not declare it.
func (c Component) Size() uint64 { return uint64(C.zt_component_size(c.handle)) }

// Bytes returns the component's bytes in the mapped file. They are read-only and valid until File.Close. If
// they are compressed or the file is not mapped it returns ErrNotMappable; call Read then.
func (c Component) Bytes() ([]byte, error) {
	var data unsafe.Pointer
	var size C.size_t
	if err := call(func() C.zt_status { return C.zt_component_ptr(c.handle, &data, &size) }); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(data), int(size)), nil
}

// Read returns the decoded bytes, in the host's byte order, in new memory.
func (c Component) Read() ([]byte, error) {
	// Like the library, check what is stored before allocating.
	loaded, err := c.Load(nil)
	if err != nil {
		return nil, err
	}
	defer loaded.Free()
	return append([]byte(nil), loaded.Bytes()...), nil
}

// Buffer holds decoded bytes: memory of the library, or bytes of the mapped file. It keeps the file open
// until Free.
type Buffer struct {
	handle *C.zt_buffer
	kept   *lasting
}

// Load decodes the component. options may be nil.
func (c Component) Load(options *ReadOptions) (*Buffer, error) {
	var m memory
	defer m.free()
	o, w := options.c(&m)
	made := &Buffer{kept: c.kept.retain()}
	if err := w.call(func() C.zt_status { return C.zt_component_load(c.handle, o, &made.handle) }); err != nil {
		made.Free()
		return nil, err
	}
	return made, nil
}

// Bytes returns the buffer's bytes, valid until Free.
func (b *Buffer) Bytes() []byte {
	return borrowed(C.zt_buffer_data(b.handle), uint64(C.zt_buffer_size(b.handle)))
}

// Free frees the buffer. A second call does nothing.
func (b *Buffer) Free() {
	C.zt_buffer_free(b.handle)
	b.handle = nil
	b.kept.release()
	b.kept = nil
}

// ReadStored fills dst with the stored bytes, without decoding them.
func (c Component) ReadStored(dst []byte) error {
	return call(func() C.zt_status { return C.zt_component_read_stored(c.handle, pointer(dst), C.size_t(len(dst))) })
}

// Advise tells the system how the stored bytes will be used. It returns ErrUnsupported if the file cannot be
// advised.
func (c Component) Advise(advice Advice) error {
	return call(func() C.zt_status { return C.zt_component_advise(c.handle, C.zt_advice(advice)) })
}

// ReadInto decodes the component into dst, which must hold Size bytes.
func (c Component) ReadInto(dst []byte) error {
	return call(func() C.zt_status { return C.zt_component_read(c.handle, pointer(dst), C.size_t(len(dst))) })
}

// ReadAt reads decoded bytes from an offset on. It implements io.ReaderAt.
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

// Element is a Go type that matches a dtype.
type Element interface {
	float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float64:
		return DTypeF64
	case float32:
		return DTypeF32
	case int64:
		return DTypeI64
	case int32:
		return DTypeI32
	case int16:
		return DTypeI16
	case int8:
		return DTypeI8
	case uint64:
		return DTypeU64
	case uint32:
		return DTypeU32
	case uint16:
		return DTypeU16
	default:
		return DTypeU8
	}
}

// Elements returns the component as a slice of elements, without a copy; see Component.Bytes. uint16 also
// matches f16 and bf16. uint8 also matches bool, f8 and every other type of one byte.
func Elements[T Element](c Component) ([]T, error) {
	data, err := c.Bytes()
	if err != nil {
		return nil, err
	}
	return elements[T](data, c.DType())
}

func elements[T Element](data []byte, is DType) ([]T, error) {
	var zero T
	width := int(unsafe.Sizeof(zero))
	want := dtypeOf[T]()
	bits := (want == DTypeU16 || want == DTypeU8) && is.Size() == width
	if is != want && !bits {
		return nil, refuse(ErrInvalidArgument, "the elements are "+is.String()+", not "+want.String())
	}
	return unsafe.Slice((*T)(pointer(data)), len(data)/width), nil
}

// SizeAs returns how many bytes the object's numbers have as elements of a dtype. It returns ErrUnsupported
// if the object is not one array of numbers.
func (o Object) SizeAs(dtype DType) (uint64, error) {
	var size C.uint64_t
	err := call(func() C.zt_status { return C.zt_object_size_as(o.handle, C.zt_dtype(dtype), &size) })
	return uint64(size), err
}

// Convert reads all numbers of an object as T, row-major; see zt_object_read_as. A complex element becomes
// two numbers.
func Convert[T Element](o Object) ([]T, error) {
	size, err := o.SizeAs(dtypeOf[T]())
	if err != nil {
		return nil, err
	}
	if size > math.MaxInt {
		return nil, refuse(ErrLimit, "more elements than this machine can address")
	}
	if size > 16<<20 {
		// A compressed file may claim any size, and Go ends the process if an allocation fails. The library checks
		// the size first.
		if data, err := o.Component("data"); err == nil && data.Size() > data.StoredSize() {
			loaded, err := data.Load(nil)
			if err != nil {
				return nil, err
			}
			loaded.Free()
		}
	}
	var zero T
	made := make([]T, size/uint64(unsafe.Sizeof(zero)))
	var written C.size_t
	err = call(func() C.zt_status {
		var first unsafe.Pointer
		if len(made) > 0 {
			first = unsafe.Pointer(&made[0])
		}
		return C.zt_object_read_as(o.handle, C.zt_dtype(dtypeOf[T]()), first, C.size_t(size), &written)
	})
	if err != nil {
		return nil, err
	}
	return made[:int(written)/int(unsafe.Sizeof(zero))], nil
}
