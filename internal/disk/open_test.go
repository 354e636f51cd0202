package disk

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A disk without room for Pebble's list of files when a directory is made is an error of Open, and does not end the process.
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
