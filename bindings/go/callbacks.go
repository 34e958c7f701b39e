package ztensor

/*
#include <stdint.h>
#include <ztensor.h>

int32_t goProgress(uintptr_t handle, uint64_t done, uint64_t total);
zt_status goSize(uintptr_t handle, uint64_t *size);
zt_status goReadAt(uintptr_t handle, uint64_t offset, void *dst, size_t n);
void goClose(uintptr_t handle);
zt_status goWrite(uintptr_t handle, void *data, size_t n);

// A handle is a number, which C carries as a pointer; Go must never see it as one.
static int32_t progress(void *c, uint64_t done, uint64_t total) { return goProgress((uintptr_t)c, done, total); }
static zt_status size(void *c, uint64_t *size) { return goSize((uintptr_t)c, size); }
static zt_status read_at(void *c, uint64_t offset, void *dst, size_t n) { return goReadAt((uintptr_t)c, offset, dst, n); }
static zt_status write_all(void *c, const void *data, size_t n) { return goWrite((uintptr_t)c, (void *)data, n); }
static void close_it(void *c) { goClose((uintptr_t)c); }

static zt_status zt_go_open_source(uintptr_t handle, const zt_open_options *options, zt_file **file)
{
	zt_source source = {sizeof source, (void *)handle, size, read_at, close_it};
	return zt_open_source(&source, options, file);
}
static zt_status zt_go_create_sink(uintptr_t handle, const zt_writer_options *options, zt_writer **writer)
{
	zt_sink sink = {sizeof sink, (void *)handle, write_all, NULL, close_it};
	return zt_writer_create_sink(&sink, options, writer);
}
static zt_status zt_go_verify(const zt_file *file, uintptr_t handle, zt_verify_report *report)
{
	zt_verify_options options = {sizeof options, 0, 0, (void *)handle, handle ? progress : NULL};
	return zt_verify(file, &options, report);
}
*/
import "C"

import (
	"io"
	"runtime/cgo"
)

// OpenReaderAt opens a file that r reads, which has size bytes. r is used by several goroutines at once, until Close.
func OpenReaderAt(r io.ReaderAt, size int64, options *Options) (*File, error) {
	handle := cgo.NewHandle(&source{r, size})
	f := new(File)
	err := call(func() C.zt_status { return C.zt_go_open_source(C.uintptr_t(handle), options.c(), &f.handle) })
	if err != nil {
		return nil, err // C has closed the source
	}
	return f, nil
}

// Report is what Verify looked at.
type Report struct {
	Objects, Components, Bytes, DigestsVerified, DigestsAbsent, DigestsUnknown uint64
}

// Verify checks every digest and all contents. progress may be nil; it returns false to stop with ErrCancelled.
func (f *File) Verify(progress func(done, total uint64) bool) (Report, error) {
	var handle cgo.Handle
	if progress != nil {
		handle = cgo.NewHandle(progress)
		defer handle.Delete()
	}
	var r C.zt_verify_report
	r.struct_size = C.sizeof_zt_verify_report
	err := call(func() C.zt_status { return C.zt_go_verify(f.handle, C.uintptr_t(handle), &r) })
	return Report{uint64(r.objects), uint64(r.components), uint64(r.bytes), uint64(r.digests_verified),
		uint64(r.digests_absent), uint64(r.digests_unknown)}, err
}

// NewWriter writes a file to w, front to back. options may be nil.
func NewWriter(w io.Writer, options *WriterOptions) (*Writer, error) {
	handle := cgo.NewHandle(w)
	made := new(Writer)
	c := options.c()
	err := call(func() C.zt_status { return C.zt_go_create_sink(C.uintptr_t(handle), &c, &made.handle) })
	if err != nil {
		return nil, err
	}
	return made, nil
}
