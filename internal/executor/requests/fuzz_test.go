package requests

import "testing"

// FuzzClosePlace looks for a token that is read and written differently, or that makes the reader
// panic.
func FuzzClosePlace(f *testing.F) {
	f.Add(closePlace{closed: 1, started: 2, workflow: "order-7", run: 3}.String())
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := parseClosePlace(token); err == nil && token != "" && p.String() != token {
			t.Errorf("%q is read as %+v", token, p)
		}
	})
}
