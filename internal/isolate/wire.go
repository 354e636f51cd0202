package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// maxCall is the largest size of a call or its answer, in bytes: more than the largest Append with
// large payloads.
const maxCall = 256 << 20

// The encoding keeps the nanoseconds of times, and strings that are not UTF-8.
var (
	encoding = must(cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode())
	decoding = must(cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: 1 << 20}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return v
}

// sentinels are the errors whose identity crosses the wire, by their place here. Both ends are the
// same binary.
var sentinels = []error{
	context.Canceled, context.DeadlineExceeded,
	store.ErrUnknown, store.ErrThrottled, store.ErrTooLarge, store.ErrStale, store.ErrBadToken,
	queue.ErrTooLarge, queue.ErrRefused, queue.ErrInvalid, queue.ErrPartial, queue.ErrRedriving,
	disk.ErrFull, disk.ErrGone, disk.ErrEnded, disk.ErrCorrupt, history.ErrCorrupt, codec.ErrKey,
}

// remote is an error of the other end: its text, and its sentinel.
type remote struct {
	Text string
	Is_  []int
	// Existing is set in a store.Conflict.
	Existing *store.Item
}

// Error returns the text of the other end's error.
func (r *remote) Error() string { return r.Text }

// Unwrap returns the sentinels that the other end's error wrapped.
func (r *remote) Unwrap() (all []error) {
	for _, i := range r.Is_ {
		if i < len(sentinels) {
			all = append(all, sentinels[i])
		}
	}
	return all
}

// pack returns the form of an error that crosses the wire, or nil for none.
func pack(err error) *remote {
	if err == nil {
		return nil
	}
	r := &remote{Text: err.Error()}
	var conflict *store.Conflict
	if errors.As(err, &conflict) {
		r.Existing = &conflict.Existing
	}
	for i, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			r.Is_ = append(r.Is_, i)
		}
	}
	return r
}

// unpack reverses pack.
func (r *remote) unpack() error {
	if r == nil {
		return nil
	}
	if r.Existing != nil {
		return &store.Conflict{Existing: *r.Existing}
	}
	return r
}

// answer is what a call returns.
type answer[T any] struct {
	Value T
	Err   *remote
}

// errBroken is wrapped by the error of a call that the other end did not answer: it may have been
// carried out.
var errBroken = errors.New("isolate: the other process did not answer")

// dial returns a client of the server at a Unix socket.
func dial(socket string) *http.Client {
	const idle = 128
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
		MaxIdleConns: idle, MaxIdleConnsPerHost: idle, DisableCompression: true, IdleConnTimeout: time.Minute,
	}}
}

// call calls a method of the other end. If ctx had ended before the call, it returns the error of
// ctx as it is.
func call[Q, A any](ctx context.Context, c *http.Client, method string, q Q) (value A, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	body, err := encoding.Marshal(q)
	if err != nil {
		return value, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://weft"+method, bytes.NewReader(body))
	if err != nil {
		return value, err
	}
	r.GetBody = nil // a call that may have been carried out is not repeated
	answered, err := c.Do(r)
	if err != nil {
		return value, fmt.Errorf("%w: %w", errBroken, err)
	}
	defer func() { _ = answered.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(answered.Body, maxCall))
	if err != nil {
		return value, fmt.Errorf("%w: %w", errBroken, err)
	}
	if answered.StatusCode != http.StatusOK {
		return value, fmt.Errorf("%w: it says %s", errBroken, answered.Status)
	}
	var a answer[A]
	if err := decoding.Unmarshal(body, &a); err != nil {
		return value, fmt.Errorf("%w: %w", errBroken, err)
	}
	return a.Value, a.Err.unpack()
}

// handle serves a method that call calls.
func handle[Q, A any](mux *http.ServeMux, method string, do func(ctx context.Context, q Q) (A, error)) {
	mux.HandleFunc("POST "+method, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
		var q Q
		if err == nil {
			err = decoding.Unmarshal(body, &q)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		value, err := do(r.Context(), q)
		body, err = encoding.Marshal(answer[A]{value, pack(err)})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(body) // the caller has gone, and finds that nobody answered
	})
}
