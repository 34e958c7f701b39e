package ztensor

/*
#include <stdlib.h>
#include <ztensor_advanced.h>
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// memory keeps what C uses during a call: structs, texts and arrays of C, and pinned slices of Go.
type memory struct {
	held   []unsafe.Pointer
	pinned pinner
}

func (m *memory) take(size uintptr) unsafe.Pointer {
	made := C.calloc(1, C.size_t(size)+1) // never 0 bytes, never nil: cgo ends the process if the allocation fails
	m.held = append(m.held, made)
	return made
}

func (m *memory) free() {
	for _, one := range m.held {
		C.free(one)
	}
	m.held = nil
	m.pinned.Unpin()
}

// lasting is the memory of a file that is in memory. It stays until its last reader is done. It is nil for
// other files.
type lasting struct {
	memory
	users int32
}

func (l *lasting) retain() *lasting {
	if l != nil {
		atomic.AddInt32(&l.users, 1)
	}
	return l
}

func (l *lasting) release() {
	if l != nil && atomic.AddInt32(&l.users, -1) == 0 {
		l.free()
	}
}

// sized makes a struct with struct_size set and zeros, the defaults, elsewhere.
func sized[T any](m *memory, count int) []T {
	var one T
	made := unsafe.Slice((*T)(m.take(unsafe.Sizeof(one)*uintptr(count))), count)
	for i := range made {
		*(*C.size_t)(unsafe.Pointer(&made[i])) = C.size_t(unsafe.Sizeof(one))
	}
	return made
}

func (m *memory) text(s string) *C.char {
	made := m.take(uintptr(len(s)) + 1)
	copy(unsafe.Slice((*byte)(made), len(s)), s)
	return (*C.char)(made)
}

func (m *memory) numbers(n []uint64) *C.uint64_t {
	if len(n) == 0 {
		return nil
	}
	made := m.take(uintptr(len(n)) * 8)
	copy(unsafe.Slice((*uint64)(made), len(n)), n)
	return (*C.uint64_t)(made)
}

// borrow sets a field of a C struct to a slice of Go, until free.
func (m *memory) borrow(field *unsafe.Pointer, b []byte) {
	if len(b) > 0 {
		m.pinned.Pin(&b[0])
		*(*uintptr)(unsafe.Pointer(field)) = uintptr(unsafe.Pointer(&b[0]))
	}
}

// chars returns C text that is valid during a call.
func chars(s string) (*C.char, C.size_t) {
	return (*C.char)(pointer([]byte(s))), C.size_t(len(s))
}

func pointer(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(&b[0])
}

func numbers(n []uint64) *C.uint64_t {
	if len(n) == 0 {
		return nil
	}
	return (*C.uint64_t)(unsafe.Pointer(&n[0]))
}

func bytesOf[T any](data []T) []byte {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*int(unsafe.Sizeof(data[0])))
}

func borrowed(data unsafe.Pointer, size uint64) []byte { return unsafe.Slice((*byte)(data), int(size)) }

func counted(text *C.char, length C.size_t) string {
	return string(borrowed(unsafe.Pointer(text), uint64(length)))
}

func first[T any](items []T) *T {
	if len(items) == 0 {
		return nil
	}
	return &items[0]
}

// texts returns a C array of NUL-terminated texts.
func (m *memory) texts(all []string) **C.char {
	made := unsafe.Slice((**C.char)(m.take(uintptr(len(all))*unsafe.Sizeof((*C.char)(nil)))), len(all))
	for i, one := range all {
		made[i] = m.text(one)
	}
	return first(made)
}
