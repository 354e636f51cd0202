//go:build !unix && !windows

package terminal

import (
	"errors"
	"os"
)

// columns fails: no file is known to be a terminal here.
func columns(*os.File) (int, error) { return 0, errors.ErrUnsupported }
