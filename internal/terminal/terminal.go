// Package terminal says whether a file is a terminal, how wide it is, and whether to use colour on
// it. The command line and the log of the local server ask it.
package terminal

import "os"

// defaultWidth is the width of a terminal that does not know its own, in columns.
const defaultWidth = 80

// Is reports whether a file is a terminal. A pipe, a plain file, and a closed file are none.
func Is(f *os.File) bool { return Width(f) > 0 }

// Width returns the number of columns of a terminal, and 0 for a file that is none. It is 80 for a
// terminal that does not know, such as a serial line.
func Width(f *os.File) int {
	columns, err := columns(f)
	switch {
	case err != nil:
		return 0
	case columns <= 0:
		return defaultWidth
	}
	return columns
}

// Colour reports whether to write colours to a file: it is a terminal that can show them, and the
// environment does not forbid it (NO_COLOR is set and not empty, or TERM is dumb).
func Colour(f *os.File, getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && Is(f)
}
