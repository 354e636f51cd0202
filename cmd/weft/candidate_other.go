//go:build !unix

package main

import (
	"os"
	"syscall"
)

// ownGroup does nothing here.
func ownGroup() *syscall.SysProcAttr { return nil }

// killGroup kills a process. What it has started ends when its input does.
func killGroup(p *os.Process) { _ = p.Kill() } // it may have ended
