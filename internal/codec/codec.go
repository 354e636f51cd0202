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
	// ErrKey is wrapped by the errors of Open if the key of a body does not exist, or may not be
	// used.
	ErrKey = errors.New("the key cannot be used")
	// ErrGone is wrapped by the errors of Open if an offloaded body does not exist, or may not be
	// read.
	ErrGone = errors.New("the offloaded body is not there")
	// ErrTampered is wrapped by the errors of Open if a body was changed, or was stored in another
	// place.
	ErrTampered = errors.New("changed since it was written, or of another place")
)

// Keys wraps data keys. Its errors wrap ErrKey or ErrTampered if retrying is useless. Any other
// error is temporary.
type Keys interface {
	// Current returns the id of the key that wraps new data keys, of 255 bytes at most; empty
	// encrypts nothing new.
	Current() string
	// Generate generates a data key, and wraps it with the current key.
	Generate(ctx context.Context, namespace string) (plain [32]byte, wrapped []byte, err error)
	// Unwrap unwraps a data key that Generate made in this namespace with the key of this id.
	Unwrap(ctx context.Context, namespace, id string, wrapped []byte) (plain [32]byte, err error)
}

// Options are the settings of a Codec. With the zero value it writes plain bodies, and reads those
// and compressed ones.
type Options struct {
	// Namespace is that of the deployment. A body that was encoded in another does not open. Empty
	// is "default".
	Namespace string
	// Keys encrypts. Nil encrypts nothing, and opens nothing that is encrypted.
	Keys Keys
	// Compress compresses bodies of 1 KiB or more, if that makes them smaller.
	Compress bool
	// MaxAge is how long a data key is used, and kept to open bodies with; 0 is an hour. MaxUses is
	// the number of bodies that it encrypts; 0 is 100,000.
	MaxAge  time.Duration
	MaxUses int
	// Blobs stores bodies that are too large for the store and the queues; nil offloads nothing.
	Blobs blob.Blobs
	// OffloadFrom is the size in bytes from which commits and messages are offloaded; 0 is what the
	// store and the queues require.
	OffloadFrom int
	// Clock is the clock by which data keys age; nil is time.Now.
	Clock func() time.Time
	// Log gets the reasons why bodies cannot be opened; nil is slog.Default.
	Log *slog.Logger
}

// Codec encodes and opens bodies. It is safe for concurrent use.
type Codec struct {
	namespace   string
	compress    bool
	keys        Keys
	ring        *ring
	blobs       blob.Blobs
	offloadFrom int
	clock       func() time.Time
	log         *slog.Logger
}

// New returns a Codec. It requests no key until one is needed.
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
	s := &Codec{namespace: o.Namespace, compress: o.Compress, keys: o.Keys, ring: newRing(o), clock: o.Clock, log: o.Log, offloadFrom: o.OffloadFrom}
	if o.Blobs != nil {
		s.blobs = meter.Blobs(o.Blobs)
	}
	return s
}

// Encode returns the stored form of a body. place names where it will be stored: it opens nowhere
// else. The same body at the same place has the same form as long as the data key lasts.
func (s *Codec) Encode(ctx context.Context, place string, body []byte) ([]byte, error) {
	return s.encode(ctx, func() string { return place }, body)
}

// encode is Encode for a place that is computed only if the body is encrypted.
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

// Open returns the body of a form that Encode returned for the same place. It returns a plain body
// as it is. An error that wraps ErrKey, ErrGone or ErrTampered is permanent. Any other is
// temporary.
func (s *Codec) Open(ctx context.Context, place string, stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != marker {
		return stored, nil
	}
	if isReference(stored) {
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

// open replaces a stored body by its plain form. A body that can never be opened stays as it is,
// and the log says why. open returns only temporary errors.
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
