package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// opened returns a terminal of a width.
func opened(t *testing.T, columns uint16) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	for columns, want := range map[uint16]int{132: 132, 1: 1, 0: 80} {
		if f := opened(t, columns); Width(f) != want || !Is(f) {
			t.Errorf("a terminal of %d columns: %d, %v; want %d", columns, Width(f), Is(f), want)
		}
	}
}

// What is no terminal has no width and no colours.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	closed := opened(t, 80)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]*os.File{"a file": file, "the null device": null, "a pipe": write, "a closed terminal": closed, "none": nil} {
		if Width(f) != 0 || Is(f) || Colour(f, func(string) string { return "" }) {
			t.Errorf("%s is a terminal of %d columns", what, Width(f))
		}
	}
}

func TestColour(t *testing.T) {
	t.Parallel()
	f := opened(t, 80)
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"TERM": "xterm"}, true},
		{map[string]string{"NO_COLOR": ""}, true},
		{map[string]string{"NO_COLOR": "1"}, false},
		{map[string]string{"TERM": "dumb"}, false},
	} {
		if got := Colour(f, func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: colour is %v", c.env, got)
		}
	}
}
