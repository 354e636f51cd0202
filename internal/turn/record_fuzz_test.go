package turn

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// Whatever the store has as the record of an attempt, as a ticket or as the key that signs, it is read or is an error of a known kind.
func FuzzRecords(f *testing.F) {
	for _, v := range []any{
		&attemptState{Failure: &failure.Failure{Kind: failure.KindApplication, Message: "m"}, Next: 1 << 50},
		&ticket{WorkflowID: "a", RunID: "1-0123456789abcdef", EventID: 5, Attempt: 1}, &signingKey{Key: []byte("key")},
	} {
		body, err := history.EncodeBody(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, 1)
		f.Add(body[:len(body)/2], 1<<52)
	}
	f.Add([]byte{}, -1)
	f.Fuzz(func(t *testing.T, body []byte, number int) {
		_, err := decodeAttempt(store.Attempt{Body: body, Number: number})
		for _, err := range []error{err, history.DecodeBody(body, &ticket{}), history.DecodeBody(body, &signingKey{})} {
			if err != nil && !errors.Is(err, history.ErrCorrupt) && !errors.Is(err, history.ErrNewer) && !errors.Is(err, history.ErrSealed) {
				t.Errorf("an error of no kind: %v", err)
			}
		}
	})
}
