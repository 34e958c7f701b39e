package ztensor

/*
#include <ztensor_advanced.h>
*/
import "C"

import "unsafe"

// Whole as a length is all to the end.
const Whole = uint64(C.ZT_WHOLE)

// File is an open file, or a model of several.
type File struct {
	handle *C.zt_file
	kept   *lasting // what zt_open_memory was given
}

// Close ends the file and every slice that it borrowed. Closing twice is fine.
func (f *File) Close() error {
	C.zt_close(f.handle)
	f.handle = nil
	f.kept.release()
	f.kept = nil
	return nil
}

// Version is the version that the file says it has.
func (f *File) Version() string { return C.GoString(C.zt_file_version(f.handle)) }

// Size in bytes, of all parts.
func (f *File) Size() (size uint64) {
	for _, part := range f.Parts() {
		size += part.Size
	}
	return size
}

// Mode that the file is in: what came of ModeAuto.
func (f *File) Mode() Mode { return Mode(C.zt_file_mode(f.handle)) }

// Attributes of the file, as encoding/json decodes them; nil without attributes.
func (f *File) Attributes() (map[string]any, error) { return attributes(f.Value()) }

// Value is the tree of the file's attributes; a null value without attributes.
func (f *File) Value() Value { return Value{C.zt_file_attributes(f.handle)} }

// Identity tells whether a file is another one: for caches.
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

// Identity of the file; of a model, of all parts.
func (f *File) Identity() (Identity, error) {
	return identity(func(i *C.zt_identity) C.zt_status { return C.zt_file_identity(f.handle, i) })
}

// Part is one of the files of a model.
type Part struct {
	Path      string // "" where it was not opened by one.
	Size      uint64
	Container Container
}

func partOf(file *C.zt_file, part C.size_t) Part {
	var i C.zt_part_info
	i.struct_size = C.sizeof_zt_part_info
	C.zt_part_get_info(file, part, &i)
	return Part{C.GoString(i.path), uint64(i.size), Container(i.container)}
}

// Parts of the model; of a file, itself.
func (f *File) Parts() []Part {
	parts := make([]Part, int(C.zt_part_count(f.handle)))
	for i := range parts {
		parts[i] = partOf(f.handle, C.size_t(i))
	}
	return parts
}

// PartIdentity is the identity of one of the files of a model.
func (f *File) PartIdentity(part int) (Identity, error) {
	return identity(func(i *C.zt_identity) C.zt_status { return C.zt_part_identity(f.handle, C.size_t(part), i) })
}

// ModelInfo counts what is not shown of a model.
type ModelInfo struct {
	PassedOver uint64 // Files of other models and of states of trainings in the folder by which it was opened.
	Unlisted   uint64 // Tensors that its files hold and its index names nowhere.
}

// ModelInfo of a model that OpenModel opened.
func (f *File) ModelInfo() (ModelInfo, error) {
	var i C.zt_model_info
	i.struct_size = C.sizeof_zt_model_info
	err := call(func() C.zt_status { return C.zt_model_get_info(f.handle, &i) })
	return ModelInfo{uint64(i.passed_over), uint64(i.unlisted)}, err
}

// Bytes returns all bytes of a part in the mapped file: read-only, but in ModePrivate, until Close.
func (f *File) Bytes(part int) ([]byte, error) {
	var data unsafe.Pointer
	var size C.uint64_t
	if err := call(func() C.zt_status { return C.zt_file_bytes(f.handle, C.size_t(part), &data, &size) }); err != nil {
		return nil, err
	}
	return borrowed(data, uint64(size)), nil
}

// Len is the number of objects.
func (f *File) Len() int { return int(C.zt_object_count(f.handle)) }

// At is the object of that place in the file.
func (f *File) At(i int) (Object, bool) {
	found := C.zt_object_at(f.handle, C.size_t(i))
	return Object{found, f.kept}, found != nil
}

// Objects in the file's order.
func (f *File) Objects() []Object {
	objects := make([]Object, f.Len())
	for i := range objects {
		objects[i], _ = f.At(i)
	}
	return objects
}

// All goes through the objects: for o := range f.All() of Go 1.23, or f.All()(func(o Object) bool {...}).
func (f *File) All() func(yield func(Object) bool) {
	return func(yield func(Object) bool) {
		for i := 0; i < f.Len(); i++ {
			if o, _ := f.At(i); !yield(o) {
				return
			}
		}
	}
}

// Object returns the object of that name, or ErrNotFound.
func (f *File) Object(name string) (Object, error) {
	text, length := chars(name)
	found := C.zt_object_find_n(f.handle, text, length)
	if found == nil {
		return Object{}, refuse(ErrNotFound, "there is no object "+name)
	}
	return Object{found, f.kept}, nil
}

// ObjectInfo is what is known of an object without touching its bytes. Component is the data of a dense object or of blocks, and
// what follows describes it. Another object has nothing there: HasArray is false.
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

// HasArray says whether the object is one array, which Component holds. No component of a sparse or quantized object is one.
func (i ObjectInfo) HasArray() bool { return i.Component.handle != nil }

// ComponentInfo is what is known of a component without touching its bytes.
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

// ListObjects tells of all objects, by few calls.
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

// ListComponents tells of all components, or, if of is not nil, of those of an object, by few calls.
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
