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

// LoadOrder selects which requests of a load start first.
type LoadOrder int32

// Orders of a load.
const (
	LoadByPosition   LoadOrder = C.ZT_LOAD_ORDER_POSITION // By file and position in it.
	LoadAsGiven      LoadOrder = C.ZT_LOAD_ORDER_GIVEN
	LoadLargestFirst LoadOrder = C.ZT_LOAD_ORDER_LARGEST
)

// LoadOptions are options of NewLoad. The zero value has the defaults; ztensor.h describes each.
type LoadOptions struct {
	Threads   int
	Direct    Direct
	ChunkSize uint64
	InFlight  uint64
	Verify    bool
	Pinned    bool // The caller's memory is pinned and contiguous.
	Order     LoadOrder
	KeepGoing bool   // If a request fails, the others continue.
	Ring      []byte // Memory for the slots, in use until Close. If nil, the library allocates it.
	Slots     int
	SlotSize  uint64
	Hooks     *ThreadHooks
}

// Load reads requests, of one or more files, while the caller uses what was read. Any number of goroutines
// may call Next.
type Load struct {
	handle *C.zt_load
	memory memory
	kept   []*lasting
}

// LoadEvent is a run of bytes of a request, or the error of a request.
type LoadEvent struct {
	Request int    // Index of the request.
	Data    []byte // In Dst of the request or, read-only and until Release, in a slot.
	Offset  uint64 // Offset of Data in what the request reads.
	Last    bool   // These are the last bytes of the request.
	Err     error
	load    *Load
	event   C.zt_load_event
}

// NewLoad starts to read. Requests without Dst are read into slots of a ring; Release makes a slot available
// again. options may be nil. Call Close at the end. Until then every Dst is in use.
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

// Next waits for the next event: bytes or, with Err, a request that failed. Call Release on the event. If
// there is no event in time it returns ErrTimeout. At the end it returns io.EOF, or the error that ended the
// load.
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
	made.event.data = unsafe.Pointer(nil) // for Release: C must not get a pointer to Go memory
	return made, nil
}

// Release returns the event's slot to the load, from any goroutine. Call it once.
func (e LoadEvent) Release() {
	if e.load != nil && e.load.handle != nil {
		C.zt_load_release(e.load.handle, &e.event)
	}
}

// All iterates over all events, like Next, and releases each after yield. An error that ends the load comes
// last. If context is done, All cancels the load and returns the context's error, too. For range in Go 1.23.
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

// Cancel makes calls of Next return ErrCancelled.
func (l *Load) Cancel() error {
	return call(func() C.zt_status { return C.zt_load_cancel(l.handle) })
}

// LoadPartStats counts what a load read of a file, or of a part of a model.
type LoadPartStats struct {
	Path                     string // "" if it was not opened by a path.
	Part                     int
	StoredBytes, DirectBytes uint64 // DirectBytes bypassed the page cache.
	Reason                   string // The reason for the way of reading.
}

// PartStats returns the counts so far for each file and part. Call it before Close.
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

// Close stops the load and returns what it read and how it ended. No goroutine may be using the load.
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
