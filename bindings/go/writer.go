package ztensor

/*
#include <stdlib.h>
#include <ztensor_advanced.h>
#include "callbacks.h"
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

// WriterOptions are options of Create. The zero value has the defaults: 1.2, raw, CRC-32C. ztensor.h
// describes each.
type WriterOptions struct {
	Spec           Spec
	Encoding       Encoding // The default of components.
	Level          int      // The level of zstd; 0 for the default.
	Digest         Digest   // The default of components.
	Durable        bool     // Syncs the file before it is published.
	AllowDamaged   bool     // Copies bytes that do not match their checksum, without a new digest.
	Threads        int      // 0: one per processor.
	Alignment      uint64
	LargeAlignment uint64
	LargeSize      uint64
	FrameSize      uint64
	Watch          Watch // For all calls. The total is 0.
	Hooks          *ThreadHooks
}

func (o *WriterOptions) c(m *memory) (*C.zt_write_options, *watcher) {
	made := &sized[C.zt_write_options](m, 1)[0]
	if o == nil {
		return made, nil
	}
	made.spec = C.zt_spec(o.Spec)
	made.encoding = C.zt_encoding(o.Encoding)
	made.zstd_level = C.int32_t(o.Level)
	made.digest = C.zt_digest(o.Digest)
	made.durable = flag(o.Durable)
	made.allow_damaged = flag(o.AllowDamaged)
	made.threads = C.uint32_t(o.Threads)
	made.alignment = C.uint64_t(o.Alignment)
	made.large_alignment = C.uint64_t(o.LargeAlignment)
	made.large_size = C.uint64_t(o.LargeSize)
	made.frame_size = C.uint64_t(o.FrameSize)
	if o.Hooks != nil {
		made.thread_hooks = &sized[C.zt_thread_hooks](m, 1)[0]
		C.zt_go_thread_hooks((*C.zt_thread_hooks)(unsafe.Pointer(made.thread_hooks)), C.uintptr_t(o.Hooks.handle))
	}
	w := o.Watch.watcher()
	if w != nil {
		C.zt_go_watch_write(made, w.context())
	}
	return made, w
}

// Writer writes a file. Finish publishes the complete file.
type Writer struct {
	handle  *C.zt_writer
	watcher *watcher
	to      *writing
}

func begin(options *WriterOptions, how func(*memory, *C.zt_write_options, *Writer) C.zt_status) (*Writer, error) {
	var m memory
	defer m.free()
	w := new(Writer)
	o, watching := options.c(&m)
	w.watcher = watching
	if err := w.call(func() C.zt_status { return how(&m, o, w) }); err != nil {
		watching.end()
		return nil, err
	}
	return w, nil
}

// call adds the error of the caller's writer.
func (w *Writer) call(body func() C.zt_status) error {
	err := w.watcher.during(body)
	if w.to != nil {
		err = because(err, w.to.said)
	}
	return err
}

// Create starts a new file. Until Finish the file at path is unchanged. options may be nil.
func Create(path string, options *WriterOptions) (*Writer, error) {
	return begin(options, func(m *memory, o *C.zt_write_options, w *Writer) C.zt_status {
		return C.zt_write_create(m.text(path), o, &w.handle)
	})
}

// Append adds to a file and edits it.
func Append(path string, options *WriterOptions) (*Writer, error) {
	return begin(options, func(m *memory, o *C.zt_write_options, w *Writer) C.zt_status {
		return C.zt_write_append(m.text(path), o, &w.handle)
	})
}

// NewWriter writes a file to w, front to back. options may be nil.
func NewWriter(to io.Writer, options *WriterOptions) (*Writer, error) {
	return begin(options, func(m *memory, o *C.zt_write_options, w *Writer) C.zt_status {
		w.to = &writing{Writer: to}
		sink := &sized[C.zt_sink](m, 1)[0]
		C.zt_go_sink(sink, C.uintptr_t(cgo.NewHandle(w.to))) // C frees it
		return C.zt_write_create_sink(sink, o, &w.handle)
	})
}

// Summary counts what a finished writer wrote.
type Summary struct {
	FileSize, Objects, Components, StoredBytes, DataBytes uint64
	Damaged                                               uint64 // Damaged components that were copied.
}

// Finish publishes the file and ends the writer, even if it fails.
func (w *Writer) Finish() (Summary, error) {
	if w.handle == nil {
		return Summary{}, refuse(ErrState, "the writer has ended")
	}
	handle := w.handle
	w.handle = nil
	defer w.watcher.end()
	var s C.zt_write_summary
	s.struct_size = C.sizeof_zt_write_summary
	err := w.call(func() C.zt_status { return C.zt_write_finish(handle, &s) })
	return Summary{uint64(s.file_size), uint64(s.objects), uint64(s.components), uint64(s.stored_bytes), uint64(s.data_bytes),
		uint64(s.damaged)}, err
}

// Abort discards the file. After Finish it does nothing, so it may be deferred.
func (w *Writer) Abort() {
	C.zt_write_abort(w.handle)
	w.handle = nil
	w.watcher.end()
}
