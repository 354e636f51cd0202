package codec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/store"
)

var (
	// ErrKey is wrapped by what Open returns where the key that a body needs is not there, or may not be used.
	ErrKey = errors.New("the key cannot be used")
	// ErrGone is wrapped by what Open returns where what is kept apart is not there, or may not be read.
	ErrGone = errors.New("what is kept apart is not there")
	// ErrTampered is wrapped by what Open returns for a body that was changed, or that stood in another place.
	ErrTampered = errors.New("changed since it was written, or of another place")
)

// Keys wraps data keys. Its errors wrap ErrKey or ErrTampered where asking again is no use; any other is for now.
type Keys interface {
	// Current is the id of the key that wraps new data keys, of 255 bytes at most; empty encrypts nothing new.
	Current() string
	// Generate makes a data key and wraps it with the current key.
	Generate(ctx context.Context, namespace string) (plain [32]byte, wrapped []byte, err error)
	// Unwrap unwraps a data key that Generate made in this namespace with the key of this id.
	Unwrap(ctx context.Context, namespace, id string, wrapped []byte) (plain [32]byte, err error)
}

// Options are the settings of a Codec. With the zero value it writes plain bodies, and reads those and compressed ones.
type Options struct {
	// Namespace is the deployment's. What was encoded in another does not open. Empty is "default".
	Namespace string
	// Keys encrypts; nil encrypts nothing, and opens nothing that is encrypted.
	Keys Keys
	// Compress compresses bodies from 1 KiB on, where that makes them smaller.
	Compress bool
	// MaxAge is for how long a data key is used, and kept to open with; 0 is an hour. MaxUses is for how many bodies; 0 is
	// 100,000.
	MaxAge  time.Duration
	MaxUses int
	// Blobs keeps what is too large for the store and the queues; nil keeps nothing apart.
	Blobs blob.Blobs
	// ApartFrom is from how many bytes on commits and messages are kept apart; 0 is what the store and the queues ask for.
	ApartFrom int
	// Clock is the time by which data keys age; nil is time.Now.
	Clock func() time.Time
	// Log takes why a body cannot be opened; nil is slog.Default.
	Log *slog.Logger
}

// Codec encodes and opens bodies. It is safe for concurrent use.
type Codec struct {
	namespace string
	compress  bool
	keys      Keys
	ring      *ring
	blobs     blob.Blobs
	apartFrom int
	clock     func() time.Time
	log       *slog.Logger
}

// New returns a Codec. It asks for no key until one is needed.
func New(o Options) *Codec {
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	s := &Codec{namespace: o.Namespace, compress: o.Compress, keys: o.Keys, ring: newRing(o), clock: o.Clock, log: o.Log, apartFrom: o.ApartFrom}
	if o.Blobs != nil {
		s.blobs = meter.Blobs(o.Blobs)
	}
	return s
}

// Encode returns the stored form of a body. place names where it will stand: it opens nowhere else. The same body at the same
// place has the same form as long as the data key lasts.
func (s *Codec) Encode(ctx context.Context, place string, body []byte) ([]byte, error) {
	return s.encode(ctx, func() string { return place }, body)
}

// encode is Encode that asks for the place only where it encrypts.
func (s *Codec) encode(ctx context.Context, placeOf func() string, body []byte) ([]byte, error) {
	if len(body) == 0 {
		return body, nil
	}
	var h header
	plain := body
	if s.compress {
		plain, h.compressed = compress(body)
	}
	if s.keys == nil || s.keys.Current() == "" {
		if !h.compressed && plain[0] != marker {
			return plain, nil
		}
		return append(h.encode(), plain...), nil
	}
	k, err := s.ring.current(ctx)
	if err != nil {
		return nil, fmt.Errorf("encode: a data key cannot be made: %w", err)
	}
	h.key, h.wrapped = k.id, k.wrapped
	head := h.encode()
	place := s.namespace + "/" + placeOf()
	nonce := k.nonce(place, plain)
	return k.aead.Seal(append(head, nonce...), nonce, plain, append(head, place...)), nil
}

// Open returns the body that Encode made this form of, for the same place; a plain one is returned as it is. An error that wraps
// ErrKey, ErrGone or ErrTampered is for good; after any other it may be tried again.
func (s *Codec) Open(ctx context.Context, place string, stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != marker {
		return stored, nil
	}
	if elsewhere(stored) {
		var err error
		if stored, err = s.fetch(ctx, place, stored); err != nil {
			return nil, err
		}
		return s.Open(ctx, place, stored)
	}
	h, rest, err := decodeHeader(stored)
	if err != nil {
		return nil, err
	}
	if h.encrypted() {
		if rest, err = s.decrypt(ctx, place, h, stored, rest); err != nil {
			return nil, err
		}
	}
	if h.compressed {
		return decompress(rest)
	}
	return append([]byte(nil), rest...), nil
}

func (s *Codec) decrypt(ctx context.Context, place string, h header, stored, rest []byte) ([]byte, error) {
	if s.keys == nil {
		return nil, fmt.Errorf("%w: it is encrypted with key %q, and no keys are configured", ErrKey, h.key)
	}
	if len(rest) < nonceSize {
		return nil, fmt.Errorf("%w: it ends too early", ErrTampered)
	}
	k, err := s.ring.unwrap(ctx, h)
	if err != nil {
		return nil, err
	}
	head := stored[: len(stored)-len(rest) : len(stored)-len(rest)]
	plain, err := k.aead.Open(nil, rest[:nonceSize], rest[nonceSize:], append(head, s.namespace+"/"+place...))
	if err != nil {
		return nil, fmt.Errorf("%w (key %q)", ErrTampered, h.key)
	}
	return plain, nil
}

// open replaces a stored body by what it says. One that can never be opened stays as it is, and the log says why; only an error
// that is for now is returned.
func (s *Codec) open(ctx context.Context, place string, body *[]byte) error {
	plain, err := s.Open(ctx, place, *body)
	switch {
	case err == nil:
		*body = plain
	case errors.Is(err, ErrKey), errors.Is(err, ErrTampered), errors.Is(err, ErrGone):
		s.log.ErrorContext(ctx, "what is stored cannot be opened; it stays as it is", "place", place, "error", err)
	default:
		return fmt.Errorf("%w: open %s: %w", store.ErrThrottled, place, err)
	}
	return nil
}
