//go:build go1.21

package ztensor

import "runtime"

type pinner = runtime.Pinner
