package diskblobs_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/blob/blobtest"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/disk/disktest"
	"github.com/seed-41655fb1/weft/internal/embedded/diskblobs"
)

// place returns a directory, a function that opens its blobs and one that closes them.
func place(t *testing.T) (dir string, open func() blob.Blobs, end func()) {
	dir = t.TempDir()
	var db *disk.DB
	end = func() {
		if db != nil {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return dir, func() blob.Blobs {
		end()
		var err error
		if db, err = disk.Open(dir, disk.Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		return diskblobs.New(db, nil)
	}, end
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) func() blob.Blobs {
		_, open, _ := place(t)
		return open
	})
}

// A truncated blob and one with a wrong checksum are damaged, and affect no other.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		t.Run(fmt.Sprint(n, " bytes"), func(t *testing.T) {
			t.Parallel()
			dir, open, end := place(t)
			blobtest.Damaged(t, open, func(key string) {
				end()
				change(t, dir, func(tx *disk.Tx) { tx.Put(disk.Blobs, []byte(key), make([]byte, n)) })
			})
		})
	}
	t.Run("a checksum", func(t *testing.T) {
		t.Parallel()
		dir, open, end := place(t)
		blobtest.Damaged(t, open, func(key string) {
			end()
			disktest.Damage(t, dir, disk.Blobs, []byte(key))
		})
	})
}

// change changes a directory that is not open.
func change(t *testing.T, dir string, op func(tx *disk.Tx)) {
	t.Helper()
	db, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(func(tx *disk.Tx) error { op(tx); return nil }); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
