package ztensor

/*
#include <stdlib.h>
#include <ztensor_advanced.h>
*/
import "C"

import "encoding/json"

// Data is a component to write.
type Data struct {
	Role     string
	DType    DType
	Type     Type
	Bytes    []byte // In the host's byte order.
	Encoding Encoding
	Digest   Digest
}

// DataOf makes a component from a slice, without a copy.
func DataOf[T Element](role string, data []T) Data {
	return Data{Role: role, DType: dtypeOf[T](), Bytes: bytesOf(data)}
}

func (d *Data) fill(m *memory, c *C.zt_component_desc) {
	c.role, c.role_length = m.text(d.Role), C.size_t(len(d.Role))
	c.dtype, c._type = C.zt_dtype(d.DType), C.zt_type(d.Type)
	c.encoding, c.digest = C.zt_encoding(d.Encoding), C.zt_digest(d.Digest)
	m.borrow(&c.data, d.Bytes)
	c.size = C.uint64_t(len(d.Bytes))
}

// Description of an object to write.
type Description struct {
	Name       string
	Format     Format
	FormatName string // If Format is FormatOther.
	Shape      []uint64
	Attributes map[string]any // Values that encoding/json encodes.
}

func (d *Description) fill(m *memory, c *C.zt_object_desc) error {
	c.name, c.name_length = m.text(d.Name), C.size_t(len(d.Name))
	c.format = C.zt_format(d.Format)
	if d.FormatName != "" {
		c.format_name = m.text(d.FormatName)
	}
	c.shape, c.rank = m.numbers(d.Shape), C.size_t(len(d.Shape))
	if d.Attributes != nil {
		text, err := json.Marshal(d.Attributes)
		if err != nil {
			return err
		}
		c.attributes_json = m.text(string(text))
	}
	return nil
}

// WriteObject writes an object of any format.
func (w *Writer) WriteObject(object Description, parts ...Data) error {
	var m memory
	defer m.free()
	c := &sized[C.zt_object_desc](&m, 1)[0]
	if err := object.fill(&m, c); err != nil {
		return err
	}
	all := sized[C.zt_component_desc](&m, len(parts))
	for i := range parts {
		parts[i].fill(&m, &all[i])
	}
	c.components, c.component_count = first(all), C.size_t(len(all))
	return w.call(func() C.zt_status { return C.zt_write_object(w.handle, c) })
}

// WriteDense writes a tensor.
func WriteDense[T Element](w *Writer, name string, shape []uint64, data []T) error {
	var m memory
	defer m.free()
	bytes := bytesOf(data)
	return w.call(func() C.zt_status {
		return C.zt_write_dense(w.handle, m.text(name), C.size_t(len(name)), C.zt_dtype(dtypeOf[T]()), C.ZT_TYPE_NONE,
			numbers(shape), C.size_t(len(shape)), pointer(bytes), C.size_t(len(bytes)))
	})
}

// Dense is a tensor of WriteBatch.
type Dense struct {
	Name  string
	Shape []uint64
	Data  Data // Its role is ignored.
}

// WriteBatch writes many tensors in one call, several at once if that is faster.
func (w *Writer) WriteBatch(tensors []Dense) error {
	var m memory
	defer m.free()
	all := sized[C.zt_write_request](&m, len(tensors))
	for i, t := range tensors {
		c := &all[i]
		c.name, c.name_length = m.text(t.Name), C.size_t(len(t.Name))
		c.shape, c.rank = m.numbers(t.Shape), C.size_t(len(t.Shape))
		m.borrow(&c.data, t.Data.Bytes)
		c.size = C.size_t(len(t.Data.Bytes))
		c.dtype, c._type = C.zt_dtype(t.Data.DType), C.zt_type(t.Data.Type)
		c.encoding, c.digest = C.zt_encoding(t.Data.Encoding), C.zt_digest(t.Data.Digest)
	}
	return w.call(func() C.zt_status { return C.zt_write_batch(w.handle, first(all), C.size_t(len(all))) })
}

// WriteCSR checks and writes a matrix of compressed sparse rows.
func WriteCSR[T Element](w *Writer, name string, rows, columns uint64, values []T, indices, indptr []uint64) error {
	if len(indices) != len(values) || uint64(len(indptr)) != rows+1 {
		return refuse(ErrInvalidArgument, "a csr object has an index for each value, and rows + 1 row starts")
	}
	var m memory
	defer m.free()
	bytes := bytesOf(values)
	return w.call(func() C.zt_status {
		return C.zt_write_csr(w.handle, m.text(name), C.size_t(len(name)), C.zt_dtype(dtypeOf[T]()), C.ZT_TYPE_NONE,
			numbers([]uint64{rows, columns}), C.size_t(len(values)), pointer(bytes), C.size_t(len(bytes)), numbers(indices), numbers(indptr))
	})
}

// WriteCOO checks and writes a coordinate list. coords has a run of numbers for each dimension.
func WriteCOO[T Element](w *Writer, name string, shape []uint64, values []T, coords []uint64) error {
	if len(coords) != len(values)*len(shape) {
		return refuse(ErrInvalidArgument, "a coo object has a coordinate for each value and dimension")
	}
	var m memory
	defer m.free()
	bytes := bytesOf(values)
	return w.call(func() C.zt_status {
		return C.zt_write_coo(w.handle, m.text(name), C.size_t(len(name)), C.zt_dtype(dtypeOf[T]()), C.ZT_TYPE_NONE,
			numbers(shape), C.size_t(len(shape)), C.size_t(len(values)), pointer(bytes), C.size_t(len(bytes)), numbers(coords))
	})
}

// QuantizedGroup is a tensor of quantized groups to write. Zeros is empty if there are no zeros.
type QuantizedGroup struct {
	Bits, GroupSize             uint64
	Packing                     string
	PackedWeight, Scales, Zeros Data // Their roles are ignored.
	HasAxis                     bool // The fields after it are set; zTensor 2 needs them.
	Axis                        uint64
	ZeroPoint                   int64
	MSBFirst, ZerosPacked       bool
}

// WriteQuantized checks and writes a tensor of quantized groups; in zTensor 2 as zt.quant_group/1.
func (w *Writer) WriteQuantized(name string, shape []uint64, q QuantizedGroup) error {
	var m memory
	defer m.free()
	c := &sized[C.zt_quantized_desc](&m, 1)[0]
	c.bits, c.group_size = C.uint64_t(q.Bits), C.uint64_t(q.GroupSize)
	if q.Packing != "" {
		c.packing = m.text(q.Packing)
	}
	m.borrow(&c.packed_weight, q.PackedWeight.Bytes)
	m.borrow(&c.scales, q.Scales.Bytes)
	m.borrow(&c.zeros, q.Zeros.Bytes)
	c.packed_weight_size, c.packed_weight_dtype = C.uint64_t(len(q.PackedWeight.Bytes)), C.zt_dtype(q.PackedWeight.DType)
	c.scales_size, c.scales_dtype = C.uint64_t(len(q.Scales.Bytes)), C.zt_dtype(q.Scales.DType)
	c.scales_type = C.zt_type(q.Scales.Type)
	c.has_axis, c.msb_first, c.zeros_packed = flag(q.HasAxis), flag(q.MSBFirst), flag(q.ZerosPacked)
	c.axis, c.zero_point = C.uint64_t(q.Axis), C.int64_t(q.ZeroPoint)
	c.zeros_size, c.zeros_dtype = C.uint64_t(len(q.Zeros.Bytes)), C.zt_dtype(q.Zeros.DType)
	return w.call(func() C.zt_status {
		return C.zt_write_quantized(w.handle, m.text(name), C.size_t(len(name)), numbers(shape), C.size_t(len(shape)), c)
	})
}

// Begin starts an object that is written in pieces. Call BeginComponent and Write for each component, then
// End.
func (w *Writer) Begin(object Description) error {
	var m memory
	defer m.free()
	c := &sized[C.zt_object_desc](&m, 1)[0]
	if err := object.fill(&m, c); err != nil {
		return err
	}
	return w.call(func() C.zt_status { return C.zt_write_begin(w.handle, c) })
}

// BeginComponent starts a component of the open object. If data has Bytes, they are the complete component.
// Otherwise call Write.
func (w *Writer) BeginComponent(part Data) error {
	var m memory
	defer m.free()
	c := &sized[C.zt_component_desc](&m, 1)[0]
	part.fill(&m, c)
	return w.call(func() C.zt_status { return C.zt_write_component(w.handle, c) })
}

// Write appends bytes to the open component. It implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.call(func() C.zt_status { return C.zt_write_data(w.handle, pointer(p), C.size_t(len(p))) }); err != nil {
		return 0, err
	}
	return len(p), nil
}

// End ends the open object.
func (w *Writer) End() error {
	return w.call(func() C.zt_status { return C.zt_write_end(w.handle) })
}

// optional returns NULL for an empty name.
func (m *memory) optional(name []string) (*C.char, C.size_t) {
	if len(name) == 0 {
		return nil, 0
	}
	return m.text(name[0]), C.size_t(len(name[0]))
}

// CopyOptions are options of Copy. With zero fields the stored bytes are copied. Any other field rewrites the
// object.
type CopyOptions struct {
	Encoding Encoding
	Digest   Digest
	DType    DType // For floats.
	Type     Type  // The block type to quantize floats to.
}

// Copy copies an object of an open file, of any container. If a name is given, the copy has that name.
// options may be nil.
func (w *Writer) Copy(from Object, options *CopyOptions, newName ...string) error {
	var m memory
	defer m.free()
	o := &sized[C.zt_copy_options](&m, 1)[0]
	o.name, o.name_length = m.optional(newName)
	if options != nil {
		o.encoding, o.digest = C.zt_encoding(options.Encoding), C.zt_digest(options.Digest)
		o.dtype, o._type = C.zt_dtype(options.DType), C.zt_type(options.Type)
	}
	return w.call(func() C.zt_status { return C.zt_write_copy(w.handle, from.handle, o) })
}

// AddShard makes an open file of zTensor 2 a shard of the file that is written. Readers look for it as
// STEM-name.zt.
func (w *Writer) AddShard(name string, file *File) error {
	var m memory
	defer m.free()
	return w.call(func() C.zt_status {
		return C.zt_write_shard(w.handle, m.text(name), C.size_t(len(name)), file.handle)
	})
}

// Link adds an object of a shard that AddShard added. Its bytes stay in the shard. If a name is given, the
// object has that name.
func (w *Writer) Link(from Object, newName ...string) error {
	var m memory
	defer m.free()
	name, length := m.optional(newName)
	return w.call(func() C.zt_status { return C.zt_write_link(w.handle, from.handle, name, length) })
}

// CopyAttributes replaces all attributes of the file by those of an open file, of any container.
func (w *Writer) CopyAttributes(from *File) error {
	return w.call(func() C.zt_status { return C.zt_write_copy_attributes(w.handle, from.handle) })
}
