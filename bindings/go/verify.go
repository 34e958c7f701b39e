package ztensor

/*
#include <stdlib.h>
#include <ztensor_advanced.h>
#include "callbacks.h"
*/
import "C"

// Failure is damage that Verify found. Component is null if the object as a whole is damaged. Both are null
// for padding.
type Failure struct {
	Object    Object
	Component Component
	Err       error
}

// VerifyOptions are options of Verify. The zero value checks everything except padding.
type VerifyOptions struct {
	Checks    Check // CheckDigests | CheckContents | CheckPadding | CheckRequireDigests; 0 for digests and contents.
	Threads   int
	Watch     Watch
	OnFailure func(Failure) (on bool) // Called for each failure, from one goroutine at a time. false stops the call.
	Object    *Object                 // Only this object.
	Component *Component              // Only this component.
}

// Report counts what Verify checked.
type Report struct {
	Objects, Components, Bytes, DigestsVerified, DigestsAbsent, DigestsUnknown, PaddingNonzero uint64
	BytesNotCovered                                                                            uint64 // In components without a digest that could be checked.
	NotChecked                                                                                 uint64 // Components, objects and shards. The error is then Unsupported.
}

// Verify checks every digest and all contents. The error is the first failure. options may be nil.
func (f *File) Verify(options *VerifyOptions) (Report, error) {
	var m memory
	defer m.free()
	o := &sized[C.zt_verify_options](&m, 1)[0]
	var w *watcher
	if options != nil {
		o.checks = C.uint32_t(options.Checks)
		o.threads = C.uint32_t(options.Threads)
		if options.Object != nil && options.Object.handle == nil || options.Component != nil && options.Component.handle == nil {
			return Report{}, refuse(ErrInvalidArgument, "the object or component is null")
		}
		if options.Object != nil {
			o.object = options.Object.handle
		}
		if options.Component != nil {
			o.component = options.Component.handle
		}
		if w = options.Watch.watcher(); w == nil && options.OnFailure != nil {
			w = new(watcher)
		}
		if w != nil {
			C.zt_go_watch_verify(o, w.context())
		}
		if options.OnFailure != nil {
			w.failure, w.kept = options.OnFailure, f.kept
			C.zt_go_on_failure(o)
		}
	}
	r := &sized[C.zt_verify_report](&m, 1)[0]
	err := w.call(func() C.zt_status { return C.zt_verify(f.handle, o, r) })
	return Report{uint64(r.objects), uint64(r.components), uint64(r.bytes), uint64(r.digests_verified),
		uint64(r.digests_absent), uint64(r.digests_unknown), uint64(r.padding_nonzero),
		uint64(r.bytes_not_covered), uint64(r.not_checked)}, err
}

// Failures returns all damage that Verify finds. The error gives the reason if it could not check.
func (f *File) Failures(options VerifyOptions) ([]Failure, error) {
	var found []Failure
	options.OnFailure = func(one Failure) bool { found = append(found, one); return true }
	_, err := f.Verify(&options)
	if len(found) > 0 {
		err = nil
	}
	return found, err
}

// RepairOptions are options of Repair.
type RepairOptions struct {
	DryRun          bool
	CutAt           uint64 // Where the file shall end. If 0, Repair finds the place.
	MaxManifestSize uint64
	Watch           Watch
}

// Repaired describes what Repair did.
type Repaired struct {
	OldSize, NewSize, Objects uint64
}

// Repair removes an unfinished append; see zt_repair. options may be nil.
func Repair(path string, options *RepairOptions) (Repaired, error) {
	var m memory
	defer m.free()
	o := &sized[C.zt_repair_options](&m, 1)[0]
	var w *watcher
	if options != nil {
		o.dry_run = flag(options.DryRun)
		o.cut_at = C.uint64_t(options.CutAt)
		o.max_manifest_size = C.uint64_t(options.MaxManifestSize)
		if w = options.Watch.watcher(); w != nil {
			C.zt_go_watch_repair(o, w.context())
		}
	}
	r := &sized[C.zt_repair_report](&m, 1)[0]
	err := w.call(func() C.zt_status { return C.zt_repair(m.text(path), o, r) })
	return Repaired{uint64(r.old_size), uint64(r.new_size), uint64(r.objects)}, err
}
