package ztensor

/*
#include <ztensor_advanced.h>
#include "callbacks.h"
*/
import "C"

import (
	"sync"
	"time"
	"unsafe"
)

// CacheOptions are options of NewCache. Budget and SlotSize must not be 0.
type CacheOptions struct {
	Budget   uint64 // The limit in bytes.
	SlotSize uint64 // Bytes of the largest slice. Each slice occupies one slot.
	Policy   CachePolicy
	Threads  int
	Verify   bool
	Hooks    *ThreadHooks
}

// Cache keeps slices of files that are larger than memory, in slots. Any number of goroutines may use it.
type Cache struct {
	handle *C.zt_cache
	mutex  sync.Mutex
	kept   map[*lasting]bool // memory of files that are read until Close
}

// NewCache makes a cache. Call Close to free it.
func NewCache(options CacheOptions) (*Cache, error) {
	var m memory
	defer m.free()
	o := &sized[C.zt_cache_options](&m, 1)[0]
	o.budget, o.slot_size = C.uint64_t(options.Budget), C.uint64_t(options.SlotSize)
	o.threads, o.verify = C.uint32_t(options.Threads), flag(options.Verify)
	o.policy = C.zt_cache_policy(options.Policy)
	if options.Hooks != nil {
		o.thread_hooks = &sized[C.zt_thread_hooks](&m, 1)[0]
		C.zt_go_thread_hooks((*C.zt_thread_hooks)(unsafe.Pointer(o.thread_hooks)), C.uintptr_t(options.Hooks.handle))
	}
	made := new(Cache)
	if err := call(func() C.zt_status { return C.zt_cache_create(o, &made.handle) }); err != nil {
		return nil, err
	}
	return made, nil
}

// Close frees the cache and every pinned slice.
func (c *Cache) Close() error {
	C.zt_cache_free(c.handle)
	c.handle = nil
	for one := range c.kept {
		one.release()
	}
	c.kept = nil
	return nil
}

// requests describes slices to C. It keeps the memory of their files, which may be read after they are
// closed.
func (c *Cache) requests(m *memory, slices []Request) ([]C.zt_read_request, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, slice := range slices {
		if one := slice.Component.kept; one != nil && !c.kept[one] {
			if c.kept == nil {
				c.kept = make(map[*lasting]bool)
			}
			c.kept[one.retain()] = true
		}
	}
	return fillRequests(m, slices)
}

// Forever, as a timeout, waits without a limit.
const Forever = time.Duration(-1)

// Pin returns the bytes of a slice, which must not be kept after the call. It ignores Dst of the slice. If
// the bytes are not there in time it returns ErrTimeout. A timeout of 0 does not wait.
func (c *Cache) Pin(slice Request, timeout time.Duration, use func([]byte)) error {
	var m memory
	defer m.free()
	request, err := c.requests(&m, []Request{slice})
	if err != nil {
		return err
	}
	out := &sized[C.zt_cache_pin](&m, 1)[0]
	if err := call(func() C.zt_status { return C.zt_cache_get(c.handle, &request[0], C.int64_t(timeout), out) }); err != nil {
		return err
	}
	defer C.zt_cache_unpin(c.handle, out)
	use(borrowed(out.data, uint64(out.size)))
	return nil
}

// Prefetch reads slices ahead, in the given order.
func (c *Cache) Prefetch(slices []Request) error {
	var m memory
	defer m.free()
	all, err := c.requests(&m, slices)
	if err != nil {
		return err
	}
	return call(func() C.zt_status {
		return C.zt_cache_prefetch(c.handle, first(all), C.size_t(len(all)))
	})
}

// Drop evicts slices. Without arguments it evicts every slice that is not pinned.
func (c *Cache) Drop(slices ...Request) error {
	var m memory
	defer m.free()
	all, err := fillRequests(&m, slices)
	if err != nil {
		return err
	}
	return call(func() C.zt_status { return C.zt_cache_drop(c.handle, first(all), C.size_t(len(all))) })
}

// Cancel removes prefetches that have not started.
func (c *Cache) Cancel() error {
	return call(func() C.zt_status { return C.zt_cache_cancel(c.handle) })
}

// CacheStats counts what a cache holds and what it did.
type CacheStats struct {
	Slots, Used, Pinned, Queued, Overhead, Hits, Joined, Misses uint64
	Prefetches, PrefetchesUsed, PrefetchesDropped, Evictions    uint64
	Failures, BytesRead                                         uint64
}

// Stats returns the counts of the cache.
func (c *Cache) Stats() (CacheStats, error) {
	var s C.zt_cache_stats
	s.struct_size = C.sizeof_zt_cache_stats
	err := call(func() C.zt_status { return C.zt_cache_get_stats(c.handle, &s) })
	return CacheStats{uint64(s.slots), uint64(s.used), uint64(s.pinned), uint64(s.queued), uint64(s.overhead), uint64(s.hits),
		uint64(s.joined), uint64(s.misses), uint64(s.prefetches), uint64(s.prefetches_used), uint64(s.prefetches_dropped),
		uint64(s.evictions), uint64(s.failures), uint64(s.bytes_read)}, err
}
