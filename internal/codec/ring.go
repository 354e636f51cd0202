package codec

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"
)

// maxUnwrapped is how many unwrapped data keys a process keeps. Each process that writes to a run
// generates one an hour.
const maxUnwrapped = 1000

// dataKey encrypts bodies.
type dataKey struct {
	id      string
	wrapped []byte
	aead    cipher.AEAD
	mac     []byte
	made    time.Time
	uses    int
}

// newDataKey derives the two keys of a data key: one to encrypt with, and one for nonces.
func newDataKey(plain [32]byte) *dataKey {
	derive := func(purpose string) []byte {
		return must(hkdf.Expand(sha256.New, plain[:], "weft seal: "+purpose, 32))
	}
	block := must(aes.NewCipher(derive("bodies")))
	return &dataKey{aead: must(cipher.NewGCM(block)), mac: derive("nonces")}
}

// nonce returns a keyed hash of a body and its place.
func (k *dataKey) nonce(place string, body []byte) []byte {
	h := hmac.New(sha256.New, k.mac)
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(place)))
	for _, part := range [][]byte{n[:], []byte(place), body} {
		_, _ = h.Write(part) // a hash takes everything
	}
	return h.Sum(nil)[:nonceSize]
}

// ring keeps the data keys of a process: the one that it writes with, and those that it has
// unwrapped.
type ring struct {
	keys      Keys
	namespace string
	maxAge    time.Duration
	maxUses   int
	clock     func() time.Time

	making sync.Mutex // held while the data key is generated: all callers need it
	write  *dataKey

	mu        sync.Mutex
	unwrapped map[string]*dataKey // by id and wrapped bytes
}

func newRing(o Options) *ring {
	r := &ring{
		keys: o.Keys, namespace: o.Namespace, maxAge: o.MaxAge, maxUses: o.MaxUses, clock: o.Clock, unwrapped: map[string]*dataKey{},
	}
	if r.maxAge == 0 {
		r.maxAge = time.Hour
	}
	if r.maxUses == 0 {
		r.maxUses = 100_000
	}
	return r
}

// current returns the data key to encrypt one more body with.
func (r *ring) current(ctx context.Context) (*dataKey, error) {
	r.making.Lock()
	defer r.making.Unlock()
	now := r.clock()
	if k := r.write; k == nil || k.uses >= r.maxUses || now.Sub(k.made) >= r.maxAge || k.id != r.keys.Current() {
		plain, wrapped, err := r.keys.Generate(ctx, r.namespace)
		if err != nil {
			return nil, err
		}
		made := newDataKey(plain)
		made.id, made.wrapped, made.made = r.keys.Current(), wrapped, now
		r.write = made
		r.keep(made)
	}
	r.write.uses++
	return r.write, nil
}

// unwrap returns the data key of a header. A process that opens a page of a run's log unwraps each
// of its data keys once an hour.
func (r *ring) unwrap(ctx context.Context, h header) (*dataKey, error) {
	if k := r.kept(h); k != nil {
		return k, nil
	}
	now := r.clock()
	plain, err := r.keys.Unwrap(ctx, r.namespace, h.key, h.wrapped)
	if err != nil {
		return nil, err
	}
	k := newDataKey(plain)
	k.id, k.wrapped, k.made = h.key, h.wrapped, now
	r.keep(k)
	return k, nil
}

// kept returns the data key of a header, or nil if it is not known or too old.
func (r *ring) kept(h header) *dataKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.unwrapped[name(h.key, h.wrapped)]; k != nil && r.clock().Sub(k.made) < r.maxAge {
		return k
	}
	return nil
}

// unwrapAtOnce is how many data keys are unwrapped concurrently.
const unwrapAtOnce = 16

// prepare unwraps the missing data keys of bodies concurrently. If one fails, Open asks for it
// again, and fails.
func (r *ring) prepare(ctx context.Context, bodies []*[]byte) {
	missing := map[string]header{}
	for _, body := range bodies {
		if len(*body) == 0 || (*body)[0] != marker || isReference(*body) {
			continue
		}
		h, _, err := decodeHeader(*body)
		if err == nil && h.encrypted() && r.kept(h) == nil {
			missing[name(h.key, h.wrapped)] = h
		}
	}
	if len(missing) < 2 {
		return
	}
	var all sync.WaitGroup
	free := make(chan struct{}, unwrapAtOnce)
	for _, h := range missing {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			_, _ = r.unwrap(ctx, h)
		})
	}
	all.Wait()
}

// keep keeps a data key to open bodies with. If there are too many, it drops all: this is a cache.
func (r *ring) keep(k *dataKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unwrapped) >= maxUnwrapped {
		clear(r.unwrapped)
	}
	r.unwrapped[name(k.id, k.wrapped)] = k
}

func name(id string, wrapped []byte) string { return id + "\x00" + string(wrapped) }
