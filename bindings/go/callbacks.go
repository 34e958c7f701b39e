package ztensor

/*
#include "callbacks.h"
*/
import "C"

import (
	"context"
	"errors"
	"io"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// Watch observes a long call and can stop it with ErrCancelled.
type Watch struct {
	Context  context.Context                    // If it is done, the call stops with its error and ErrCancelled.
	Progress func(done, total uint64) (on bool) // May be called from another goroutine; false stops the call.
}

// watcher is the argument of C's callbacks during one call. A panic of the caller's code must not unwind
// through C; it continues after the call.
type watcher struct {
	Watch
	failure func(Failure) bool
	kept    *lasting // of the file that the call reads
	done    func(tag int, err error)
	handle  cgo.Handle

	mutex    sync.Mutex
	panicked any
}

// watcher returns nil if there is nothing to watch.
func (w Watch) watcher() *watcher {
	if w.Context == nil && w.Progress == nil {
		return nil
	}
	return &watcher{Watch: w}
}

// context returns the pointer that C gets; it is valid until end.
func (w *watcher) context() C.uintptr_t {
	w.handle = cgo.NewHandle(w)
	return C.uintptr_t(w.handle)
}

func (w *watcher) end() {
	if w != nil && w.handle != 0 {
		w.handle.Delete()
		w.handle = 0
	}
}

func (w *watcher) call(body func() C.zt_status) error {
	defer w.end()
	return w.during(body)
}

// during is like call, for functions that are called several times.
func (w *watcher) during(body func() C.zt_status) error {
	err := call(body)
	if w == nil {
		return err
	}
	if w.panicked != nil {
		panic(w.panicked)
	}
	if w.Context != nil && errors.Is(err, ErrCancelled) {
		return because(err, w.Context.Err())
	}
	return err
}

// guarded keeps a panic of the caller's code.
func (w *watcher) guarded(body func()) (stop C.int32_t) {
	defer func() {
		if p := recover(); p != nil {
			w.mutex.Lock()
			w.panicked, stop = p, 1
			w.mutex.Unlock()
		}
	}()
	body()
	return 0
}

// because adds the error of a function of the caller to the library's error.
func because(err, cause error) error {
	var e *Error
	if cause != nil && errors.As(err, &e) {
		e.cause = cause
	}
	return err
}

// Allocator provides the memory that the library returns: memory of C, at a multiple of alignment. Both
// functions are called from any thread. NewAllocator makes an allocator that is valid until the process ends.
type Allocator struct {
	Allocate func(size, alignment uintptr) unsafe.Pointer // nil on failure.
	Free     func(memory unsafe.Pointer, size, alignment uintptr)
	handle   cgo.Handle
}

// NewAllocator makes an allocator for Options.
func NewAllocator(allocate func(size, alignment uintptr) unsafe.Pointer, free func(memory unsafe.Pointer, size, alignment uintptr)) *Allocator {
	a := &Allocator{Allocate: allocate, Free: free}
	a.handle = cgo.NewHandle(a)
	return a
}

// ThreadHooks are called on each thread that the library starts, with the thread's number in its call.
// NewThreadHooks makes hooks that are valid until the process ends.
type ThreadHooks struct {
	start, end func(index int)
	handle     cgo.Handle
}

// NewThreadHooks makes hooks for Options and WriterOptions. Each function may be nil.
func NewThreadHooks(start, end func(index int)) *ThreadHooks {
	h := &ThreadHooks{start: start, end: end}
	h.handle = cgo.NewHandle(h)
	return h
}

// Range is a range of bytes that the library reads from a source.
type Range struct {
	Offset uint64
	Dst    []byte
}

// Source describes where a file's bytes come from. Several goroutines use ReaderAt at once, until File.Close.
// If it is an io.Closer, File.Close closes it. If it has ReadMany([]Range) error, that method fills several
// ranges at once. The other fields are those of zt_source.
type Source struct {
	io.ReaderAt
	Size           int64
	Name           string
	Gap            uint64
	LargestRequest uint64
	Concurrency    int
	CallersThread  bool
	Identity       uint64
}

type manyReader interface{ ReadMany([]Range) error }

type source struct {
	Source
	mutex sync.Mutex
	said  error
}

// fill describes the source to C. C closes the source.
func (s *source) fill(m *memory, c *C.zt_source) {
	_, many := s.ReaderAt.(manyReader)
	C.zt_go_source(c, C.uintptr_t(cgo.NewHandle(s)), C.int(flag(many)))
	if s.Name != "" {
		c.name = m.text(s.Name)
	}
	c.gap, c.largest_request = C.uint64_t(s.Gap), C.uint64_t(s.LargestRequest)
	c.concurrency, c.callers_thread = C.uint32_t(s.Concurrency), flag(s.CallersThread)
	c.identity = C.uint64_t(s.Identity)
}

func (s *source) keep(err error) {
	s.mutex.Lock()
	s.said = err
	s.mutex.Unlock()
}

func (s *source) failed() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.said
}

// opener is a Store that is used by one call.
type opener struct {
	Store
	source // for its errors
	texts  memory
}

type writing struct {
	io.Writer
	said     error
	panicked any
}

// status converts an error of the caller for C: its status, if it has one, and its text.
func status(err error) C.zt_status {
	if err == nil {
		return C.ZT_OK
	}
	text := new(memory)
	defer text.free()
	C.zt_set_last_error(text.text(err.Error()))
	var e *Error
	var s Status
	if errors.As(err, &e) {
		return C.zt_status(e.Status)
	}
	if errors.As(err, &s) {
		return C.zt_status(s)
	}
	return C.ZT_ERROR_IO
}
