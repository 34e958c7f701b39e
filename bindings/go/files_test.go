package ztensor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"
)

func TestEveryContainer(t *testing.T) {
	table, err := os.ReadFile("../golden/containers.txt")
	must(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		row := strings.Split(line, "\t")
		count, err := strconv.Atoi(row[2])
		must(t, err)
		f := opened(t, data+row[0])
		is := f.Parts()[0].Container
		if is.String() != row[1] || f.Len() != count || f.Size() == 0 {
			t.Errorf("%s: %v with %d objects", row[0], is, f.Len())
		}
		objects, err := f.ListObjects()
		must(t, err)
		components, err := f.ListComponents(nil)
		must(t, err)
		report, err := f.Verify(nil)
		must(t, err)
		if len(objects) != count || uint64(len(components)) != report.Components {
			t.Errorf("%s: lists %d objects, %d components", row[0], len(objects), len(components))
		}
		at := 0
		f.All()(func(o Object) bool {
			info := objects[at]
			if o != info.Object || o.Name() != info.Name || !reflect.DeepEqual(o.Shape(), info.Shape) || o.Format() != info.Format {
				t.Errorf("%s: %+v", row[0], info)
			}
			at++
			return at < count-1
		})
		for _, info := range components {
			c := info.Component
			if c.Role() != info.Role || c.Digest() != info.Digest || c.Part() != info.Part || c.Offset() != info.Offset ||
				c.StoredSize() != info.StoredSize || c.Size() != info.Size || c.DType() != info.DType || c.Type() != info.Type ||
				c.Encoding() != info.Encoding {
				t.Errorf("%s: %+v", row[0], info)
			}
		}
		of, err := f.ListComponents(&objects[0].Object)
		must(t, err)
		if len(of) != objects[0].Components {
			t.Errorf("%s: %d components of the first", row[0], len(of))
		}
		var others []Container
		for c := ContainerZT0_1; c <= ContainerTorch; c++ {
			if c != is {
				others = append(others, c)
			}
		}
		if _, err := Open(data+row[0], &Options{Containers: others}); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s as another: %v", row[0], err)
		}
	}
}

func TestTypes(t *testing.T) {
	if n, err := GGMLNumber(DTypeU8, TypeGGUFQ4_0); n != 2 || err != nil {
		t.Error(n, err)
	}
	if dtype, kind, err := TypeFromGGML(30); dtype != DTypeBF16 || kind != TypeNone || err != nil {
		t.Error(dtype, kind, err)
	}
	if n, size, err := TypeGGUFQ4_0.Block(); n != 32 || size != 18 || err != nil {
		t.Error(n, size, err)
	}
	if _, _, err := TypeNone.Block(); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	d, err := ParseDType("bf16")
	must(t, err)
	kind, err := ParseType(TypeF4E2M1.String())
	must(t, err)
	if d != DTypeBF16 || d.Size() != 2 || kind != TypeF4E2M1 || FormatDense.String() != "dense" || EncodingZstd.String() != "zstd" {
		t.Error(d, kind)
	}
	f := opened(t, data+"foreign/valid/amber-all-types-py.gguf")
	q4, err := f.Object("amber.q4_0.2")
	must(t, err)
	if q4.Format() != FormatBlocks || q4.FormatName() != "gguf.q4_0/1" || q4.ElementCount() != 64 || q4.Components()[0].Size() != 36 {
		t.Error(q4.FormatName(), q4.ElementCount())
	}
}

const shards = data + "foreign/valid/amber-hf-sharded"

type folder struct{ path string }

func (f folder) open(name string) (Source, error) {
	content, err := os.ReadFile(filepath.Join(f.path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return Source{}, ErrNoFile
	}
	return Source{ReaderAt: bytes.NewReader(content), Size: int64(len(content)), Name: name, Identity: 7}, err
}

func TestModels(t *testing.T) {
	model, err := OpenModel(shards, nil)
	must(t, err)
	defer model.Close()
	parts := model.Parts()
	last, _ := model.At(model.Len() - 1)
	if len(parts) != 3 || model.Len() != 12 || last.Components()[0].Part() != 2 {
		t.Fatalf("%d parts, %d objects", len(parts), model.Len())
	}
	var paths []string
	for i, part := range parts {
		alone := opened(t, part.Path)
		a, err := alone.Identity()
		must(t, err)
		b, err := model.PartIdentity(i)
		must(t, err)
		whole, err := model.Bytes(i)
		must(t, err)
		if a != b || uint64(len(whole)) != part.Size || part.Container != ContainerSafetensors {
			t.Errorf("part %d: %+v and %+v", i, a, b)
		}
		paths = append(paths, part.Path)
	}
	if _, err := model.PartIdentity(3); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	same, err := OpenParts(paths, nil)
	must(t, err)
	defer same.Close()
	a, _ := same.Identity()
	b, _ := model.Identity()
	if a != b {
		t.Errorf("%+v and %+v", a, b)
	}
	store := folder{shards}
	from, err := OpenModelFrom(Store{Open: store.open}, "model.safetensors.index.json", nil)
	must(t, err)
	defer from.Close()
	c, err := from.PartIdentity(2)
	must(t, err)
	if from.Len() != 12 || c.Source != 7 {
		t.Errorf("%d objects, %+v", from.Len(), c)
	}
	list := func(string) ([]string, error) {
		names, err := filepath.Glob(shards + "/*")
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		return names, err
	}
	whole, err := OpenModelFrom(Store{Open: store.open, List: list}, "", nil)
	must(t, err)
	whole.Close()
	broken := errors.New("no bucket")
	_, err = OpenModelFrom(Store{Open: func(string) (Source, error) { return Source{}, broken }}, "model.safetensors", nil)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "no bucket") {
		t.Error(err)
	}
	requests := make([]Request, 0, 12)
	model.All()(func(o Object) bool {
		c := o.Components()[0]
		requests = append(requests, Request{Component: c, Dst: make([]byte, c.Size())})
		return true
	})
	done := 0
	stats, err := model.ReadBatch(requests, &ReadOptions{Threads: 2, Done: func(i int, err error) { must(t, err); done++ }})
	must(t, err)
	if stats.Requests != 12 || done != 12 {
		t.Errorf("%+v, %d done", stats, done)
	}
	for _, r := range requests {
		if want, _ := r.Component.Read(); !bytes.Equal(want, r.Dst) {
			t.Error("the batch read different bytes")
		}
	}
}

func TestValues(t *testing.T) {
	f := opened(t, data+"foreign/valid/amber-kv-all-le3.gguf")
	all := f.Value()
	get := func(key string) Value {
		v, is := all.Find(key)
		if !is {
			t.Fatal(key)
		}
		return v
	}
	small, err := get("amber.i8").Int64()
	must(t, err)
	large, err := get("amber.u64").Uint64()
	must(t, err)
	truth, err := get("amber.bool_t").Bool()
	must(t, err)
	zero, err := get("amber.f64").Float64()
	must(t, err)
	text, err := get("str.nul").Text()
	must(t, err)
	raw, err := get("str.not_utf8").Bytes()
	must(t, err)
	if small != -128 || large != 1<<64-1 || !truth || zero != 0 || text != "a\x00b\x00" || string(raw) != "\xff\xfe\x80abc" {
		t.Error(small, large, truth, zero, text, raw)
	}
	if _, err := get("amber.u64").Int64(); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if get("arr.u16").DType() != DTypeU16 || all.Kind() != KindMap {
		t.Error(get("arr.u16").DType(), all.Kind())
	}
	numbers, err := Numbers[uint16](get("arr.u16"))
	must(t, err)
	if !reflect.DeepEqual(numbers, []uint16{0, 65535}) {
		t.Error(numbers)
	}
	if _, err := Numbers[uint8](get("arr.u16")); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if one, err := Numbers[int8](get("amber.i8")); err != nil || one[0] != -128 {
		t.Error(one, err)
	}
	keys := 0
	all.All()(func(key, value Value) bool {
		if name, err := key.Text(); keys == 0 && (name != "amber.u8" || err != nil) {
			t.Error(name, err)
		}
		keys++
		return true
	})
	if keys != all.Len() {
		t.Error(keys)
	}
	if json, err := get("arr.u16").MarshalJSON(); string(json) != "[0,65535]" || err != nil {
		t.Error(string(json), err)
	}
	if empty, err := get("arr.empty_str").Strings(); len(empty) != 0 || err != nil {
		t.Error(empty, err)
	}
	words, _ := opened(t, data+"foreign/valid/amber-vocab.gguf").Value().Find("tokenizer.ggml.tokens")
	tokens, err := words.Strings()
	must(t, err)
	if len(tokens) != words.Len() || tokens[2] != "</s>" {
		t.Error(tokens[:3])
	}
}

func TestFailuresAndStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.zt")
	steps := 0
	w, err := Create(path, &WriterOptions{Digest: DigestCRC32C, Watch: Watch{Progress: func(done, total uint64) bool { steps++; return true }}})
	must(t, err)
	for _, name := range []string{"a", "b", "c"} {
		must(t, WriteDense(w, name, []uint64{64}, make([]float32, 64)))
	}
	finish(t, w)
	if steps == 0 {
		t.Error("writing did not report progress")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	stop := Watch{Context: ended}
	stopped := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrCancelled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = Open(path, &Options{Verify: true, Watch: stop})
	stopped("open", err)
	f, err := Open(path, &Options{Mode: ModeRead, Verify: true, Watch: Watch{Context: context.Background()}})
	must(t, err)
	defer f.Close()
	a, err := f.Object("a")
	must(t, err)
	c := a.Components()[0]
	_, err = c.Load(&ReadOptions{Watch: stop})
	stopped("load", err)
	_, err = f.ReadBatch([]Request{{Component: c, Dst: make([]byte, 256)}}, &ReadOptions{Watch: stop})
	stopped("batch", err)
	_, err = f.Verify(&VerifyOptions{Watch: stop})
	stopped("verify", err)
	_, err = Repair(path, &RepairOptions{Watch: stop})
	stopped("repair", err)
	copied, err := Create(path+".copy", &WriterOptions{Watch: stop})
	if err == nil {
		if err = copied.Copy(a, nil); err == nil {
			_, err = copied.Finish()
		}
		copied.Abort()
	}
	stopped("copy", err)
	if r, err := Repair(path, nil); err != nil || r.Objects != 3 {
		t.Error(r, err)
	}

	var offsets []int64
	for _, name := range []string{"a", "c"} {
		o, _ := f.Object(name)
		offsets = append(offsets, int64(o.Components()[0].Offset()))
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	for _, offset := range offsets {
		_, err = file.WriteAt([]byte{1}, offset)
		must(t, err)
	}
	file.Close()
	f = opened(t, path)
	a, err = f.Object("a")
	must(t, err)
	found, err := f.Failures(VerifyOptions{Threads: 2})
	must(t, err)
	names := map[string]bool{}
	for _, one := range found {
		names[one.Object.Name()+one.Component.Role()] = errors.Is(one.Err, ErrDigestMismatch)
	}
	if !reflect.DeepEqual(names, map[string]bool{"adata": true, "cdata": true}) {
		t.Error(names)
	}
	calls := 0
	_, err = f.Verify(&VerifyOptions{Threads: 1, OnFailure: func(Failure) bool { calls++; return false }})
	var e *Error
	if !errors.As(err, &e) || e.Rule != "digest-mismatch" || calls != 1 {
		t.Error(err, calls)
	}
	if _, err := f.Verify(&VerifyOptions{Object: &a}); !errors.Is(err, ErrDigestMismatch) {
		t.Error(err)
	}
	b, _ := f.Object("b")
	part := b.Components()[0]
	for _, o := range []VerifyOptions{{Object: &b}, {Component: &part, Checks: CheckRequireDigests}} {
		if r, err := f.Verify(&o); err != nil || r.Components != 1 {
			t.Error(r, err)
		}
	}
	if _, err := Open(path+".none", nil); !errors.Is(err, ErrNoFile) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestModesHooksAndBudgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.zt")
	var started, ended atomic.Int64
	hooks := NewThreadHooks(func(int) { started.Add(1) }, func(int) { ended.Add(1) })
	w, err := Create(path, &WriterOptions{Encoding: EncodingZstd, Threads: 2, Hooks: hooks, Alignment: 4096})
	must(t, err)
	content := make([]int32, 2<<20)
	for i := range content {
		content[i] = int32(i * 31 >> 3)
	}
	must(t, WriteDense(w, "a", []uint64{uint64(len(content))}, content))
	raw := DataOf("data", []uint8{1, 2, 3})
	raw.Encoding = EncodingRaw
	must(t, w.WriteObject(Description{Name: "raw", Format: FormatDense, Shape: []uint64{3}}, raw))
	finish(t, w)
	if started.Load() == 0 || started.Load() != ended.Load() {
		t.Error(started.Load(), ended.Load())
	}
	var given, taken atomic.Int64
	allocator := NewAllocator(func(size, alignment uintptr) unsafe.Pointer {
		given.Add(int64(size))
		return aligned(size, alignment)
	}, func(memory unsafe.Pointer, size, alignment uintptr) {
		taken.Add(int64(size))
		release(memory)
	})
	f, err := Open(path, &Options{Allocator: allocator, Hooks: hooks, Threads: 2})
	must(t, err)
	a, err := f.Object("a")
	must(t, err)
	c, err := a.Component("data")
	must(t, err)
	loaded, err := c.Load(nil)
	must(t, err)
	want := bytesOf(content)
	if !bytes.Equal(loaded.Bytes(), want) || given.Load() != int64(len(want)) {
		t.Error("loaded", given.Load())
	}
	tensor, err := a.Tensor()
	must(t, err)
	if elements, err := ElementsOf[int32](tensor); err != nil || elements[1000] != content[1000] {
		t.Error(err)
	}
	stored := make([]byte, c.StoredSize())
	must(t, c.ReadStored(stored))
	if err := c.ReadStored(stored[1:]); !errors.Is(err, ErrBufferSize) {
		t.Error(err)
	}
	must(t, f.Close())
	loaded.Free()
	loaded.Free()
	if taken.Load() != given.Load() {
		t.Error(taken.Load(), given.Load())
	}

	if _, err := Open(path, &Options{MaxMemory: 100}); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
	own, err := Open(path, &Options{Mode: ModePrivate, Advice: AdviceSequential, Name: "mine"})
	must(t, err)
	defer own.Close()
	if own.Mode() != ModePrivate {
		t.Error(own.Mode())
	}
	o, err := own.Object("raw")
	must(t, err)
	part := o.Components()[0]
	if part.Caps()&CapMap == 0 || part.Caps()&CapVerify == 0 {
		t.Error(part.Caps())
	}
	must(t, part.Advise(AdviceWillneed))
	if err := part.Advise(99); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	bytes, err := part.Bytes()
	must(t, err)
	bytes[0] = 9
	if again, _ := part.Bytes(); again[0] != 9 {
		t.Error("a private page is not kept")
	}
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	by, err := OpenFD(file.Fd(), 0, Whole, nil)
	must(t, err)
	defer by.Close()
	if _, err := OpenHandle(4, 0, Whole, nil); runtime.GOOS != "windows" && !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	content2, err := os.ReadFile(path)
	must(t, err)
	in, err := OpenMemory(content2, nil)
	must(t, err)
	defer in.Close()
	if by.Len() != 2 || in.Len() != 2 || by.Parts()[0].Path != "" {
		t.Error(by.Parts(), in.Len())
	}
}

type manyAtOnce struct {
	*bytes.Reader
	many, closed *atomic.Int64
}

func (c manyAtOnce) ReadMany(ranges []Range) error {
	c.many.Add(1)
	for _, r := range ranges {
		if _, err := c.ReadAt(r.Dst, int64(r.Offset)); err != nil {
			return err
		}
	}
	return nil
}
func (c manyAtOnce) Close() error { c.closed.Add(1); return nil }

func TestGroupsOfCodesIn2(t *testing.T) {
	var written bytes.Buffer
	w, err := NewWriter(&written, &WriterOptions{Spec: Spec2})
	must(t, err)
	scales := DataOf("", []uint16{0x3c00, 0x3c00})
	scales.DType = DTypeF16
	groups := QuantizedGroup{Bits: 4, GroupSize: 4, PackedWeight: DataOf("", []uint8{1, 2, 3, 4}), Scales: scales}
	if err := w.WriteQuantized("bad", []uint64{2, 4}, groups); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	groups.HasAxis, groups.Axis, groups.ZeroPoint, groups.MSBFirst = true, 1, -8, true
	must(t, w.WriteQuantized("q", []uint64{2, 4}, groups))
	_, err = w.Finish()
	must(t, err)
	f, err := OpenMemory(written.Bytes(), nil)
	must(t, err)
	defer f.Close()
	o, err := f.Object("q")
	must(t, err)
	q, err := o.Quantized()
	must(t, err)
	if q.Bits != 4 || q.Axis != 1 || q.ZeroPoint != -8 || !q.MSBFirst || len(q.Zeros.Bytes) != 0 || q.Scales.Count != 2 {
		t.Errorf("%+v", q)
	}
}

func TestWeightsOfACheckpoint(t *testing.T) {
	for _, combine := range []bool{false, true} {
		f, err := OpenModel(data+"checkpoints/gptq-4", &Options{Combine: combine})
		if err != nil {
			t.Fatal(err)
		}
		weight, err := f.Object("a.weight")
		if combine != (err == nil) {
			t.Fatalf("combine %v: %v", combine, err)
		}
		if combine {
			numbers, err := Convert[float32](weight)
			if err != nil || len(numbers) != 32*64 || numbers[3] != 0 {
				t.Fatal(len(numbers), err)
			}
		}
		f.Close()
	}
}

func TestLinksIntoShards(t *testing.T) {
	folder := t.TempDir()
	options := &WriterOptions{Spec: Spec2}
	w, err := Create(filepath.Join(folder, "m-base.zt"), options)
	must(t, err)
	must(t, w.WriteBatch([]Dense{{"x", []uint64{2}, DataOf("", []int16{1, 2})}}))
	_, err = w.Finish()
	must(t, err)
	base, err := Open(filepath.Join(folder, "m-base.zt"), nil)
	must(t, err)
	defer base.Close()
	x, err := base.Object("x")
	must(t, err)
	w, err = Create(filepath.Join(folder, "m.zt"), options)
	must(t, err)
	if err := w.Link(x); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	must(t, w.AddShard("base", base))
	must(t, w.Link(x))
	must(t, w.Link(x, "again"))
	_, err = w.Finish()
	must(t, err)
	f, err := OpenModel(filepath.Join(folder, "m.zt"), nil)
	must(t, err)
	defer f.Close()
	if _, err := f.Object("again"); err != nil {
		t.Error(err)
	}
}

func TestObjectsOfAllKinds(t *testing.T) {
	var written bytes.Buffer
	w, err := NewWriter(&written, nil)
	must(t, err)
	must(t, WriteCSR(w, "csr", 2, 4, []float64{1, 2, 3}, []uint64{0, 3, 1}, []uint64{0, 2, 3}))
	must(t, WriteCOO(w, "coo", []uint64{2, 4}, []float32{5}, []uint64{1, 3}))
	if err := WriteCOO(w, "bad", []uint64{2, 4}, []float32{5}, []uint64{1, 4}); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := WriteCSR(w, "bad", 2, 4, []float64{1}, []uint64{0}, nil); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	scales := DataOf("", []uint16{0x3c00, 0x3c00})
	scales.DType = DTypeF16
	must(t, w.WriteQuantized("q", []uint64{2, 8}, QuantizedGroup{Bits: 4, GroupSize: 8, Packing: "8_per_i32",
		PackedWeight: DataOf("", []uint32{1, 2}), Scales: scales}))
	must(t, w.WriteBatch([]Dense{{"n\x00n", []uint64{2}, DataOf("", []int16{1, 2})}, {"empty", []uint64{0}, DataOf("", []int16{})}}))
	must(t, w.Begin(Description{Name: "pieces", Format: FormatDense, Shape: []uint64{4}, Attributes: map[string]any{"n": 1}}))
	must(t, w.SetAttribute("unit", "m", "pieces"))
	must(t, w.BeginComponent(Data{Role: "data", DType: DTypeU8}))
	_, err = io.WriteString(w, "abcd")
	must(t, err)
	must(t, w.End())
	summary, err := w.Finish()
	must(t, err)
	if summary.Objects != 6 || summary.FileSize != uint64(written.Len()) {
		t.Errorf("%+v", summary)
	}
	var many, closed atomic.Int64
	f, err := OpenSource(Source{ReaderAt: manyAtOnce{bytes.NewReader(written.Bytes()), &many, &closed}, Size: int64(written.Len()), Concurrency: 2, Gap: 1, Identity: 5}, nil)
	must(t, err)
	find := func(name string) Object {
		o, err := f.Object(name)
		must(t, err)
		return o
	}
	csr, err := find("csr").CSR()
	must(t, err)
	values, err := ElementsOf[float64](csr.Values)
	must(t, err)
	if csr.Rows != 2 || csr.Columns != 4 || values[2] != 3 || csr.Indptr.Count != 3 || csr.Indices.Bytes[8] != 3 {
		t.Errorf("%+v", csr)
	}
	coo, err := find("coo").COO()
	must(t, err)
	if !reflect.DeepEqual(coo.Shape, []uint64{2, 4}) || coo.Coords.Count != 2 {
		t.Errorf("%+v", coo)
	}
	q, err := find("q").Quantized()
	must(t, err)
	if q.Bits != 4 || q.GroupSize != 8 || q.Packing != "8_per_i32" || len(q.Zeros.Bytes) != 0 || q.Scales.Count != 2 {
		t.Errorf("%+v", q)
	}
	if _, err := find("pieces").CSR(); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	attributes, err := find("pieces").Attributes()
	must(t, err)
	if fmt.Sprint(attributes) != "map[n:1 unit:m]" || find("n\x00n").Name() != "n\x00n" {
		t.Error(attributes)
	}
	if i, err := f.Identity(); err != nil || i.Source != 5 {
		t.Error(i, err)
	}
	first, last := find("csr").Components()[0], find("pieces").Components()[0]
	_, err = f.ReadBatch([]Request{{Component: first, Dst: make([]byte, 24)}, {Component: last, Offset: 1, Length: 2, Dst: make([]byte, 2)}}, nil)
	must(t, err)
	must(t, f.Close())
	if many.Load() == 0 || closed.Load() != 1 {
		t.Error(many.Load(), closed.Load())
	}
}

func TestEditing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.zt")
	w, err := Create(path, nil)
	must(t, err)
	for key, value := range map[string]any{"null": nil, "bool": true, "i64": int64(-5), "u64": uint64(1<<64 - 1), "f64": 0.5, "k\x00": "",
		"bytes": []byte{0, 255}, "strings": []string{"a\x00b", ""}, "numbers": NumbersOf([]float32{0.5, 1}), "gone": 1,
		"tag": map[string]any{"$tag": []any{7, 1}}} {
		must(t, w.SetAttribute(key, value))
	}
	must(t, w.SetAttribute("gone", Removed))
	if err := w.SetAttribute("gone", Removed); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		must(t, WriteDense(w, name, []uint64{2}, []float32{1, 2}))
	}
	finish(t, w)
	w, err = Append(path, nil)
	must(t, err)
	must(t, w.RemoveObject("a"))
	must(t, WriteDense(w, "a", []uint64{1}, []float32{9}))
	must(t, w.RenameObject("b", "b\x00b"))
	must(t, w.SetAttribute("unit", "m", "c"))
	must(t, w.SetAttribute("gone", true, "c"))
	must(t, w.SetAttribute("gone", Removed, "c"))
	if err := w.RemoveObject("b"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	finish(t, w)
	f := opened(t, path)
	all := f.Value()
	tag, _ := all.Find("tag")
	number, err := tag.Tag()
	must(t, err)
	list, _ := all.Find("strings")
	strings, err := list.Strings()
	must(t, err)
	if all.Len() != 10 || number != 7 || strings[0] != "a\x00b" || tag.At(0).Kind() != KindInt {
		t.Error(all.Len(), number, strings)
	}
	c, err := f.Object("c")
	must(t, err)
	if attributes, err := c.Attributes(); err != nil || fmt.Sprint(attributes) != "map[unit:m]" {
		t.Error(attributes, err)
	}
	if _, err := f.Object("b\x00b"); err != nil {
		t.Error(err)
	}
	w, err = Create(path+".copy", nil)
	must(t, err)
	must(t, w.CopyAttributes(f))
	must(t, w.SetAttribute("again", tag))
	must(t, w.Copy(c, nil))
	must(t, w.Copy(c, nil, "d\x00d"))
	must(t, w.Copy(c, &CopyOptions{Encoding: EncodingZstd, Digest: DigestSHA256, DType: DTypeF16}, "half"))
	if err := w.Copy(c, &CopyOptions{Type: TypeGGUFQ4K}, "k"); err == nil {
		t.Error("q4_k is only read")
	}
	finish(t, w)
	g := opened(t, path+".copy")
	half, err := g.Object("half")
	must(t, err)
	if g.Value().Len() != 11 || g.Len() != 3 || half.Components()[0].DType() != DTypeF16 {
		t.Error(g.Value().Len(), g.Len())
	}
}

func TestMeasureMayBeStopped(t *testing.T) {
	o, err := opened(t, data+"v1.1/rs-1.1.1-sparse-zstd-digest.zt").Object("coo")
	must(t, err)
	part, err := o.Component("coords")
	must(t, err)
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := part.MeasureWatched(Watch{Context: stop}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	steps := 0
	size, err := part.MeasureWatched(Watch{Progress: func(done, total uint64) bool { steps++; return true }})
	must(t, err)
	if again, err := part.Measure(); err != nil || again != size || size != part.Size() || steps == 0 {
		t.Error(size, again, steps, err)
	}
}

func TestConvertDoesNotAllocateAFalseDeclaredSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zt")
	w, err := Create(path, &WriterOptions{Encoding: EncodingZstd})
	must(t, err)
	must(t, WriteDense(w, "a", []uint64{3 << 20}, make([]uint8, 3<<20)))
	finish(t, w)
	file, err := os.ReadFile(path)
	must(t, err)
	number := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	must(t, os.WriteFile(path, bytes.ReplaceAll(file, number(3<<20), number(1<<31)), 0o600))
	o := opened(t, path).Objects()[0]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Convert[float64](o); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%d bytes of memory for a file of %d", took, len(file))
	}
	// Each component has 1 byte per element. The first file does not declare its size, the second declares 16
	// TiB.
	for _, name := range []string{"copy/unsupported-component.zt", "foreign/invalid/amber-pt-view-expand-exabyte.pt"} {
		for _, o := range opened(t, data+name).Objects() {
			_, err := Convert[float32](o)
			size, _ := o.SizeAs(DTypeU8)
			got, whole := Convert[uint8](o)
			if errors.Is(whole, ErrLimit) && err == nil {
				whole = nil // the numbers do not fit in u8
			}
			if (err == nil) != (whole == nil) || size > 1<<30 && got != nil {
				t.Errorf("%s: %v, %v", name, err, whole)
			}
		}
	}
}
