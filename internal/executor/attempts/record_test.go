package attempts_test

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/store"
)

// FuzzCheck reads any bytes as a record. It demands that each error is of a known kind.
func FuzzCheck(f *testing.F) {
	body, err := history.EncodeBody(&attempts.Record{Failure: &failure.Failure{Kind: failure.KindApplication, Message: "m"}, Next: 1 << 50})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, 1)
	f.Add(body[:len(body)/2], 1<<52)
	f.Add([]byte{}, -1)
	f.Fuzz(func(t *testing.T, body []byte, number int) {
		err := attempts.Check(store.Attempt{Body: body, Number: number})
		if err != nil && !errors.Is(err, history.ErrCorrupt) && !errors.Is(err, history.ErrNewer) && !errors.Is(err, history.ErrEncoded) {
			t.Errorf("an error of an unknown kind: %v", err)
		}
	})
}
