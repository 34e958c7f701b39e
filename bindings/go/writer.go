package ztensor

/*
#include <stdlib.h>
#include <ztensor.h>
*/
import "C"

import (
	"encoding/json"
	"unsafe"
)

// WriterOptions of Create. The zero value has the defaults: 1.2, raw, no digest.
type WriterOptions struct {
	Zstd    bool   // Compresses what says nothing else.
	Level   int    // Of zstd; 0 for the default.
	Digest  string // "crc32c", "sha256" or "".
	Durable bool   // Syncs the file before it is published.
	Threads int    // 0: as many as there are processors.
}

func digest(name string) C.zt_digest {
	switch name {
	case "crc32c":
		return C.ZT_DIGEST_CRC32C
	case "sha256":
		return C.ZT_DIGEST_SHA256
	case "":
		return C.ZT_DIGEST_DEFAULT
	}
	return -1 // refused by the library
}

func (o *WriterOptions) c() C.zt_writer_options {
	var made C.zt_writer_options
	made.struct_size = C.sizeof_zt_writer_options
	if o != nil {
		if o.Zstd {
			made.encoding = C.ZT_ENCODING_ZSTD
		}
		made.zstd_level = C.int32_t(o.Level)
		made.digest = digest(o.Digest)
		made.durable = flag(o.Durable)
		made.threads = C.uint32_t(o.Threads)
	}
	return made
}

// Writer writes a file, which appears whole at Finish.
type Writer struct {
	handle *C.zt_writer
}

// Create begins a new file; what is at path stays until Finish.
func Create(path string, options *WriterOptions) (*Writer, error) {
	return begin(path, options, func(name *C.char, o *C.zt_writer_options, w **C.zt_writer) C.zt_status {
		return C.zt_writer_create(name, o, w)
	})
}

// Append adds to a file.
func Append(path string, options *WriterOptions) (*Writer, error) {
	return begin(path, options, func(name *C.char, o *C.zt_writer_options, w **C.zt_writer) C.zt_status {
		return C.zt_writer_append(name, o, w)
	})
}

func begin(path string, options *WriterOptions, how func(*C.char, *C.zt_writer_options, **C.zt_writer) C.zt_status) (*Writer, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	w, o := new(Writer), options.c()
	if err := call(func() C.zt_status { return how(name, &o, &w.handle) }); err != nil {
		return nil, err
	}
	return w, nil
}

// Part is a component to be written.
type Part struct {
	Role   string
	DType  DType
	Data   []byte // In the host's byte order.
	Zstd   bool
	Digest string
}

// PartOf makes a part of a slice, without a copy.
func PartOf[T Element](role string, data []T) Part {
	var zero T
	bytes := []byte{}
	if len(data) > 0 {
		bytes = unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*int(unsafe.Sizeof(zero)))
	}
	return Part{Role: role, DType: dtypeOf[T](), Data: bytes}
}

// WriteDense writes a tensor.
func WriteDense[T Element](w *Writer, name string, shape []uint64, data []T) error {
	return w.WriteObject(name, "dense", shape, nil, PartOf("data", data))
}

var formats = map[string]C.zt_format{"dense": C.ZT_FORMAT_DENSE, "sparse_csr": C.ZT_FORMAT_SPARSE_CSR,
	"sparse_coo": C.ZT_FORMAT_SPARSE_COO, "quantized_group": C.ZT_FORMAT_QUANTIZED_GROUP}

// WriteObject writes an object of any format. attributes may be nil.
func (w *Writer) WriteObject(name, format string, shape []uint64, attributes map[string]any, parts ...Part) error {
	var object C.zt_object_desc // holds memory of C alone
	object.struct_size = C.sizeof_zt_object_desc
	object.name = C.CString(name)
	defer C.free(unsafe.Pointer(object.name))
	object.name_length = C.size_t(len(name))
	known, is := formats[format]
	object.format = known
	if !is {
		object.format_name = C.CString(format)
		defer C.free(unsafe.Pointer(object.format_name))
	}
	if len(shape) > 0 {
		dimensions := C.malloc(C.size_t(len(shape)) * 8)
		defer C.free(dimensions)
		copy(unsafe.Slice((*uint64)(dimensions), len(shape)), shape)
		object.shape, object.rank = (*C.uint64_t)(dimensions), C.size_t(len(shape))
	}
	if attributes != nil {
		text, err := json.Marshal(attributes)
		if err != nil {
			return err
		}
		object.attributes_json = C.CString(string(text))
		defer C.free(unsafe.Pointer(object.attributes_json))
	}
	if err := call(func() C.zt_status { return C.zt_writer_begin_object(w.handle, &object) }); err != nil {
		return err
	}
	for _, part := range parts {
		if err := w.part(part); err != nil {
			return err
		}
	}
	return call(func() C.zt_status { return C.zt_writer_end_object(w.handle) })
}

func (w *Writer) part(part Part) error {
	var c C.zt_component_desc
	c.struct_size = C.sizeof_zt_component_desc
	c.role = C.CString(part.Role)
	defer C.free(unsafe.Pointer(c.role))
	c.role_length = C.size_t(len(part.Role))
	c.dtype = C.zt_dtype(part.DType)
	if part.Zstd {
		c.encoding = C.ZT_ENCODING_ZSTD
	}
	c.digest = digest(part.Digest)
	c.size = C.uint64_t(len(part.Data))
	if err := call(func() C.zt_status { return C.zt_writer_add_component(w.handle, &c) }); err != nil {
		return err
	}
	return call(func() C.zt_status {
		return C.zt_writer_add_data(w.handle, pointer(part.Data), C.size_t(len(part.Data)))
	})
}

// Copy copies an object of an open file as it is stored.
func (w *Writer) Copy(from Object) error {
	return call(func() C.zt_status { return C.zt_writer_add_copy(w.handle, from.handle, nil, 0) })
}

// SetAttribute sets an attribute of the file to anything that JSON has.
func (w *Writer) SetAttribute(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	k, v := C.CString(key), C.CString(string(text))
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	attribute := (*C.zt_attribute)(C.calloc(1, C.sizeof_zt_attribute))
	defer C.free(unsafe.Pointer(attribute))
	attribute.struct_size = C.sizeof_zt_attribute
	attribute.kind = C.ZT_ATTRIBUTE_JSON
	attribute.data = unsafe.Pointer(v)
	return call(func() C.zt_status { return C.zt_writer_set_attribute(w.handle, k, attribute) })
}

// RemoveAttribute takes an attribute of the file away.
func (w *Writer) RemoveAttribute(key string) error {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	attribute := C.zt_attribute{struct_size: C.sizeof_zt_attribute, kind: C.ZT_ATTRIBUTE_REMOVE}
	return call(func() C.zt_status { return C.zt_writer_set_attribute(w.handle, k, &attribute) })
}

// RemoveObject takes an object away that the file had before an append; another of that name may be written.
func (w *Writer) RemoveObject(name string) error {
	n := C.CString(name)
	defer C.free(unsafe.Pointer(n))
	return call(func() C.zt_status { return C.zt_writer_remove_object(w.handle, n, C.size_t(len(name))) })
}

// RenameObject gives an object another name that the file had before an append.
func (w *Writer) RenameObject(name, newName string) error {
	n, to := C.CString(name), C.CString(newName)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(to))
	return call(func() C.zt_status {
		return C.zt_writer_rename_object(w.handle, n, C.size_t(len(name)), to, C.size_t(len(newName)))
	})
}

// Finish publishes the file and ends the writer, whatever comes of it.
func (w *Writer) Finish() error {
	if w.handle == nil {
		return refuse(ErrState, "the writer has ended")
	}
	handle := w.handle
	w.handle = nil
	return call(func() C.zt_status { return C.zt_writer_finish(handle, nil) })
}

// Abort leaves no trace; after Finish it does nothing, so it may be deferred.
func (w *Writer) Abort() {
	C.zt_writer_abort(w.handle)
	w.handle = nil
}
