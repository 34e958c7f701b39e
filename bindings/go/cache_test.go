package ztensor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	model, err := OpenModel(shards, nil)
	must(t, err)
	defer model.Close()
	cache, err := NewCache(CacheOptions{Budget: 1 << 20, SlotSize: 1 << 16, Policy: CachePolicySLRU})
	must(t, err)
	defer cache.Close()
	var slices []Request
	for _, o := range model.Objects() {
		slices = append(slices, Request{Component: o.Components()[0]})
	}
	must(t, cache.Prefetch(slices))
	for _, slice := range slices {
		want, err := slice.Component.Read()
		must(t, err)
		must(t, cache.Pin(slice, Forever, func(got []byte) {
			if !bytes.Equal(got, want) {
				t.Error("the cache gave different bytes")
			}
		}))
	}
	stats, err := cache.Stats()
	must(t, err)
	if stats.Pinned != 0 || stats.Hits+stats.Joined+stats.Misses != 12 {
		t.Errorf("%+v", stats)
	}
	must(t, cache.Cancel())
	must(t, cache.Drop())
	if stats, _ := cache.Stats(); stats.Used != 0 {
		t.Errorf("%+v", stats)
	}
	if _, err := NewCache(CacheOptions{Budget: 1, SlotSize: 1 << 16}); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
	if _, err := NewCache(CacheOptions{Budget: 1 << 20, SlotSize: 1 << 16, Policy: 2}); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestReadersKeepTheMemoryOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zt")
	w, err := Create(path, nil)
	must(t, err)
	const size = 40 << 20 // malloc returns blocks of this size to the system
	content := make([]uint8, size)
	for i := range content {
		content[i] = 7
	}
	must(t, WriteDense(w, "a", []uint64{size}, content))
	finish(t, w)
	file, err := os.ReadFile(path)
	must(t, err)
	memory := func() (*File, Component) {
		f, err := OpenMemory(file, nil)
		must(t, err)
		return f, f.Objects()[0].Components()[0]
	}
	whole := func(got []byte) {
		t.Helper()
		if len(got) != size || got[0] != 7 || got[size-1] != 7 {
			t.Error("other bytes")
		}
	}
	f, c := memory()
	b, err := c.Load(nil)
	must(t, err)
	must(t, f.Close())
	whole(b.Bytes())
	b.Free()

	f, c = memory()
	cache, err := NewCache(CacheOptions{Budget: 2 * size, SlotSize: size})
	must(t, err)
	must(t, cache.Prefetch([]Request{{Component: c}}))
	must(t, f.Close())
	for {
		s, err := cache.Stats()
		must(t, err)
		if s.BytesRead == size {
			break
		}
		time.Sleep(time.Millisecond)
	}
	must(t, cache.Close())

	f, c = memory()
	l, err := NewLoad([]Request{{Component: c, Dst: make([]byte, size)}}, nil)
	must(t, err)
	must(t, f.Close())
	for {
		e, err := l.Next(Forever)
		if err != nil {
			break
		}
		if e.Last {
			whole(e.Data)
		}
		e.Release()
	}
	_, err = l.Close()
	must(t, err)
}

func TestASliceHasANumberForEachDimension(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zt")
	w, err := Create(path, nil)
	must(t, err)
	must(t, WriteDense(w, "a", []uint64{2, 3, 4}, make([]uint8, 24)))
	finish(t, w)
	f := opened(t, path)
	cache, err := NewCache(CacheOptions{Budget: 1 << 20, SlotSize: 1 << 16})
	must(t, err)
	defer cache.Close()
	whole, few := []uint64{1, 1, 1}, []uint64{1}
	for _, r := range []Request{{Start: few, Count: whole}, {Start: whole, Count: few}, {Start: whole, Count: whole, Step: few},
		{Start: whole, Count: []uint64{}}} {
		r.Component, r.Dst = f.Objects()[0].Components()[0], make([]byte, 24)
		_, batch := f.ReadBatch([]Request{r}, nil)
		l, load := NewLoad([]Request{r}, nil)
		if load == nil {
			l.Close()
		}
		all := []error{batch, load, cache.Prefetch([]Request{r}), cache.Drop(r), cache.Pin(r, Forever, func([]byte) {})}
		for i, err := range all {
			if !errors.Is(err, ErrInvalidArgument) || !bytes.Contains([]byte(err.Error()), []byte("one number for each dimension")) {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
}
