package storetest

import (
	"bytes"
	"errors"

	"github.com/seed-41655fb1/weft/store"
)

var keyTests = []test{
	{"there is one key, and the first stays", keyStays},
	{"one of many concurrent MakeKeys succeeds", keyRace},
}

// key reads the key.
func (f *fixture) key() []byte {
	f.Helper()
	key, err := f.store.ReadKey(f.Context())
	if err != nil {
		f.Fatalf("ReadKey: %v", err)
	}
	return key
}

func keyStays(f *fixture) {
	if key := f.key(); len(key) > 0 {
		f.Errorf("the key %x, before one was made", key)
	}
	if err := f.store.MakeKey(f.Context(), []byte("first")); err != nil {
		f.Fatalf("MakeKey: %v", err)
	}
	for _, other := range []string{"second", "first"} {
		if err := f.store.MakeKey(f.Context(), []byte(other)); !errors.Is(err, store.ErrStale) {
			f.Errorf("MakeKey where there is one: %v, want ErrStale", err)
		}
	}
	if key := f.key(); string(key) != "first" {
		f.Errorf("the key is %q, want the first", key)
	}
	if mark, err := f.store.ReadMark(f.Context()); err != nil || len(mark) > 0 {
		f.Errorf("the mark is %q, %v: the key is none", mark, err)
	}
	if !f.Reopens {
		return
	}
	if f.reopen(); !bytes.Equal(f.key(), []byte("first")) {
		f.Errorf("opened again, the key is %q", f.key())
	}
}

func keyRace(f *fixture) {
	const makers = 8
	made := make(chan []byte, makers)
	for i := range makers {
		go func() {
			key := []byte{byte(i)}
			if f.store.MakeKey(f.Context(), key) != nil {
				key = nil
			}
			made <- key
		}()
	}
	var kept [][]byte
	for range makers {
		if key := <-made; key != nil {
			kept = append(kept, key)
		}
	}
	if len(kept) != 1 || !bytes.Equal(f.key(), kept[0]) {
		f.Errorf("%x were kept, and the key is %x", kept, f.key())
	}
}
