package ztensor

/*
#include <ztensor_advanced.h>
#include "callbacks.h"

static zt_status open_by_handle(uintptr_t handle, uint64_t offset, uint64_t length, const zt_open_options *o, zt_file **f)
{
	return zt_open_handle((void *)handle, offset, length, o, f);
}
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

// Options of Open. The zero value has the defaults; ztensor.h describes each.
type Options struct {
	Mode            Mode
	Verify          bool // Checks every digest.
	Strict          bool // Rejects unknown dtypes, encodings and layouts.
	Advice          Advice
	MaxManifestSize uint64
	MaxDecodedSize  uint64
	MaxObjects      uint64
	MaxMemory       uint64 // The limit in bytes for opening the file. Components are not counted.
	Threads         int
	Containers      []Container // Containers that are accepted; nil for all.
	Name            string      // The file's name in messages.
	Watch           Watch       // Used with Verify.
	Allocator       *Allocator  // Allocates memory that the library returns.
	Hooks           *ThreadHooks
	Part            bool // OpenModel opens only this file, even if it is a part of a model.
	IncludeUnlisted bool // Lists tensors that the index of a model does not name, too.
	Combine         bool // Makes the tensors of each quantized weight one object.
}

func (o *Options) c(m *memory) (*C.zt_open_options, *watcher) {
	made := &sized[C.zt_open_options](m, 1)[0]
	if o == nil {
		return made, nil
	}
	made.mode = C.zt_mode(o.Mode)
	made.verify = flag(o.Verify)
	made.strict = flag(o.Strict)
	made.part = flag(o.Part)
	made.include_unlisted = flag(o.IncludeUnlisted)
	made.combine_quantized = flag(o.Combine)
	made.advice = C.zt_advice(o.Advice)
	made.max_manifest_size = C.uint64_t(o.MaxManifestSize)
	made.max_decoded_size = C.uint64_t(o.MaxDecodedSize)
	made.max_objects = C.uint64_t(o.MaxObjects)
	made.max_memory = C.uint64_t(o.MaxMemory)
	made.threads = C.uint32_t(o.Threads)
	for _, one := range o.Containers {
		made.containers |= 1 << uint(one)
	}
	if o.Name != "" {
		made.name = m.text(o.Name)
	}
	if o.Allocator != nil {
		made.allocator = &sized[C.zt_allocator](m, 1)[0]
		C.zt_go_allocator((*C.zt_allocator)(unsafe.Pointer(made.allocator)), C.uintptr_t(o.Allocator.handle))
	}
	if o.Hooks != nil {
		made.thread_hooks = &sized[C.zt_thread_hooks](m, 1)[0]
		C.zt_go_thread_hooks((*C.zt_thread_hooks)(unsafe.Pointer(made.thread_hooks)), C.uintptr_t(o.Hooks.handle))
	}
	w := o.Watch.watcher()
	if w != nil {
		C.zt_go_watch_open(made, w.context())
	}
	return made, w
}

type opening func(m *memory, options *C.zt_open_options, file **C.zt_file) C.zt_status

func open(options *Options, how opening) (*File, error) {
	var m memory
	defer m.free()
	f := new(File)
	o, w := options.c(&m)
	if err := w.call(func() C.zt_status { return how(&m, o, &f.handle) }); err != nil {
		return nil, err
	}
	return f, nil
}

// Open opens the file at path. It accepts any container. options may be nil.
func Open(path string, options *Options) (*File, error) {
	return open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status { return C.zt_open(m.text(path), o, f) })
}

// OpenModel opens a model. path is any of its files, or its folder.
func OpenModel(path string, options *Options) (*File, error) {
	return open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status {
		return C.zt_open_model(m.text(path), o, f)
	})
}

// OpenParts opens several files as one.
func OpenParts(paths []string, options *Options) (*File, error) {
	return open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status {
		return C.zt_open_parts(m.texts(paths), C.size_t(len(paths)), o, f)
	})
}

// OpenFD opens a file that is inside a larger one. It duplicates the descriptor. Whole, as length, means up
// to the end.
func OpenFD(fd uintptr, offset, length uint64, options *Options) (*File, error) {
	return open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status {
		return C.zt_open_fd(C.int(fd), C.uint64_t(offset), C.uint64_t(length), o, f)
	})
}

// OpenHandle is OpenFD for a HANDLE of Windows, which os.File.Fd returns there.
func OpenHandle(handle uintptr, offset, length uint64, options *Options) (*File, error) {
	return open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status {
		return C.open_by_handle(C.uintptr_t(handle), C.uint64_t(offset), C.uint64_t(length), o, f)
	})
}

// OpenMemory opens a file that is in memory. It copies the bytes to memory of C. The copy lives until Close
// and the last reader's end.
func OpenMemory(data []byte, options *Options) (*File, error) {
	kept := &lasting{users: 1}
	copied := kept.take(uintptr(len(data)))
	copy(unsafe.Slice((*byte)(copied), len(data)), data)
	f, err := open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status {
		return C.zt_open_memory(copied, C.size_t(len(data)), o, f)
	})
	if err != nil {
		kept.release()
		return nil, err
	}
	f.kept = kept
	return f, nil
}

// OpenReaderAt opens a file of size bytes that r reads. Several goroutines use r at once, until Close.
func OpenReaderAt(r io.ReaderAt, size int64, options *Options) (*File, error) {
	return OpenSource(Source{ReaderAt: r, Size: size}, options)
}

// OpenSource opens a file that the caller's functions read.
func OpenSource(from Source, options *Options) (*File, error) {
	kept := &source{Source: from}
	f, err := open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status {
		s := &sized[C.zt_source](m, 1)[0]
		kept.fill(m, s)
		return C.zt_open_source(s, o, f) // C closes the source, even if opening fails
	})
	return f, because(err, kept.failed())
}

// Store provides the files of a model. Open opens a file by its name. List returns the names in a folder, or
// ErrNotFound if it is not a folder; nil if there are no folders. OpenModelFrom calls them from several
// threads at once.
type Store struct {
	Open func(name string) (Source, error)
	List func(folder string) ([]string, error)
}

// OpenModelFrom is OpenModel for files that a store opens.
func OpenModelFrom(store Store, name string, options *Options) (*File, error) {
	kept := &opener{Store: store}
	handle := cgo.NewHandle(kept)
	defer handle.Delete()
	defer kept.texts.free()
	f, err := open(options, func(m *memory, o *C.zt_open_options, f **C.zt_file) C.zt_status {
		s := &sized[C.zt_store](m, 1)[0]
		C.zt_go_store(s, C.uintptr_t(handle), C.int(flag(store.List != nil)))
		return C.zt_open_model_from(s, m.text(name), o, f)
	})
	return f, because(err, kept.failed())
}
