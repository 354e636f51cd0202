//go:build !linux

package isolate

import "syscall"

// limitMemory does nothing: there is only the garbage collector's limit.
func limitMemory(uint64) error { return nil }

func attributes() *syscall.SysProcAttr { return nil }

func resident(int) uint64 { return 0 }
