package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// columns returns the width of a console's window. It fails if the file is none.
func columns(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var info windows.ConsoleScreenBufferInfo
	var failed error
	err = raw.Control(func(fd uintptr) { failed = windows.GetConsoleScreenBufferInfo(windows.Handle(fd), &info) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, err
	}
	return int(info.Window.Right-info.Window.Left) + 1, nil
}
