package embedded_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/blob/blobtest"
	"github.com/seed-41655fb1/weft/blob/embedded"
	"github.com/seed-41655fb1/weft/internal/disk"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) func() blob.Blobs {
		dir := t.TempDir()
		var db *disk.DB
		end := func() {
			if db != nil {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		t.Cleanup(end)
		return func() blob.Blobs {
			end()
			var err error
			if db, err = disk.Open(dir); err != nil {
				t.Fatal(err)
			}
			return embedded.New(db, nil)
		}
	})
}
