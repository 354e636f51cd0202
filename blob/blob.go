// Package blob is the port to where bodies are kept that are too large for a store or a queue. Its adapters are blob/memory,
// blob/embedded and blob/s3. Package blobtest is the suite that each of them passes, and the port's specification in code. Several
// processes may use the blobs at the same time, and all methods are safe for concurrent use.
//
//   - A blob never changes: whoever puts a key again puts the same body. The key has the body's hash in it.
//   - Atomicity: a Get returns the whole body, or an error: never a part. Blobs of one Delete go one by one.
//   - Visibility: a Get or a List that begins after a Put returned sees the blob, by any process.
//   - Retries: an adapter may repeat any call. After an error nobody knows whether a Put or a Delete was done, and the caller
//     repeats it.
//   - Ownership: an adapter may keep what it is given. What a call returns is the caller's.
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

// MaxBatch is the largest number of blobs that are listed or deleted at once, as in S3.
const MaxBatch = 1000

var (
	// ErrMissing is wrapped by the error of Get for a key without a blob.
	ErrMissing = errors.New("blob: it is not there")
	// ErrDenied is wrapped by what Get returns for a blob that may not be read, and asking again is no use. Where an adapter cannot tell,
	// the blob may be missing.
	ErrDenied = errors.New("blob: it may not be read")
	// ErrCorrupt is wrapped by what Get returns for a blob that is not as it was put, or that a later version of Weft put. Nothing of it is
	// returned. An adapter that cannot find out returns what there is: callers keep the size and the hash of each body.
	ErrCorrupt = errors.New("blob: it is damaged")
	// ErrTooLarge is wrapped by what Put returns for a body above MaxBody. Nothing was done.
	ErrTooLarge = errors.New("blob: the body is too large")
)

// Listed is a blob in a list.
type Listed struct {
	Key string
	// Put is when it was put last, to the second.
	Put time.Time
}

// Blobs keeps large bodies. A key has 1 to MaxKey ASCII letters, digits and "/._~%-". Keys are sorted by their bytes, and "/" is nothing
// special.
type Blobs interface {
	// Put keeps a body of at most MaxBody bytes, or returns an error that wraps ErrTooLarge. When it returns nil the body is durable. Putting
	// a blob again sets when it was put.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns the body of a key, or an error that wraps ErrMissing, ErrDenied or ErrCorrupt.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns at most limit blobs (MaxBatch at most) whose keys begin with prefix and stand after a key, by their keys. An
	// empty list is the end. It leaves out a blob that is known to be damaged.
	List(ctx context.Context, prefix, after string, limit int) ([]Listed, error)
	// Delete deletes blobs, MaxBatch at most. One that is not there is no error.
	Delete(ctx context.Context, keys ...string) error
}
