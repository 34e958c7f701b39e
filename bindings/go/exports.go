package ztensor

/*
#include <stdint.h>
#include <ztensor.h>
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

type source struct {
	io.ReaderAt
	size int64
}

// guarded keeps a panic of the caller's code out of C.
func guarded(status *C.zt_status) {
	if recover() != nil {
		*status = C.ZT_ERROR_IO
	}
}

//export goProgress
func goProgress(handle C.uintptr_t, done, total C.uint64_t) (stop C.int32_t) {
	defer func() {
		if recover() != nil {
			stop = 1
		}
	}()
	if cgo.Handle(handle).Value().(func(done, total uint64) bool)(uint64(done), uint64(total)) {
		return 0
	}
	return 1
}

//export goSize
func goSize(handle C.uintptr_t, size *C.uint64_t) C.zt_status {
	*size = C.uint64_t(cgo.Handle(handle).Value().(*source).size)
	return C.ZT_OK
}

//export goReadAt
func goReadAt(handle C.uintptr_t, offset C.uint64_t, dst unsafe.Pointer, n C.size_t) (status C.zt_status) {
	defer guarded(&status)
	read, _ := cgo.Handle(handle).Value().(*source).ReadAt(unsafe.Slice((*byte)(dst), int(n)), int64(offset))
	if read != int(n) {
		return C.ZT_ERROR_IO
	}
	return C.ZT_OK
}

//export goWrite
func goWrite(handle C.uintptr_t, data unsafe.Pointer, n C.size_t) (status C.zt_status) {
	defer guarded(&status)
	written, err := cgo.Handle(handle).Value().(io.Writer).Write(unsafe.Slice((*byte)(data), int(n)))
	if err != nil || written != int(n) {
		return C.ZT_ERROR_IO
	}
	return C.ZT_OK
}

//export goClose
func goClose(handle C.uintptr_t) { cgo.Handle(handle).Delete() }
