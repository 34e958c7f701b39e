package ztensor

/*
#include <ztensor_advanced.h>
*/
import "C"

import "unsafe"

// Whole, as a length, means up to the end.
const Whole = uint64(C.ZT_WHOLE)

// File is an open file, or a model of several files.
type File struct {
	handle *C.zt_file
	kept   *lasting // memory that zt_open_memory got
}

// Close closes the file. Slices in the mapped file become invalid. A second call does nothing.
func (f *File) Close() error {
	C.zt_close(f.handle)
	f.handle = nil
	f.kept.release()
	f.kept = nil
	return nil
}

// Version returns the version that the file declares.
func (f *File) Version() string { return C.GoString(C.zt_file_version(f.handle)) }

// Size returns the size in bytes, of all parts.
func (f *File) Size() (size uint64) {
	for _, part := range f.Parts() {
		size += part.Size
	}
	return size
}

// Mode returns the mode of the file. With ModeAuto it is the mode that the library chose.
func (f *File) Mode() Mode { return Mode(C.zt_file_mode(f.handle)) }

// Attributes returns the file's attributes as encoding/json decodes them, or nil without attributes.
func (f *File) Attributes() (map[string]any, error) { return attributes(f.Value()) }

// Value returns the tree of the file's attributes, or a null value without attributes.
func (f *File) Value() Value { return Value{C.zt_file_attributes(f.handle)} }

// Identity identifies a version of a file, for caches.
type Identity struct {
	Size           uint64
	ModifiedNS     int64
	ManifestOffset uint64
	ManifestHash   uint64
	Source         uint64
}

func identity(get func(*C.zt_identity) C.zt_status) (Identity, error) {
	var i C.zt_identity
	i.struct_size = C.sizeof_zt_identity
	err := call(func() C.zt_status { return get(&i) })
	return Identity{uint64(i.size), int64(i.modified_ns), uint64(i.manifest_offset), uint64(i.manifest_hash), uint64(i.source_identity)}, err
}

// Identity returns the identity of the file; of a model, of all parts.
func (f *File) Identity() (Identity, error) {
	return identity(func(i *C.zt_identity) C.zt_status { return C.zt_file_identity(f.handle, i) })
}

// Part is one of the files of a model.
type Part struct {
	Path      string // "" if it was not opened by a path.
	Size      uint64
	Container Container
}

func partOf(file *C.zt_file, part C.size_t) Part {
	var i C.zt_part_info
	i.struct_size = C.sizeof_zt_part_info
	C.zt_part_get_info(file, part, &i)
	return Part{C.GoString(i.path), uint64(i.size), Container(i.container)}
}

// Parts returns the files of the model. A file that is not a model is its only part.
func (f *File) Parts() []Part {
	parts := make([]Part, int(C.zt_part_count(f.handle)))
	for i := range parts {
		parts[i] = partOf(f.handle, C.size_t(i))
	}
	return parts
}

// PartIdentity returns the identity of one of the model's files.
func (f *File) PartIdentity(part int) (Identity, error) {
	return identity(func(i *C.zt_identity) C.zt_status { return C.zt_part_identity(f.handle, C.size_t(part), i) })
}

// ModelInfo counts the files and tensors that a model does not show.
type ModelInfo struct {
	PassedOver uint64 // Files in the folder that belong to other models or to the state of a training.
	Unlisted   uint64 // Tensors that are in the files but not in the index.
}

// ModelInfo returns the counts of a model that OpenModel opened.
func (f *File) ModelInfo() (ModelInfo, error) {
	var i C.zt_model_info
	i.struct_size = C.sizeof_zt_model_info
	err := call(func() C.zt_status { return C.zt_model_get_info(f.handle, &i) })
	return ModelInfo{uint64(i.passed_over), uint64(i.unlisted)}, err
}

// Bytes returns all bytes of a part in the mapped file, valid until Close. They are read-only except in
// ModePrivate.
func (f *File) Bytes(part int) ([]byte, error) {
	var data unsafe.Pointer
	var size C.uint64_t
	if err := call(func() C.zt_status { return C.zt_file_bytes(f.handle, C.size_t(part), &data, &size) }); err != nil {
		return nil, err
	}
	return borrowed(data, uint64(size)), nil
}

// Len returns the number of objects.
func (f *File) Len() int { return int(C.zt_object_count(f.handle)) }

// At returns the object at an index, in the file's order.
func (f *File) At(i int) (Object, bool) {
	found := C.zt_object_at(f.handle, C.size_t(i))
	return Object{found, f.kept}, found != nil
}

// Objects returns all objects, in the file's order.
func (f *File) Objects() []Object {
	objects := make([]Object, f.Len())
	for i := range objects {
		objects[i], _ = f.At(i)
	}
	return objects
}

// All iterates over the objects: for o := range f.All() in Go 1.23, or f.All()(func(o Object) bool {...}).
func (f *File) All() func(yield func(Object) bool) {
	return func(yield func(Object) bool) {
		for i := 0; i < f.Len(); i++ {
			if o, _ := f.At(i); !yield(o) {
				return
			}
		}
	}
}

// Object returns the object with a name, or ErrNotFound.
func (f *File) Object(name string) (Object, error) {
	text, length := chars(name)
	found := C.zt_object_find_n(f.handle, text, length)
	if found == nil {
		return Object{}, refuse(ErrNotFound, "the file has no object "+name)
	}
	return Object{found, f.kept}, nil
}

// ObjectInfo describes an object; the library does not read the object's bytes for it. For a dense object or
// blocks, Component is the data, and the fields after it describe it. For other objects HasArray is false and
// these fields are zero.
type ObjectInfo struct {
	Object                   Object
	Name                     string
	Shape                    []uint64
	Format                   Format
	Components               int
	Component                Component
	Offset, StoredSize, Size uint64
	DType                    DType
	Type                     Type
	Encoding                 Encoding
}

// HasArray is true if the object is one array, which is in Component. It is false for sparse and quantized
// objects.
func (i ObjectInfo) HasArray() bool { return i.Component.handle != nil }

// ComponentInfo describes a component; the library does not read its bytes for it.
type ComponentInfo struct {
	Component                Component
	Object                   Object
	Role, Digest             string
	Part                     int
	Offset, StoredSize, Size uint64
	DType                    DType
	Type                     Type
	Encoding                 Encoding
}

const listed = 256

// ListObjects describes all objects with few calls.
func (f *File) ListObjects() ([]ObjectInfo, error) {
	var m memory
	defer m.free()
	infos := sized[C.zt_object_info](&m, listed)
	all := make([]ObjectInfo, 0, f.Len())
	for {
		var filled C.size_t
		if err := call(func() C.zt_status {
			return C.zt_object_list(f.handle, C.size_t(len(all)), &infos[0], listed, &filled)
		}); err != nil || filled == 0 {
			return all, err
		}
		for i := range infos[:int(filled)] {
			c := &infos[i]
			all = append(all, ObjectInfo{Object{c.object, f.kept}, counted(c.name, c.name_length), shape(c.shape, c.rank), Format(c.format),
				int(c.component_count), Component{c.component, f.kept}, uint64(c.offset), uint64(c.stored_size), uint64(c.size),
				DType(c.dtype), Type(c._type), Encoding(c.encoding)})
		}
	}
}

// ListComponents describes all components with few calls. If of is not nil, only those of that object.
func (f *File) ListComponents(of *Object) ([]ComponentInfo, error) {
	var m memory
	defer m.free()
	infos := sized[C.zt_component_info](&m, listed)
	var object *C.zt_object
	if of != nil {
		object = of.handle
	}
	var all []ComponentInfo
	for {
		var filled C.size_t
		if err := call(func() C.zt_status {
			return C.zt_component_list(f.handle, object, C.size_t(len(all)), &infos[0], listed, &filled)
		}); err != nil || filled == 0 {
			return all, err
		}
		for i := range infos[:int(filled)] {
			c := &infos[i]
			all = append(all, ComponentInfo{Component{c.component, f.kept}, Object{c.object, f.kept}, counted(c.role, c.role_length),
				C.GoString(c.digest), int(c.part), uint64(c.offset), uint64(c.stored_size), uint64(c.size), DType(c.dtype),
				Type(c._type), Encoding(c.encoding)})
		}
	}
}
