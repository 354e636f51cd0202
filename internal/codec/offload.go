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
	// largePayload is the largest payload, and largeCommit the largest commit, where large ones are kept apart. What a caller
	// sends or gets is bounded by Lambda, at 6 MB for a request and its answer.
	largePayload = 5 << 20
	largeCommit  = 16 << 20

	// commitFrom is from how many bytes on an encoded commit is kept apart, and messageFrom a message. Those that share a
	// transaction are from smallest on, where all of its commits would have more than together.
	commitFrom  = 320 << 10
	messageFrom = 192 << 10
	together    = 3 << 20
	smallest    = 16 << 10

	// timersWithin is for how long a page of timers waits for what some of them keep apart.
	timersWithin = 10 * time.Second

	// pageBytes is the most that the bodies of a page have together, where some are kept apart.
	pageBytes = 6 << 20

	referenceSize = 2 + 8 + sha256.Size
)

// Options returns the options of a service whose ports are wrapped: where blobs are kept, payloads and commits may be larger.
func (s *Codec) Options(o executor.Options) executor.Options {
	if s.blobs != nil {
		o.MaxPayload, o.MaxCommit = largePayload, largeCommit
	}
	return o
}

// elsewhere reports whether a stored body is a reference to a blob.
func elsewhere(stored []byte) bool {
	return len(stored) == referenceSize && stored[0] == marker && stored[1] == flagElsewhere
}

// sizeOf is the size of an encoded body, wherever it is kept.
func sizeOf(stored []byte) int {
	if !elsewhere(stored) {
		return len(stored)
	}
	return int(min(binary.BigEndian.Uint64(stored[2:]), largeCommit))
}

// spill puts an encoded body into a blob, and returns the reference to it. A crash after that leaves a blob that nobody refers to:
// Tidy deletes it.
func (s *Codec) spill(ctx context.Context, place string, encoded []byte) ([]byte, error) {
	sum := sha256.Sum256(encoded)
	if err := s.blobs.Put(ctx, s.key(place, sum[:]), encoded); err != nil {
		if errors.Is(err, blob.ErrTooLarge) {
			return nil, fmt.Errorf("%w: %w", store.ErrTooLarge, err)
		}
		return nil, fmt.Errorf("%w: keep %s apart: %w", store.ErrThrottled, place, err)
	}
	reference := binary.BigEndian.AppendUint64([]byte{marker, flagElsewhere}, uint64(len(encoded)))
	return append(reference, sum[:]...), nil
}

// fetch gets the encoded body that a reference refers to.
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
	if got := sha256.Sum256(encoded); uint64(len(encoded)) != size || string(got[:]) != string(sum) || elsewhere(encoded) {
		return nil, fmt.Errorf("%w: the blob %s", ErrTampered, key)
	}
	return encoded, nil
}

// key is the key of a blob. It begins with digits of the hash, so that blobs are spread over all keys.
func (s *Codec) key(place string, sum []byte) string {
	digits := hex.EncodeToString(sum)
	return s.namespace + "/" + digits[:8] + "/" + place + "/" + digits
}

// fetchAtOnce is how many blobs are got at once.
const fetchAtOnce = 8

// fetchAll gets the blobs that bodies refer to, side by side. One that fails is asked for again, by who opens the body, and
// fails there.
func (s *Codec) fetchAll(ctx context.Context, places []string, bodies []*[]byte) {
	var all sync.WaitGroup
	free := make(chan struct{}, fetchAtOnce)
	for i, body := range bodies {
		if s.blobs == nil || !elsewhere(*body) {
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			encoded, err := s.fetch(ctx, places[i], *body)
			if err != nil {
				s.log.WarnContext(ctx, "what is kept apart could not be got", "place", places[i], "error", err)
				return
			}
			*body = encoded
		})
	}
	all.Wait()
}
