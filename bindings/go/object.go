package ztensor

/*
#include <ztensor_advanced.h>
*/
import "C"

import "unsafe"

// Object is a named tensor. It is valid until its file is closed.
type Object struct {
	handle *C.zt_object
	kept   *lasting
}

// info returns zeros for the null object.
func (o Object) info() (i C.zt_object_info) {
	i.struct_size = C.sizeof_zt_object_info
	C.zt_object_get_info(o.handle, &i)
	return i
}

// Name returns the object's name.
func (o Object) Name() string {
	i := o.info()
	return counted(i.name, i.name_length)
}

func shape(from *C.uint64_t, rank C.size_t) []uint64 {
	return append(make([]uint64, 0, int(rank)), unsafe.Slice((*uint64)(unsafe.Pointer(from)), int(rank))...)
}

// Shape returns the shape, outermost dimension first.
func (o Object) Shape() []uint64 {
	return shape(C.zt_object_shape(o.handle), C.zt_object_rank(o.handle))
}

// ElementCount returns the product of the shape.
func (o Object) ElementCount() uint64 { return uint64(C.zt_object_element_count(o.handle)) }

// Format returns FormatDense, FormatSparseCSR or another format.
func (o Object) Format() Format { return Format(C.zt_object_format(o.handle)) }

// FormatName returns "dense", "sparse_csr" or another name. If the format is unknown, this is the name in the
// file.
func (o Object) FormatName() string {
	i := o.info()
	return own(i.format_name, Format(i.format))
}

// Attributes returns the attributes as encoding/json decodes them, or nil without attributes.
func (o Object) Attributes() (map[string]any, error) { return attributes(o.Value()) }

// Value returns the tree of the object's attributes, or a null value without attributes.
func (o Object) Value() Value { return Value{C.zt_object_attributes(o.handle)} }

// Components returns the object's components.
func (o Object) Components() []Component {
	components := make([]Component, int(C.zt_component_count(o.handle)))
	for i := range components {
		components[i] = Component{C.zt_component_at(o.handle, C.size_t(i)), o.kept}
	}
	return components
}

// Component returns the component with a role ("data" in a dense object), or ErrNotFound.
func (o Object) Component(role string) (Component, error) {
	text, length := chars(role)
	found := C.zt_component_find_n(o.handle, text, length)
	if found == nil {
		return Component{}, refuse(ErrNotFound, "object "+o.Name()+" has no component "+role)
	}
	return Component{found, o.kept}, nil
}

// ReadSlice reads a hyperslab of a dense object. In each dimension it reads count elements from start on,
// step apart. A nil step is 1.
func (o Object) ReadSlice(start, count, step []uint64, dst []byte) error {
	rank := int(C.zt_object_rank(o.handle))
	if len(start) != rank || len(count) != rank || step != nil && len(step) != rank {
		return refuse(ErrInvalidArgument, "a slice needs one number for each dimension")
	}
	return call(func() C.zt_status {
		return C.zt_object_read_slice(o.handle, numbers(start), numbers(count), numbers(step), pointer(dst), C.size_t(len(dst)))
	})
}

// Array is a component of a view. Its bytes are valid until the file is closed.
type Array struct {
	Bytes []byte
	Count uint64
	DType DType
	Type  Type
}

func arrayOf(a *C.zt_array) Array {
	return Array{borrowed(a.data, uint64(a.size)), uint64(a.count), DType(a.dtype), Type(a._type)}
}

// ElementsOf returns an array's elements as T; see Elements.
func ElementsOf[T Element](a Array) ([]T, error) { return elements[T](a.Bytes, a.DType) }

// Tensor is a dense object, in the mapped file or decoded once into the file's memory.
func (o Object) Tensor() (Array, error) {
	var v C.zt_tensor
	v.struct_size = C.sizeof_zt_tensor
	err := call(func() C.zt_status { return C.zt_tensor_view(o.handle, &v) })
	if err != nil {
		return Array{}, err
	}
	return Array{borrowed(v.data, uint64(v.size)), o.ElementCount(), DType(v.dtype), Type(v._type)}, nil
}

// CSR is a matrix of compressed sparse rows whose structure was checked. Row r has the entries from Indptr[r]
// up to Indptr[r+1].
type CSR struct {
	Rows, Columns           uint64
	Values, Indices, Indptr Array
}

// CSR checks a sparse_csr object and returns its parts.
func (o Object) CSR() (CSR, error) {
	var v C.zt_csr
	v.struct_size = C.sizeof_zt_csr
	if err := call(func() C.zt_status { return C.zt_csr_view(o.handle, &v) }); err != nil {
		return CSR{}, err
	}
	return CSR{uint64(v.rows), uint64(v.columns), arrayOf(&v.values), arrayOf(&v.indices), arrayOf(&v.indptr)}, nil
}

// COO is a coordinate list whose structure was checked. Coords has a run of numbers for each dimension.
type COO struct {
	Shape          []uint64
	Values, Coords Array
}

// COO checks a sparse_coo object and returns its parts.
func (o Object) COO() (COO, error) {
	var v C.zt_coo
	v.struct_size = C.sizeof_zt_coo
	if err := call(func() C.zt_status { return C.zt_coo_view(o.handle, &v) }); err != nil {
		return COO{}, err
	}
	return COO{shape(v.shape, v.rank), arrayOf(&v.values), arrayOf(&v.coords)}, nil
}

// Quantized is a tensor of quantized groups that was checked. Zeros is empty if there are no zeros.
type Quantized struct {
	Shape                       []uint64
	Bits, GroupSize             uint64
	Packing                     string
	PackedWeight, Scales, Zeros Array
	WeightsPerElement, Axis     uint64
	ZeroPoint                   int64
	MSBFirst, ZerosPacked       bool
}

// Quantized checks a quantized_group, zt.quant_group/1 or zt.mx/1 object and returns its parts.
func (o Object) Quantized() (Quantized, error) {
	var v C.zt_quantized
	v.struct_size = C.sizeof_zt_quantized
	if err := call(func() C.zt_status { return C.zt_quantized_view(o.handle, &v) }); err != nil {
		return Quantized{}, err
	}
	return Quantized{shape(v.shape, v.rank), uint64(v.bits), uint64(v.group_size), C.GoString(v.packing),
		arrayOf(&v.packed_weight), arrayOf(&v.scales), arrayOf(&v.zeros), uint64(v.weights_per_element),
		uint64(v.axis), int64(v.zero_point), v.msb_first != 0, v.zeros_packed != 0}, nil
}
