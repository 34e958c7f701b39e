//go:build !go1.21

package ztensor

// pinner keeps memory alive. Before Go 1.21, which has runtime.Pinner, memory of the heap stays where it is.
type pinner struct{ kept []any }

func (p *pinner) Pin(pointer any) { p.kept = append(p.kept, pointer) }
func (p *pinner) Unpin()          { p.kept = nil }
