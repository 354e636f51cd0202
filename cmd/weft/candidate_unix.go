//go:build unix

package main

import (
	"os"
	"syscall"
)

// ownGroup puts a process and all that it starts into a group of their own: go run starts the
// program as another process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process and its group.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // it may have ended
