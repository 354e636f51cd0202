package memory

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/store"
)

// A token is one that this store made, or is refused.
func FuzzToken(f *testing.F) {
	f.Add("")
	f.Add("AAAA")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := parseToken(token); err != nil && !errors.Is(err, store.ErrBadToken) {
			t.Errorf("%q: %+v, %v", token, p, err)
		}
	})
}
