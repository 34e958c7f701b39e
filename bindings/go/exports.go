package ztensor

/*
#include <stdint.h>
#include <ztensor_advanced.h>

static inline zt_status zt_go_report(void *add, void *names, const char *name) { return ((zt_name_callback)add)(names, name); }
*/
import "C"

import (
	"fmt"
	"io"
	"runtime/cgo"
	"unsafe"
)

func of[T any](handle C.uintptr_t) T { return cgo.Handle(handle).Value().(T) }

// caught turns a panic of the caller's code into an error.
func caught(body func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return body()
}

//export goProgress
func goProgress(handle C.uintptr_t, done, total C.uint64_t) (stop C.int32_t) {
	w := of[*watcher](handle)
	panicked := w.guarded(func() {
		if w.Context != nil && w.Context.Err() != nil || w.Progress != nil && !w.Progress(uint64(done), uint64(total)) {
			stop = 1
		}
	})
	return stop | panicked
}

//export goFailure
func goFailure(handle C.uintptr_t, object *C.zt_object, component *C.zt_component, said C.zt_status, message *C.char) (stop C.int32_t) {
	w := of[*watcher](handle)
	panicked := w.guarded(func() {
		if !w.failure(Failure{Object{object, w.kept}, Component{component, w.kept}, refuse(Status(said), C.GoString(message))}) {
			stop = 1
		}
	})
	return stop | panicked
}

//export goDone
func goDone(handle C.uintptr_t, tag C.uint64_t, said C.zt_status, message *C.char) {
	w := of[*watcher](handle)
	w.guarded(func() {
		var err error
		if said != C.ZT_OK {
			err = refuse(Status(said), C.GoString(message))
		}
		w.done(int(tag), err)
	})
}

//export goThread
func goThread(handle C.uintptr_t, index C.uint32_t, end C.int32_t) {
	h := of[*ThreadHooks](handle)
	call := h.start
	if end != 0 {
		call = h.end
	}
	if call != nil {
		call(int(index))
	}
}

//export goAllocate
func goAllocate(handle C.uintptr_t, size, alignment C.size_t) unsafe.Pointer {
	return of[*Allocator](handle).Allocate(uintptr(size), uintptr(alignment))
}

//export goFree
func goFree(handle C.uintptr_t, memory unsafe.Pointer, size, alignment C.size_t) {
	of[*Allocator](handle).Free(memory, uintptr(size), uintptr(alignment))
}

//export goSize
func goSize(handle C.uintptr_t, size *C.uint64_t) C.zt_status {
	*size = C.uint64_t(of[*source](handle).Size)
	return C.ZT_OK
}

func (s *source) answer(body func() error) C.zt_status {
	err := caught(body)
	if err != nil {
		s.keep(err)
	}
	return status(err)
}

//export goReadAt
func goReadAt(handle C.uintptr_t, offset C.uint64_t, dst unsafe.Pointer, n C.size_t) C.zt_status {
	s := of[*source](handle)
	return s.answer(func() error {
		read, err := s.ReadAt(borrowed(dst, uint64(n)), int64(offset))
		if read == int(n) {
			return nil
		}
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
}

//export goReadMany
func goReadMany(handle C.uintptr_t, ranges *C.zt_source_range, count C.size_t) C.zt_status {
	s := of[*source](handle)
	return s.answer(func() error {
		wanted := make([]Range, int(count))
		for i, r := range unsafe.Slice(ranges, int(count)) {
			wanted[i] = Range{uint64(r.offset), borrowed(r.dst, uint64(r.size))}
		}
		return s.ReaderAt.(manyReader).ReadMany(wanted)
	})
}

//export goClose
func goClose(handle C.uintptr_t) {
	if s, is := cgo.Handle(handle).Value().(*source); is {
		if closer, is := s.ReaderAt.(io.Closer); is {
			closer.Close()
		}
	}
	cgo.Handle(handle).Delete()
}

//export goWrite
func goWrite(handle C.uintptr_t, data unsafe.Pointer, n C.size_t) C.zt_status {
	w := of[*writing](handle)
	if w.said == nil {
		w.said = caught(func() error {
			written, err := w.Write(borrowed(data, uint64(n)))
			if err == nil && written != int(n) {
				err = io.ErrShortWrite
			}
			return err
		})
	}
	return status(w.said)
}

//export goStoreOpen
func goStoreOpen(handle C.uintptr_t, name *C.char, made *C.zt_source) C.zt_status {
	o := of[*opener](handle)
	return o.answer(func() error {
		from, err := o.Open(C.GoString(name))
		if err == nil {
			o.mutex.Lock()
			defer o.mutex.Unlock()
			(&source{Source: from}).fill(&o.texts, made)
		}
		return err
	})
}

//export goStoreList
func goStoreList(handle C.uintptr_t, folder *C.char, add, names unsafe.Pointer) (reported C.zt_status) {
	o := of[*opener](handle)
	said := o.answer(func() error {
		found, err := o.List(C.GoString(folder))
		var texts memory
		defer texts.free()
		for _, name := range found {
			if reported == C.ZT_OK {
				reported = C.zt_go_report(add, names, texts.text(name))
			}
		}
		return err
	})
	if said != C.ZT_OK {
		return said
	}
	return reported
}
