package disk

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// If there is no room for Pebble's list of files when a directory is created, Open returns an error
// and the process continues.
func TestNoRoomForTheListOfFiles(t *testing.T) {
	t.Parallel()
	mem := vfs.NewCrashableMem()
	var hits atomic.Int64
	full := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, "MANIFEST") {
			hits.Add(1)
			return syscall.ENOSPC
		}
		return nil
	}))
	if _, _, err := openReporting(full); err == nil || hits.Load() == 0 {
		t.Fatalf("Open returned %v after %d failures, want an error", err, hits.Load())
	}
}

// noLock is a file system on which the lock file cannot be opened.
type noLock struct {
	vfs.FS
	number syscall.Errno
}

func (n noLock) Lock(name string) (io.Closer, error) {
	return nil, &os.PathError{Op: "open", Path: name, Err: n.number}
}

// The error for a directory whose lock cannot be opened, as on a read-only file system, does not
// say that the directory is in use.
func TestLockThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	for number, want := range map[syscall.Errno]string{
		syscall.EROFS: "cannot write to the data directory", syscall.EACCES: "cannot write to the data directory",
		syscall.EMFILE: "cannot lock the data directory", syscall.ENOSPC: "cannot lock the data directory",
	} {
		_, _, err := openReporting(noLock{vfs.NewMem(), number})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "in use") {
			t.Errorf("%v: Open returned %v, want %q", number, err, want)
		}
	}
}
