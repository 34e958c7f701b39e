package ztensor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

const data = "../../tests/data/"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, w *Writer) {
	t.Helper()
	_, err := w.Finish()
	must(t, err)
}

func opened(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path, nil)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestEveryDTypeOfAReleasedFile(t *testing.T) {
	f := opened(t, data+"v1.2/py-1.2.3-all-dtypes.zt")
	if f.Len() != 13 {
		t.Fatalf("%d objects", f.Len())
	}
	for _, o := range f.Objects() {
		c, err := o.Component("data")
		must(t, err)
		borrowed, err := c.Bytes()
		must(t, err)
		read, err := c.Read()
		must(t, err)
		into := make([]byte, c.Size())
		must(t, c.ReadInto(into))
		if !bytes.Equal(borrowed, read) || !bytes.Equal(into, read) || len(read) == 0 {
			t.Errorf("%s: Bytes, Read and ReadInto differ", o.Name())
		}
		if _, err := Elements[uint64](c); (err == nil) != (c.DType() == DTypeU64) {
			t.Errorf("%s as uint64: %v", o.Name(), err)
		}
		same, err := f.Object(o.Name())
		must(t, err)
		if same != o {
			t.Errorf("%s: Object(name) returned a different object", o.Name())
		}
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.zt")
	w, err := Create(path, &WriterOptions{Digest: DigestCRC32C})
	must(t, err)
	must(t, WriteDense(w, "a", []uint64{2, 2}, []float32{1, 2, 3, 4}))
	must(t, WriteDense(w, "empty", []uint64{0}, []int16{}))
	must(t, w.SetAttribute("list", []any{1, "two", nil}))
	must(t, w.SetAttribute("gone", 1))
	must(t, w.SetAttribute("gone", Removed))
	if err := WriteDense(w, "a", []uint64{1}, []float32{1}); !errors.Is(err, ErrExists) {
		t.Errorf("a second a: %v", err)
	}
	finish(t, w)
	if _, err := w.Finish(); !errors.Is(err, ErrState) {
		t.Errorf("finished twice: %v", err)
	}
	w.Abort()

	f := opened(t, path)
	a, err := f.Object("a")
	must(t, err)
	if !reflect.DeepEqual(a.Shape(), []uint64{2, 2}) {
		t.Errorf("shape %v", a.Shape())
	}
	c, err := a.Component("data")
	must(t, err)
	floats, err := Elements[float32](c)
	must(t, err)
	if !reflect.DeepEqual(floats, []float32{1, 2, 3, 4}) {
		t.Errorf("elements %v", floats)
	}
	wide, err := Convert[float64](a)
	must(t, err)
	if size, err := a.SizeAs(DTypeF64); err != nil || size != 32 || len(wide) != 4 || wide[3] != 4 {
		t.Errorf("converted %v", wide)
	}
	if _, err := f.Verify(&VerifyOptions{Component: &c, Checks: CheckRequireDigests}); err != nil {
		t.Error(err)
	}
	column := make([]byte, 8)
	must(t, a.ReadSlice([]uint64{0, 1}, []uint64{2, 1}, nil, column))
	if !bytes.Equal(column, []byte{0, 0, 0, 64, 0, 0, 128, 64}) {
		t.Errorf("slice %v", column)
	}
	if err := a.ReadSlice([]uint64{0}, []uint64{1}, nil, column); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a slice of a different rank: %v", err)
	}
	attributes, err := f.Attributes()
	must(t, err)
	if !reflect.DeepEqual(attributes, map[string]any{"list": []any{1.0, "two", nil}}) {
		t.Errorf("attributes %v", attributes)
	}
	all, err := io.ReadAll(io.NewSectionReader(c, 0, int64(c.Size())))
	must(t, err)
	if len(all) != 16 {
		t.Errorf("%d bytes as a reader", len(all))
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }
func (failing) Write([]byte) (int, error)         { panic("a writer that panics") }

func TestReadersAndWriters(t *testing.T) {
	var written bytes.Buffer
	w, err := NewWriter(&written, nil)
	must(t, err)
	must(t, WriteDense(w, "a", []uint64{3}, []int64{1, 2, 3}))
	finish(t, w)
	f, err := OpenReaderAt(bytes.NewReader(written.Bytes()), int64(written.Len()), nil)
	must(t, err)
	a, err := f.Object("a")
	must(t, err)
	c, err := a.Component("data")
	must(t, err)
	if _, err := c.Bytes(); !errors.Is(err, ErrNotMappable) {
		t.Errorf("bytes of a reader: %v", err)
	}
	read, err := c.Read()
	must(t, err)
	if read[8] != 2 {
		t.Errorf("read %v", read)
	}
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 100; i++ {
				if b, err := c.Read(); err != nil || b[16] != 3 {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	must(t, f.Close())
	must(t, f.Close())
	if _, err := OpenReaderAt(failing{}, 1000, nil); !errors.Is(err, ErrIO) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a reader that fails: %v", err)
	}
	w, err = NewWriter(failing{}, nil)
	if err == nil {
		must(t, WriteDense(w, "a", []uint64{1}, []int8{1}))
		_, err = w.Finish()
	}
	if !errors.Is(err, ErrIO) || !strings.Contains(err.Error(), "a writer that panics") {
		t.Errorf("a writer that panics: %v", err)
	}
}

func TestVerifyAndFailures(t *testing.T) {
	f := opened(t, data+"v1.2/py-1.2.3-digests.zt")
	calls := 0
	report, err := f.Verify(&VerifyOptions{Watch: Watch{Progress: func(done, total uint64) bool { calls++; return true }}})
	must(t, err)
	if report.DigestsVerified != 5 || calls == 0 {
		t.Errorf("%+v after %d calls", report, calls)
	}
	func() {
		defer func() {
			if recover() != "no" {
				t.Error("a panic was lost")
			}
		}()
		f.Verify(&VerifyOptions{Watch: Watch{Progress: func(done, total uint64) bool { panic("no") }}})
	}()
	if _, err := f.Object("none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	_, err = Open(data+"invalid/offset-align-8.zt", nil)
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "offset 8 is not a multiple of 64") {
		t.Errorf("a broken file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "file.zt")
	w, err := Create(path, nil)
	must(t, err)
	w.Abort()
	if _, err := os.Stat(path); err == nil {
		t.Error("an aborted writer left a file")
	}
}
