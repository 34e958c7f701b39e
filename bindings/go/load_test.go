package ztensor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load.zt")
	var want [][]byte
	w, err := Create(path, &WriterOptions{Digest: DigestCRC32C})
	must(t, err)
	for i, size := range []int{0, 1, 4096, 300000, 100, 65537, 1000000, 5} {
		content := make([]byte, size)
		for at := range content {
			content[at] = byte(at*7 + at>>8 + i)
		}
		want = append(want, content)
		must(t, WriteDense(w, string(rune('a'+i)), []uint64{uint64(size)}, content))
	}
	finish(t, w)
	f, err := Open(path, nil)
	must(t, err)
	defer f.Close()
	requests := func(own int) (made []Request) {
		for i, o := range f.Objects() {
			made = append(made, Request{Component: o.Components()[0]})
			if i%2 < own {
				made[i].Dst = make([]byte, len(want[i]))
			}
		}
		return made
	}
	for _, options := range []*LoadOptions{nil, {Slots: 2, SlotSize: 1 << 16}, {Slots: 2, SlotSize: 1 << 16, Ring: make([]byte, 2<<16), Order: LoadLargestFirst}} {
		for own := 0; own < 3; own++ {
			all := requests(own)
			load, err := NewLoad(all, options)
			must(t, err)
			last := 0
			got := make([][]byte, len(want))
			load.All(context.Background())(func(e LoadEvent, err error) bool {
				must(t, err)
				if got[e.Request] == nil {
					got[e.Request] = make([]byte, len(want[e.Request]))
				}
				copy(got[e.Request][e.Offset:], e.Data)
				if e.Last {
					last++
				}
				return true
			})
			parts, err := load.PartStats()
			must(t, err)
			stats, err := load.Close()
			must(t, err)
			if len(parts) != 1 || parts[0].Path != path || parts[0].StoredBytes != stats.StoredBytes || parts[0].Reason == "" {
				t.Errorf("%v of %v", parts, stats)
			}
			if last != len(want) || int(stats.Requests) != len(want) {
				t.Errorf("%d of %d ended", last, stats.Requests)
			}
			for i := range want {
				if !bytes.Equal(got[i], want[i]) || all[i].Dst != nil && !bytes.Equal(all[i].Dst, want[i]) {
					t.Errorf("the load gave different bytes of %d", i)
				}
			}
		}
	}

	large := requests(0)[6:7]
	load, err := NewLoad(large, &LoadOptions{Slots: 1, SlotSize: 1 << 16})
	must(t, err)
	held, err := load.Next(Forever)
	must(t, err)
	if _, err := load.Next(0); !errors.Is(err, ErrTimeout) { // the only slot is in use
		t.Error(err)
	}
	held.Release()
	c, cancel := context.WithCancel(context.Background())
	count := 0
	load.All(c)(func(e LoadEvent, err error) bool {
		cancel()
		if count++; err != nil && (!errors.Is(err, ErrCancelled) || !errors.Is(err, context.Canceled)) {
			t.Error(err)
		}
		return err == nil
	})
	if _, err := load.Close(); !errors.Is(err, ErrCancelled) && count < 1000000>>16 {
		t.Error(count, err)
	}
	if _, err := NewLoad(large, &LoadOptions{Slots: 2, SlotSize: 1 << 16, Ring: make([]byte, 1<<16)}); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestLoadKeepsGoing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load.zt")
	w, err := Create(path, &WriterOptions{Digest: DigestCRC32C})
	must(t, err)
	must(t, WriteDense(w, "bad", []uint64{64}, make([]byte, 64)))
	must(t, WriteDense(w, "good", []uint64{64}, make([]byte, 64)))
	finish(t, w)
	f, err := Open(path, nil)
	must(t, err)
	defer f.Close()
	var all []Request
	for _, o := range f.Objects() {
		all = append(all, Request{Component: o.Components()[0]})
	}
	stream, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = stream.WriteAt([]byte{1}, int64(all[0].Component.Offset()))
	must(t, err)
	must(t, stream.Close())
	load, err := NewLoad(all, &LoadOptions{Verify: true, KeepGoing: true})
	must(t, err)
	for range all {
		e, err := load.Next(Forever)
		must(t, err)
		if (e.Request == 0) != errors.Is(e.Err, ErrDigestMismatch) {
			t.Error(e.Request, e.Err)
		}
		e.Release()
	}
	if _, err := load.Next(Forever); err == io.EOF || !errors.Is(err, ErrDigestMismatch) {
		t.Error(err)
	}
	if _, err := load.Close(); !errors.Is(err, ErrDigestMismatch) {
		t.Error(err)
	}
}
