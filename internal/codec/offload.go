package codec

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// largePayload is the largest payload, and largeCommit the largest commit, if large ones are
	// offloaded. Lambda bounds what a caller sends or gets to 6 MB for a request and its answer.
	largePayload = 5 << 20
	largeCommit  = 16 << 20

	// commitFrom and messageFrom are the sizes from which an encoded commit or message is
	// offloaded. If the commits of a transaction have more than together in sum, those of at least
	// smallest are offloaded.
	commitFrom  = 320 << 10
	messageFrom = 192 << 10
	together    = 3 << 20
	smallest    = 16 << 10

	// timersWithin is how long a page of timers waits for offloaded bodies.
	timersWithin = 10 * time.Second

	// pageBytes bounds the total size of a page's bodies, if some are offloaded.
	pageBytes = 6 << 20

	referenceSize = 2 + 8 + sha256.Size
)

// Options returns the options of a service whose ports are wrapped: if bodies are offloaded,
// payloads and commits may be larger. Stored sizes differ from plain ones.
func (s *Codec) Options(o executor.Options) executor.Options {
	o.Recoded = s.compress || s.keys != nil || s.blobs != nil
	if s.blobs != nil {
		o.MaxPayload, o.MaxCommit = largePayload, largeCommit
	}
	return o
}

// isReference reports whether a stored body is a reference to a blob.
func isReference(stored []byte) bool {
	return len(stored) == referenceSize && stored[0] == marker && stored[1] == flagElsewhere
}

// sizeOf returns the size of an encoded body, wherever it is stored.
func sizeOf(stored []byte) int {
	if !isReference(stored) {
		return len(stored)
	}
	return int(min(binary.BigEndian.Uint64(stored[2:]), largeCommit))
}

// offload puts an encoded body into a blob, and returns the reference to it. A crash after that
// leaves a blob without a reference, which Tidy deletes.
func (s *Codec) offload(ctx context.Context, place string, encoded []byte) ([]byte, error) {
	sum := sha256.Sum256(encoded)
	if err := s.blobs.Put(ctx, s.key(place, sum[:]), encoded); err != nil {
		if errors.Is(err, blob.ErrTooLarge) {
			return nil, fmt.Errorf("%w: %w", store.ErrTooLarge, err)
		}
		return nil, fmt.Errorf("%w: offload %s: %w", store.ErrThrottled, place, err)
	}
	reference := binary.BigEndian.AppendUint64([]byte{marker, flagElsewhere}, uint64(len(encoded)))
	return append(reference, sum[:]...), nil
}

// fetch returns the encoded body that a reference refers to.
func (s *Codec) fetch(ctx context.Context, place string, reference []byte) ([]byte, error) {
	if s.blobs == nil {
		return nil, fmt.Errorf("%w: no place for large payloads is configured", ErrGone)
	}
	size, sum := binary.BigEndian.Uint64(reference[2:]), reference[10:]
	key := s.key(place, sum)
	encoded, err := s.blobs.Get(ctx, key)
	switch {
	case errors.Is(err, blob.ErrMissing), errors.Is(err, blob.ErrDenied):
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	case errors.Is(err, blob.ErrCorrupt):
		return nil, fmt.Errorf("%w: %w", ErrTampered, err)
	case err != nil:
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	if got := sha256.Sum256(encoded); uint64(len(encoded)) != size || string(got[:]) != string(sum) || isReference(encoded) {
		return nil, fmt.Errorf("%w: the blob %s", ErrTampered, key)
	}
	return encoded, nil
}

// key returns the key of a blob. It begins with digits of the hash, so that blobs are spread over
// all keys.
func (s *Codec) key(place string, sum []byte) string {
	digits := hex.EncodeToString(sum)
	return s.namespace + "/" + digits[:8] + "/" + place + "/" + digits
}

// fetchAtOnce is how many blobs are read concurrently.
const fetchAtOnce = 8

// fetchAll gets the blobs that bodies refer to, concurrently. If one fails, Open asks for it again,
// and fails.
func (s *Codec) fetchAll(ctx context.Context, places []string, bodies []*[]byte) {
	var all sync.WaitGroup
	free := make(chan struct{}, fetchAtOnce)
	for i, body := range bodies {
		if s.blobs == nil || !isReference(*body) {
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			encoded, err := s.fetch(ctx, places[i], *body)
			if err != nil {
				s.log.WarnContext(ctx, "an offloaded body could not be read", "place", places[i], "error", err)
				return
			}
			*body = encoded
		})
	}
	all.Wait()
}
