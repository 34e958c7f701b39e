package ztensor

import (
	"bytes"
	"errors"
	"testing"
)

func TestCache(t *testing.T) {
	model, err := OpenModel(shards, nil)
	must(t, err)
	defer model.Close()
	cache, err := NewCache(CacheOptions{Budget: 1 << 20, SlotSize: 1 << 16})
	must(t, err)
	defer cache.Close()
	var slices []Request
	for _, o := range model.Objects() {
		slices = append(slices, Request{Component: o.Components()[0]})
	}
	must(t, cache.Prefetch(slices, 1))
	for _, slice := range slices {
		want, err := slice.Component.Read()
		must(t, err)
		must(t, cache.Pin(slice, Forever, func(got []byte) {
			if !bytes.Equal(got, want) {
				t.Error("a cache has other bytes")
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
}
