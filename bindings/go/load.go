package ztensor

/*
#include <ztensor_advanced.h>
#include "callbacks.h"
*/
import "C"

import (
	"context"
	"errors"
	"io"
	"time"
	"unsafe"
)

// LoadOrder says which requests of a load are begun first.
type LoadOrder int32

// The orders.
const (
	LoadByPosition   LoadOrder = C.ZT_LOAD_ORDER_POSITION // By file and place in it.
	LoadAsGiven      LoadOrder = C.ZT_LOAD_ORDER_GIVEN
	LoadLargestFirst LoadOrder = C.ZT_LOAD_ORDER_LARGEST
)

// LoadOptions of NewLoad. The zero value has the defaults; ztensor.h says more of each.
type LoadOptions struct {
	Threads   int
	Direct    Direct
	ChunkSize uint64
	InFlight  uint64
	Verify    bool
	Pinned    bool // All memory that is given is pinned and contiguous.
	Order     LoadOrder
	KeepGoing bool   // A request that fails does not end the others.
	Ring      []byte // Memory of the slots, the load's until Close; nil: the library's.
	Slots     int
	SlotSize  uint64
	Hooks     *ThreadHooks
}

// Load reads requests, of any files, while what was read is used. Any number of goroutines may take events.
type Load struct {
	handle *C.zt_load
	memory memory
	kept   []*lasting
}

// LoadEvent is bytes of a request, or why it failed.
type LoadEvent struct {
	Request int    // Its number.
	Data    []byte // In Dst of the request, or in a slot, read-only, until Release.
	Offset  uint64 // The first of them, counted in what the request reads.
	Last    bool   // Nothing more comes of the request.
	Err     error
	load    *Load
	event   C.zt_load_event
}

// NewLoad begins to read, requests without Dst into slots of a ring, which are filled again when they are given back. options may be
// nil. End it with Close, until when every Dst is the load's.
func NewLoad(requests []Request, options *LoadOptions) (*Load, error) {
	l := new(Load)
	all, err := fillRequests(&l.memory, requests)
	if err != nil {
		l.memory.free()
		return nil, err
	}
	o := &sized[C.zt_load_options](&l.memory, 1)[0]
	if options != nil {
		o.threads, o.direct = C.uint32_t(options.Threads), C.zt_direct(options.Direct)
		o.chunk_size, o.in_flight = C.uint64_t(options.ChunkSize), C.uint64_t(options.InFlight)
		o.verify, o.pinned = flag(options.Verify), flag(options.Pinned)
		o.order, o.keep_going = C.zt_load_order(options.Order), flag(options.KeepGoing)
		o.slot_count, o.slot_size = C.size_t(options.Slots), C.size_t(options.SlotSize)
		l.memory.borrow(&o.ring, options.Ring)
		if options.Hooks != nil {
			hooks := &sized[C.zt_thread_hooks](&l.memory, 1)[0]
			C.zt_go_thread_hooks(hooks, C.uintptr_t(options.Hooks.handle))
			o.thread_hooks = hooks
		}
		if options.Ring != nil && uint64(options.Slots)*options.SlotSize > uint64(len(options.Ring)) {
			l.memory.free()
			return nil, refuse(ErrInvalidArgument, "the ring has less than Slots of SlotSize bytes")
		}
	}
	if err := call(func() C.zt_status { return C.zt_load_start(first(all), C.size_t(len(all)), o, &l.handle) }); err != nil {
		l.memory.free()
		return nil, err
	}
	for _, r := range requests {
		l.kept = append(l.kept, r.Component.kept.retain())
	}
	return l, nil
}

// Next waits for what is next, which is to be given back by Release: bytes or, with Err, a request that failed. ErrTimeout if nothing
// came in that time; at the end io.EOF, or the failure that ended the load.
func (l *Load) Next(timeout time.Duration) (LoadEvent, error) {
	var m memory
	defer m.free()
	e := &sized[C.zt_load_event](&m, 1)[0]
	failure := call(func() C.zt_status {
		if status := C.zt_load_next(l.handle, C.int64_t(timeout), e); status != C.ZT_OK {
			e.kind = C.ZT_LOAD_KIND_DONE
			return status
		}
		return e.status // with its message
	})
	switch {
	case e.kind == C.ZT_LOAD_KIND_NOTHING:
		return LoadEvent{}, refuse(ErrTimeout, "nothing was read in that time")
	case e.kind == C.ZT_LOAD_KIND_DONE && failure == nil:
		return LoadEvent{}, io.EOF
	case e.kind == C.ZT_LOAD_KIND_DONE:
		return LoadEvent{}, failure
	}
	made := LoadEvent{Request: int(e.tag), Data: borrowed(e.data, uint64(e.size)), Offset: uint64(e.offset), Last: e.last != 0,
		Err: failure, load: l, event: *e}
	made.event.data = unsafe.Pointer(nil) // for Release: C is given no pointer of Go
	return made, nil
}

// Release gives the bytes of the event back, from any goroutine; once is enough.
func (e LoadEvent) Release() {
	if e.load != nil && e.load.handle != nil {
		C.zt_load_release(e.load.handle, &e.event)
	}
}

// All gives all events, as Next does, each released behind yield; a failure that ends the load comes last. If context is done the load
// is cancelled, and the error is the context's, too. For range with Go 1.23.
func (l *Load) All(c context.Context) func(yield func(LoadEvent, error) bool) {
	return func(yield func(LoadEvent, error) bool) {
		end, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-c.Done():
				_ = l.Cancel()
			case <-end:
			}
		}()
		defer func() { close(end); <-ended }()
		for {
			event, err := l.Next(Forever)
			if err == io.EOF {
				return
			}
			if errors.Is(err, ErrCancelled) {
				err = because(err, c.Err())
			}
			on := yield(event, err)
			event.Release()
			if err != nil || !on {
				return
			}
		}
	}
}

// Cancel has what waits in Next get ErrCancelled.
func (l *Load) Cancel() error {
	return call(func() C.zt_status { return C.zt_load_cancel(l.handle) })
}

// LoadPartStats is what a load read of a file, or of a part of a model.
type LoadPartStats struct {
	Path                     string // "" where it was not opened by one.
	Part                     int
	StoredBytes, DirectBytes uint64 // DirectBytes came past the page cache.
	Reason                   string // Why so.
}

// PartStats tells of each file and part what was read of it so far. Before Close.
func (l *Load) PartStats() (all []LoadPartStats, err error) {
	var m memory
	defer m.free()
	infos := sized[C.zt_load_part_stats](&m, listed)
	for {
		var filled C.size_t
		if err := call(func() C.zt_status {
			return C.zt_load_get_part_stats(l.handle, C.size_t(len(all)), &infos[0], listed, &filled)
		}); err != nil || filled == 0 {
			return all, err
		}
		for i := range infos[:int(filled)] {
			s := &infos[i]
			path := partOf(s.file, C.size_t(s.part)).Path
			all = append(all, LoadPartStats{path, int(s.part), uint64(s.stored_bytes), uint64(s.direct_bytes), C.GoString(s.reason)})
		}
	}
}

// Close stops what is not done, and tells what was read and how it ended. No goroutine may be using the load.
func (l *Load) Close() (Stats, error) {
	stats := &sized[C.zt_read_stats](&l.memory, 1)[0]
	err := call(func() C.zt_status { return C.zt_load_finish(l.handle, stats) })
	l.handle = nil
	for _, one := range l.kept {
		one.release()
	}
	l.kept = nil
	defer l.memory.free()
	return statsOf(stats), err
}
