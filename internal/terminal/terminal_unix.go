//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns returns the width of a terminal; 0 if it does not know. It fails if the file is none: the
// system has this request for terminals only.
func columns(f *os.File) (int, error) {
	raw, err := f.SyscallConn() // f.Fd would make the file block
	if err != nil {
		return 0, err
	}
	var size *unix.Winsize
	var failed error
	err = raw.Control(func(fd uintptr) { size, failed = unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, err
	}
	return int(size.Col), nil
}
