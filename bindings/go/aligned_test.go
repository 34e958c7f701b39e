package ztensor

import (
	"sync"
	"syscall"
	"unsafe"
)

// The tests' allocator returns mapped memory, which begins at a page.
var (
	mapsMutex sync.Mutex
	maps      = map[unsafe.Pointer][]byte{}
)

func aligned(size, alignment uintptr) unsafe.Pointer {
	made, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil || uintptr(unsafe.Pointer(&made[0]))%alignment != 0 {
		return nil
	}
	mapsMutex.Lock()
	defer mapsMutex.Unlock()
	maps[unsafe.Pointer(&made[0])] = made
	return unsafe.Pointer(&made[0])
}

func release(memory unsafe.Pointer) {
	mapsMutex.Lock()
	defer mapsMutex.Unlock()
	syscall.Munmap(maps[memory])
	delete(maps, memory)
}
