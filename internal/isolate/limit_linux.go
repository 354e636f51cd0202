package isolate

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// limitMemory bounds the memory that this process can write to. A process that exceeds it ends.
func limitMemory(most uint64) error {
	if most == 0 {
		return nil
	}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}

// attributes makes a child end with its parent, and keeps the terminal's signals from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// resident returns how much memory a process has, in bytes, or 0 if that is unknown.
func resident(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
