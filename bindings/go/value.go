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

// Value is a value of an attribute, or null. It is valid until its file is closed.
type Value struct {
	handle *C.zt_value
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return Kind(C.zt_value_get_kind(v.handle)) }

// DType returns the dtype that the container declares for a number or an array's elements, or DTypeOther.
func (v Value) DType() DType { return DType(C.zt_value_dtype(v.handle)) }

// Len returns the number of items of an array or of pairs of a map. For a tag it is 1.
func (v Value) Len() int { return int(C.zt_value_count(v.handle)) }

// At returns an item of an array, the value of a pair, or the tagged value. Otherwise it returns a null
// value.
func (v Value) At(i int) Value { return Value{C.zt_value_at(v.handle, C.size_t(i))} }

// Key returns the key of a pair.
func (v Value) Key(i int) Value { return Value{C.zt_value_key_at(v.handle, C.size_t(i))} }

// Find returns the value that a map has for a key.
func (v Value) Find(key string) (Value, bool) {
	text, length := chars(key)
	found := C.zt_value_find_n(v.handle, text, length)
	return Value{found}, found != nil
}

// All iterates over the pairs of a map, or over the items of an array with null keys; see File.All.
func (v Value) All() func(yield func(key, value Value) bool) {
	return func(yield func(key, value Value) bool) {
		for i := 0; i < v.Len(); i++ {
			if !yield(v.Key(i), v.At(i)) {
				return
			}
		}
	}
}

// Bool returns the value of a bool.
func (v Value) Bool() (bool, error) {
	var out C.int32_t
	err := call(func() C.zt_status { return C.zt_value_get_bool(v.handle, &out) })
	return out != 0, err
}

// Int64 returns an integer that fits in int64.
func (v Value) Int64() (int64, error) {
	var out C.int64_t
	err := call(func() C.zt_status { return C.zt_value_get_i64(v.handle, &out) })
	return int64(out), err
}

// Uint64 returns an integer that fits in uint64.
func (v Value) Uint64() (uint64, error) {
	var out C.uint64_t
	err := call(func() C.zt_status { return C.zt_value_get_u64(v.handle, &out) })
	return uint64(out), err
}

// Float64 returns a float, or an integer, rounded if necessary.
func (v Value) Float64() (float64, error) {
	var out C.double
	err := call(func() C.zt_status { return C.zt_value_get_f64(v.handle, &out) })
	return float64(out), err
}

// Text returns a string.
func (v Value) Text() (string, error) {
	var text *C.char
	var length C.size_t
	err := call(func() C.zt_status { return C.zt_value_get_string(v.handle, &text, &length) })
	return counted(text, length), err
}

// Bytes returns a copy of a byte string.
func (v Value) Bytes() ([]byte, error) {
	var data unsafe.Pointer
	var size C.size_t
	err := call(func() C.zt_status { return C.zt_value_get_bytes(v.handle, &data, &size) })
	return append([]byte(nil), borrowed(data, uint64(size))...), err
}

// Tag returns the number of a tag. At(0) returns the tagged value.
func (v Value) Tag() (uint64, error) {
	var out C.uint64_t
	err := call(func() C.zt_status { return C.zt_value_get_tag(v.handle, &out) })
	return uint64(out), err
}

// Numbers returns the numbers of an array, or an error if T cannot hold one exactly. It reads a number as an
// array of one.
func Numbers[T Element](v Value) ([]T, error) {
	count := v.Len()
	if v.Kind() != KindArray {
		count = 1
	}
	made := make([]T, count)
	err := call(func() C.zt_status {
		return C.zt_value_read_numbers(v.handle, C.zt_dtype(dtypeOf[T]()), pointer(bytesOf(made)), C.size_t(count))
	})
	return made, err
}

// Strings returns the texts of an array.
func (v Value) Strings() ([]string, error) {
	var m memory
	defer m.free()
	count := v.Len()
	texts := unsafe.Slice((**C.char)(m.take(uintptr(count)*unsafe.Sizeof((*C.char)(nil)))), count)
	lengths := unsafe.Slice((*C.size_t)(m.take(uintptr(count)*unsafe.Sizeof(C.size_t(0)))), count)
	if err := call(func() C.zt_status {
		return C.zt_value_read_strings(v.handle, first(texts), first(lengths), C.size_t(count))
	}); err != nil {
		return nil, err
	}
	made := make([]string, count)
	for i := range made {
		made[i] = counted(texts[i], lengths[i])
	}
	return made, nil
}

// MarshalJSON returns compact JSON. zt_value_to_json describes values that JSON does not have.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.handle == nil {
		return []byte("null"), nil
	}
	var needed C.size_t
	if err := call(func() C.zt_status { return C.zt_value_to_json(v.handle, nil, 0, &needed) }); err != nil {
		return nil, err
	}
	text := make([]byte, int(needed))
	err := call(func() C.zt_status { return C.zt_value_to_json(v.handle, (*C.char)(pointer(text)), needed, &needed) })
	return text[:len(text)-1], err // without the NUL
}

func attributes(v Value) (map[string]any, error) {
	text, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var made map[string]any
	return made, json.Unmarshal(text, &made)
}
