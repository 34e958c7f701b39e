package ztensor

/*
#include <stdlib.h>
#include <ztensor_advanced.h>
*/
import "C"

import (
	"encoding/json"
	"unsafe"
)

// Removed, as the value of an attribute, removes the attribute.
var Removed = new(struct{ removed bool })

// NumbersOf makes an attribute's value: an array with elements of T's dtype.
func NumbersOf[T Element](data []T) any {
	return numbersAttribute{dtypeOf[T](), bytesOf(data), len(data)}
}

type numbersAttribute struct {
	dtype DType
	bytes []byte
	count int
}

// attribute describes a value to C: bool, int64, uint64, float64, string, []byte, []string, a result of
// NumbersOf, a Value of an open file, Removed, or a value that encoding/json encodes.
func (m *memory) attribute(key string, value any) (*C.zt_attribute, error) {
	c := &sized[C.zt_attribute](m, 1)[0]
	c.key_length = C.size_t(len(key))
	text := func(kind C.zt_attribute_kind, s string) {
		c.kind, c.data, c.size = kind, unsafe.Pointer(m.text(s)), C.size_t(len(s))
	}
	switch v := value.(type) {
	case bool:
		c.kind, c.i64 = C.ZT_ATTRIBUTE_KIND_BOOL, C.int64_t(flag(v))
	case int64:
		c.kind, c.i64 = C.ZT_ATTRIBUTE_KIND_I64, C.int64_t(v)
	case uint64:
		c.kind, c.u64 = C.ZT_ATTRIBUTE_KIND_U64, C.uint64_t(v)
	case float64:
		c.kind, c.f64 = C.ZT_ATTRIBUTE_KIND_F64, C.double(v)
	case string:
		text(C.ZT_ATTRIBUTE_KIND_STRING, v)
	case []byte:
		text(C.ZT_ATTRIBUTE_KIND_BYTES, string(v))
	case []string:
		lengths := unsafe.Slice((*C.size_t)(m.take(uintptr(len(v))*unsafe.Sizeof(C.size_t(0)))), len(v))
		for i, one := range v {
			lengths[i] = C.size_t(len(one))
		}
		c.kind, c.data, c.count = C.ZT_ATTRIBUTE_KIND_STRINGS, unsafe.Pointer(m.texts(v)), C.size_t(len(v))
		c.lengths = first(lengths)
	case numbersAttribute:
		c.kind, c.dtype, c.count = C.ZT_ATTRIBUTE_KIND_NUMBERS, C.zt_dtype(v.dtype), C.size_t(v.count)
		m.borrow(&c.data, v.bytes)
	case Value:
		c.kind, c.data = C.ZT_ATTRIBUTE_KIND_VALUE, unsafe.Pointer(v.handle)
	default:
		if value == any(Removed) {
			c.kind = C.ZT_ATTRIBUTE_KIND_REMOVE
			break
		}
		made, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		text(C.ZT_ATTRIBUTE_KIND_JSON, string(made))
	}
	return c, nil
}

// SetAttribute sets an attribute of the file or, if object is not "", of an object: one between Begin and
// End, or one that the file had before an append. The value is a bool, int64, uint64, float64, string,
// []byte, []string, a result of NumbersOf, a Value of an open file, or a value that encoding/json encodes.
// Removed removes the attribute.
func (w *Writer) SetAttribute(key string, value any, object ...string) error {
	var m memory
	defer m.free()
	a, err := m.attribute(key, value)
	if err != nil {
		return err
	}
	name, length := m.optional(object)
	return w.call(func() C.zt_status { return C.zt_write_attribute(w.handle, name, length, m.text(key), a) })
}

// RemoveObject removes an object that the file had before an append. A new object may have its name.
func (w *Writer) RemoveObject(name string) error {
	var m memory
	defer m.free()
	return w.call(func() C.zt_status { return C.zt_write_remove(w.handle, m.text(name), C.size_t(len(name))) })
}

// RenameObject renames an object that the file had before an append.
func (w *Writer) RenameObject(name, newName string) error {
	var m memory
	defer m.free()
	return w.call(func() C.zt_status {
		return C.zt_write_rename(w.handle, m.text(name), C.size_t(len(name)), m.text(newName), C.size_t(len(newName)))
	})
}
