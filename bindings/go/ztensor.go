// Package ztensor opens, reads, verifies and writes zTensor .zt files through the C library libztensor.
//
// Bytes of a mapped file are lent as slices, not copied: Component.Bytes and Elements give memory of the file, which is
// read-only (writing to it ends the process) and gone after File.Close. Read and ReadInto copy.
//
// A File may be used by any number of goroutines at once, a Writer by one at a time. Neither has a finalizer: close what
// you open. The package is linked through pkg-config, so libztensor has to be installed or PKG_CONFIG_PATH has to name
// where its ztensor.pc is.
package ztensor

/*
#cgo pkg-config: ztensor
#include <stdlib.h>
#include <ztensor.h>
*/
import "C"

import (
	"encoding/json"
	"runtime"
	"unsafe"
)

// Status is what a call of the library returned. The values are errors, for errors.Is.
type Status int32

// What can go wrong; ztensor.h says when.
const (
	ErrInvalidArgument Status = C.ZT_ERROR_INVALID_ARGUMENT
	ErrIO              Status = C.ZT_ERROR_IO
	ErrNotFound        Status = C.ZT_ERROR_NOT_FOUND
	ErrNotZTensor      Status = C.ZT_ERROR_NOT_ZTENSOR
	ErrCorrupt         Status = C.ZT_ERROR_CORRUPT
	ErrDigestMismatch  Status = C.ZT_ERROR_DIGEST_MISMATCH
	ErrUnsupported     Status = C.ZT_ERROR_UNSUPPORTED
	ErrLimit           Status = C.ZT_ERROR_LIMIT
	ErrBufferSize      Status = C.ZT_ERROR_BUFFER_SIZE
	ErrNotMappable     Status = C.ZT_ERROR_NOT_MAPPABLE
	ErrState           Status = C.ZT_ERROR_STATE
	ErrExists          Status = C.ZT_ERROR_EXISTS
	ErrCancelled       Status = C.ZT_ERROR_CANCELLED
	ErrOutOfMemory     Status = C.ZT_ERROR_OUT_OF_MEMORY
	ErrInternal        Status = C.ZT_ERROR_INTERNAL
	ErrNoFile          Status = C.ZT_ERROR_NO_FILE
	ErrTimeout         Status = C.ZT_ERROR_TIMEOUT
)

func (s Status) Error() string { return C.GoString(C.zt_status_name(C.zt_status(s))) }

// Error is a status with the library's message. errors.Is(err, ztensor.ErrCorrupt) tells what it is.
type Error struct {
	Status  Status
	Message string
}

func (e *Error) Error() string        { return e.Message }
func (e *Error) Is(target error) bool { return target == error(e.Status) }

// call keeps to one thread, whose message it then takes.
func call(body func() C.zt_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := body(); status != C.ZT_OK {
		return &Error{Status(status), C.GoString(C.zt_last_error())}
	}
	return nil
}

func refuse(status Status, message string) error { return &Error{status, message} }

// Options of Open. The zero value has the defaults.
type Options struct {
	ReadMode        bool   // Reads instead of mapping: survives files that are cut short while they are open.
	AutoMode        bool   // Maps where that can be done and the file is on this machine, else reads.
	Verify          bool   // Checks digests when components are read.
	Strict          bool   // See zt_open_options.
	MaxManifestSize uint64 // Bytes; 0 for 1 GiB.
	MaxDecodedSize  uint64 // Bytes of one component; 0 for the default.
}

func (o *Options) c() *C.zt_open_options {
	var made C.zt_open_options
	made.struct_size = C.sizeof_zt_open_options
	if o != nil {
		made.mode = C.ZT_MODE_MAP
		if o.ReadMode {
			made.mode = C.ZT_MODE_READ
		} else if o.AutoMode {
			made.mode = C.ZT_MODE_AUTO
		}
		made.verify = flag(o.Verify)
		made.strict = flag(o.Strict)
		made.max_manifest_size = C.uint64_t(o.MaxManifestSize)
		made.max_decoded_size = C.uint64_t(o.MaxDecodedSize)
	}
	return &made
}

func flag(set bool) C.uint32_t {
	if set {
		return 1
	}
	return 0
}

// File is an open file.
type File struct {
	handle *C.zt_file
}

// Open opens the file at path. options may be nil.
func Open(path string, options *Options) (*File, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	f := new(File)
	if err := call(func() C.zt_status { return C.zt_open(name, options.c(), &f.handle) }); err != nil {
		return nil, err
	}
	return f, nil
}

// Close ends the file and every slice that it lent. Closing twice is fine.
func (f *File) Close() error {
	C.zt_close(f.handle)
	f.handle = nil
	return nil
}

// Version is the version that the file says it has.
func (f *File) Version() string { return C.GoString(C.zt_file_version(f.handle)) }

// Attributes of the file, as encoding/json gives them; nil if there are none.
func (f *File) Attributes() (map[string]any, error) {
	return attributes(C.zt_file_attributes(f.handle))
}

// Len is the number of objects.
func (f *File) Len() int { return int(C.zt_object_count(f.handle)) }

// Objects in the file's order.
func (f *File) Objects() []Object {
	objects := make([]Object, f.Len())
	for i := range objects {
		objects[i] = Object{C.zt_object_at(f.handle, C.size_t(i))}
	}
	return objects
}

// Object of that name; ErrNotFound if there is none.
func (f *File) Object(name string) (Object, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	found := C.zt_object_find_n(f.handle, text, C.size_t(len(name)))
	if found == nil {
		return Object{}, refuse(ErrNotFound, "there is no object "+name)
	}
	return Object{found}, nil
}

// Object is a named tensor. It lives until its file is closed.
type Object struct {
	handle *C.zt_object
}

// Name of the object.
func (o Object) Name() string {
	return C.GoStringN(C.zt_object_name(o.handle), C.int(C.zt_object_name_length(o.handle)))
}

// Shape, outermost dimension first.
func (o Object) Shape() []uint64 {
	rank := int(C.zt_object_rank(o.handle))
	shape := make([]uint64, rank)
	for i, n := range unsafe.Slice(C.zt_object_shape(o.handle), rank) {
		shape[i] = uint64(n)
	}
	return shape
}

// Format is "dense", "sparse_csr" or another.
func (o Object) Format() string { return C.GoString(C.zt_object_format_name(o.handle)) }

// Attributes as encoding/json gives them; nil if there are none.
func (o Object) Attributes() (map[string]any, error) {
	return attributes(C.zt_object_attributes(o.handle))
}

// Components of the object.
func (o Object) Components() []Component {
	components := make([]Component, int(C.zt_component_count(o.handle)))
	for i := range components {
		components[i] = Component{C.zt_component_at(o.handle, C.size_t(i))}
	}
	return components
}

// Component of that role ("data" in a dense object); ErrNotFound if there is none.
func (o Object) Component(role string) (Component, error) {
	text := C.CString(role)
	defer C.free(unsafe.Pointer(text))
	found := C.zt_component_find(o.handle, text)
	if found == nil {
		return Component{}, refuse(ErrNotFound, "object "+o.Name()+" has no component "+role)
	}
	return Component{found}, nil
}

// ReadSlice reads count elements from start on in each dimension, step apart (nil: 1), of a dense object.
func (o Object) ReadSlice(start, count, step []uint64, dst []byte) error {
	rank := int(C.zt_object_rank(o.handle))
	if len(start) != rank || len(count) != rank || step != nil && len(step) != rank {
		return refuse(ErrInvalidArgument, "a slice needs one number for each dimension")
	}
	return call(func() C.zt_status {
		return C.zt_object_read_slice(o.handle, numbers(start), numbers(count), numbers(step), pointer(dst), C.size_t(len(dst)))
	})
}

func numbers(n []uint64) *C.uint64_t {
	if len(n) == 0 {
		return nil
	}
	return (*C.uint64_t)(unsafe.Pointer(&n[0]))
}

func pointer(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(&b[0])
}

func attributes(value *C.zt_value) (map[string]any, error) {
	if value == nil {
		return nil, nil
	}
	var needed C.size_t
	if err := call(func() C.zt_status { return C.zt_value_to_json(value, nil, 0, &needed) }); err != nil {
		return nil, err
	}
	buffer := (*C.char)(C.malloc(needed))
	defer C.free(unsafe.Pointer(buffer))
	if err := call(func() C.zt_status { return C.zt_value_to_json(value, buffer, needed, &needed) }); err != nil {
		return nil, err
	}
	var made map[string]any
	return made, json.Unmarshal([]byte(C.GoString(buffer)), &made)
}
