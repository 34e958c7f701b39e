//go:build !go1.21

package ztensor

// pinner keeps memory alive. Go before 1.21 does not have runtime.Pinner, but does not move memory of the
// heap.
type pinner struct{ kept []any }

func (p *pinner) Pin(pointer any) { p.kept = append(p.kept, pointer) }
func (p *pinner) Unpin()          { p.kept = nil }
