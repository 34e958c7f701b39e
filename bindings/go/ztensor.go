// Package ztensor opens, reads, verifies and writes zTensor .zt files, and reads other containers
// (safetensors, GGUF, ...), through the C library libztensor.
//
// Component.Bytes and Elements return slices of the mapped file, without a copy. They are read-only: writing
// to one ends the process. They are invalid after File.Close. Read and ReadInto copy.
//
// A File may be used by any number of goroutines at once, a Writer by one at a time. Neither has a finalizer:
// close what you open. The package is linked through pkg-config, so libztensor must be installed or
// PKG_CONFIG_PATH must name the folder of its ztensor.pc.
package ztensor

/*
#cgo pkg-config: ztensor
#include <stdlib.h>
#include <ztensor_advanced.h>
*/
import "C"

import (
	"runtime"
	"syscall"
)

// Status is the result of a call of the library. The values are errors, for errors.Is.
type Status int32

// The statuses that are errors; ztensor.h describes each.
const (
	ErrInvalidArgument  Status = C.ZT_ERROR_INVALID_ARGUMENT
	ErrIO               Status = C.ZT_ERROR_IO
	ErrNotFound         Status = C.ZT_ERROR_NOT_FOUND
	ErrUnknownContainer Status = C.ZT_ERROR_UNKNOWN_CONTAINER
	ErrCorrupt          Status = C.ZT_ERROR_CORRUPT
	ErrDigestMismatch   Status = C.ZT_ERROR_DIGEST_MISMATCH
	ErrUnsupported      Status = C.ZT_ERROR_UNSUPPORTED
	ErrLimit            Status = C.ZT_ERROR_LIMIT
	ErrBufferSize       Status = C.ZT_ERROR_BUFFER_SIZE
	ErrNotMappable      Status = C.ZT_ERROR_NOT_MAPPABLE
	ErrState            Status = C.ZT_ERROR_STATE
	ErrExists           Status = C.ZT_ERROR_EXISTS
	ErrCancelled        Status = C.ZT_ERROR_CANCELLED
	ErrOutOfMemory      Status = C.ZT_ERROR_OUT_OF_MEMORY
	ErrInternal         Status = C.ZT_ERROR_INTERNAL
	ErrNoFile           Status = C.ZT_ERROR_NO_FILE
	ErrTimeout          Status = C.ZT_ERROR_TIMEOUT
	ErrBusy             Status = C.ZT_ERROR_BUSY
)

func (s Status) Error() string { return C.GoString(C.zt_status_name(C.zt_status(s))) }

// Error is a status with the library's message. errors.Is(err, ztensor.ErrCorrupt) checks the status.
// errors.Is also finds the error of the system (fs.ErrNotExist), of the context (context.Canceled), and of a
// reader or writer of the caller.
type Error struct {
	Status  Status
	Message string
	Rule    string // The name of the format's rule that the file broke, or "".
	OSError int    // The number of the system's error, or 0.
	cause   error
}

func (e *Error) Error() string        { return e.Message }
func (e *Error) Is(target error) bool { return target == error(e.Status) }

// Unwrap returns the error of the system, of the context, or of a function of the caller.
func (e *Error) Unwrap() error {
	if e.cause == nil && e.OSError != 0 {
		return syscall.Errno(e.OSError)
	}
	return e.cause
}

// call stays on one thread until it has read the thread's message.
func call(body func() C.zt_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := body(); status != C.ZT_OK {
		return &Error{Status(status), C.GoString(C.zt_last_error()), C.GoString(C.zt_last_error_rule()), int(C.zt_last_os_error()), nil}
	}
	return nil
}

func refuse(status Status, message string) error { return &Error{Status: status, Message: message} }

// Version returns the version of the loaded library.
func Version() string { return C.GoString(C.zt_version()) }

func init() {
	if C.zt_abi_version() != C.ZT_ABI_VERSION {
		panic("ztensor: the loaded library, " + Version() + ", has a different ABI than the header")
	}
}

func flag(set bool) C.uint32_t {
	if set {
		return 1
	}
	return 0
}
