// Package blob is the port of the store for bodies that are too large for a store or a queue. Its
// adapters are blob/memory, blob/s3 and those of package embedded. Package blobtest is the suite
// that each of them passes, and the port's specification in code. Several processes may use the
// blobs at the same time, and all methods are safe for concurrent use.
//
//   - A blob never changes: a second Put of a key has the same body. The key contains the body's
//     hash.
//   - Atomicity: a Get returns the whole body, or an error, and never a part. A Delete deletes its
//     blobs one by one.
//   - Visibility: a Get or a List by any process sees a blob if it begins after the Put returned.
//   - Retries: an adapter may repeat any call. After an error it is unknown whether a Put or a
//     Delete was done, and the caller repeats it.
//   - Ownership: an adapter may keep what it is given. What a call returns belongs to the caller.
package blob

import (
	"context"
	"errors"
	"time"
)

// MaxBody is the largest body of a blob, in bytes: more than the largest commit.
const MaxBody = 64 << 20

// MaxKey is the longest key, in bytes: as in S3.
const MaxKey = 1024

// MaxBatch is the largest number of blobs that one call lists or deletes, as in S3.
const MaxBatch = 1000

var (
	// ErrMissing is wrapped by the error of Get for a key without a blob.
	ErrMissing = errors.New("blob: not found")
	// ErrDenied is wrapped by the error of Get for a blob that the process may not read. Another
	// try is no use. If an adapter cannot distinguish the two, the blob may be missing instead.
	ErrDenied = errors.New("blob: access denied")
	// ErrCorrupt is wrapped by the error of Get for a blob that is not as it was put, or that a
	// later version of Weft put. Get then returns nothing of it. An adapter that cannot detect
	// damage returns what it has: callers keep the size and the hash of each body.
	ErrCorrupt = errors.New("blob: the blob is damaged")
	// ErrTooLarge is wrapped by the error of Put for a body above MaxBody. Nothing was done.
	ErrTooLarge = errors.New("blob: the body is too large")
)

// Listed is a blob in a list.
type Listed struct {
	Key string
	// Put is when the blob was last put, to the second.
	Put time.Time
}

// Blobs stores large bodies. A key has 1 to MaxKey ASCII letters, digits and "/._~%-". Keys are
// sorted by their bytes, and "/" has no special meaning.
type Blobs interface {
	// Put stores a body of at most MaxBody bytes, or returns an error that wraps ErrTooLarge. The
	// body is durable when Put returns nil. Putting a blob again updates the time at which it was
	// put.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns the body of a key, or an error that wraps ErrMissing, ErrDenied or ErrCorrupt.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns at most limit blobs (MaxBatch at most) whose keys begin with prefix and sort
	// after a key, in the order of their keys. An empty list is the end. It leaves out a blob that
	// is known to be damaged.
	List(ctx context.Context, prefix, after string, limit int) ([]Listed, error)
	// Delete deletes blobs, MaxBatch at most. A missing blob is no error.
	Delete(ctx context.Context, keys ...string) error
}
