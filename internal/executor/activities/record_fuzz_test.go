package activities

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine/history"
)

// FuzzRecords reads any bytes as the claims of a token, and as the key that signs tokens. It
// demands that each error is of a known kind.
func FuzzRecords(f *testing.F) {
	for _, v := range []any{
		&Claims{WorkflowID: "a", RunID: "1-0123456789abcdef", EventID: 5, Attempt: 1}, &signingKey{Key: []byte("key")},
	} {
		body, err := history.EncodeBody(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
		f.Add(body[:len(body)/2])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, err := range []error{history.DecodeBody(body, &Claims{}), history.DecodeBody(body, &signingKey{})} {
			if err != nil && !errors.Is(err, history.ErrCorrupt) && !errors.Is(err, history.ErrNewer) && !errors.Is(err, history.ErrEncoded) {
				t.Errorf("an error of an unknown kind: %v", err)
			}
		}
	})
}
