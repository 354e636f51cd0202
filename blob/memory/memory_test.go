package memory_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/blob/blobtest"
	"github.com/seed-41655fb1/weft/blob/memory"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(*testing.T) func() blob.Blobs {
		b := memory.New(nil)
		return func() blob.Blobs { return b } // memory survives a reopening
	})
}
