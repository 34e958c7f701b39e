package ztensor

/*
#include <ztensor_advanced.h>
#include "callbacks.h"
*/
import "C"

// ReadOptions are options of Load and ReadBatch. The zero value has the defaults; ztensor.h describes each.
type ReadOptions struct {
	Threads   int
	Direct    Direct
	ChunkSize uint64
	InFlight  uint64 // The limit for temporary memory in bytes.
	Verify    bool   // Checks digests of components that are read completely.
	Pinned    bool   // The destinations are pinned and contiguous.
	KeepGoing bool   // Continues after a request fails: Done gets each failure, ReadBatch returns the first.
	Watch     Watch
	Done      func(request int, err error) // Called when a request of a batch is done, from one goroutine at a time.
}

func (o *ReadOptions) c(m *memory) (*C.zt_read_options, *watcher) {
	if o == nil {
		return nil, nil
	}
	made := &sized[C.zt_read_options](m, 1)[0]
	made.threads = C.uint32_t(o.Threads)
	made.direct = C.zt_direct(o.Direct)
	made.chunk_size = C.uint64_t(o.ChunkSize)
	made.in_flight = C.uint64_t(o.InFlight)
	made.verify = flag(o.Verify)
	made.pinned = flag(o.Pinned)
	made.keep_going = flag(o.KeepGoing)
	w := o.Watch.watcher()
	if w == nil && o.Done != nil {
		w = new(watcher)
	}
	if w != nil {
		w.done = o.Done
		C.zt_go_watch_read(made, w.context())
		if o.Done != nil {
			C.zt_go_on_done(made)
		}
	}
	return made, w
}

// Request is one read of a batch into Dst. If Count is nil it reads bytes of a component; Length 0 means all
// from Offset on. Otherwise it reads a hyperslab of a dense object's data.
type Request struct {
	Component          Component
	Offset, Length     uint64
	Start, Count, Step []uint64
	Dst                []byte
}

// Stats counts what a batch did.
type Stats struct {
	Bytes, StoredBytes, Requests, DigestsVerified, Nanoseconds uint64
	Threads                                                    int
	Direct                                                     bool
	Reason                                                     string
	Failed                                                     uint64 // Requests that failed.
}

func statsOf(s *C.zt_read_stats) Stats {
	return Stats{uint64(s.bytes), uint64(s.stored_bytes), uint64(s.requests), uint64(s.digests_verified), uint64(s.nanoseconds),
		int(s.threads), s.direct != 0, C.GoString(s.reason), uint64(s.failed)}
}

func fillRequests(m *memory, requests []Request) ([]C.zt_read_request, error) {
	made := sized[C.zt_read_request](m, len(requests))
	for i, r := range requests {
		c := &made[i]
		c.component, c.offset, c.length = r.Component.handle, C.uint64_t(r.Offset), C.uint64_t(r.Length)
		if r.Count != nil {
			// C reads one number for each dimension.
			rank := int(C.zt_object_rank(r.Component.info().object))
			if len(r.Count) != rank || r.Start != nil && len(r.Start) != rank || r.Step != nil && len(r.Step) != rank {
				return nil, refuse(ErrInvalidArgument, "a slice needs one number for each dimension")
			}
		}
		if len(r.Count) > 0 {
			c.start, c.count, c.step = m.numbers(r.Start), m.numbers(r.Count), m.numbers(r.Step)
		} else if r.Length == 0 {
			c.length = C.ZT_WHOLE
		}
		m.borrow(&c.dst, r.Dst)
		c.dst_size = C.size_t(len(r.Dst))
		c.tag = C.uint64_t(i)
	}
	return made, nil
}

// ReadBatch reads many components, ranges and hyperslabs in one call, in the order of the file. options may be nil.
func (f *File) ReadBatch(requests []Request, options *ReadOptions) (Stats, error) {
	var m memory
	defer m.free()
	o, w := options.c(&m)
	all, err := fillRequests(&m, requests)
	if err != nil {
		return Stats{}, err
	}
	stats := &sized[C.zt_read_stats](&m, 1)[0]
	err = w.call(func() C.zt_status { return C.zt_read_batch(f.handle, first(all), C.size_t(len(all)), o, stats) })
	return statsOf(stats), err
}
