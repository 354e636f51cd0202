package attempts_test

import (
	"errors"
	"reflect"
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

// A heartbeat from outside follows the record that is there, and keeps what that says of its own
// attempt only.
func TestHeartbeatFollowsARecord(t *testing.T) {
	t.Parallel()
	const now = history.Timestamp(7)
	first := attempts.Failed(1) + attempts.BeginAt + 1 // of attempt 2
	why := &failure.Failure{Kind: failure.KindApplication, Message: "m"}
	failed := &attempts.Record{Failure: why, Next: 3, By: 4, LastFailed: 1, Number: attempts.Failed(1)}
	begun := &attempts.Record{Failure: why, By: 5, Look: 6, Copy: 8, Taker: 9, Until: 10, LastFailed: 1, Number: first + 2}
	outside := &attempts.Record{By: 5, Deadline: 100, Heard: 1, LastFailed: 1, Number: attempts.Failed(2) - 2}
	early := &attempts.Record{LastFailed: 1, Number: first + attempts.MaxHeartbeats/4 - 1}
	for _, test := range []struct {
		what string
		there,
		want *attempts.Record
	}{
		{"no record", nil, &attempts.Record{Number: first}},
		{"the failure of the attempt before", failed, &attempts.Record{Failure: why, Number: first}},
		{"a record of the attempt", begun, &attempts.Record{Failure: why, By: 5, Look: 6, Copy: 8, Taker: 9, Until: 10, LastFailed: 1, Number: first + 3}},
		{"the last number", outside, &attempts.Record{By: 5, Deadline: 100, LastFailed: 1, Number: attempts.Failed(2) - 1}},
		{"the last number while the function runs", early, nil},
	} {
		got, ok := test.there.Heartbeat(2, []byte("d"), now)
		if ok != (test.want != nil) {
			t.Errorf("after %s: %v", test.what, ok)
		}
		if !ok {
			continue
		}
		test.want.Details, test.want.Heard = []byte("d"), now
		if !reflect.DeepEqual(&got, test.want) {
			t.Errorf("after %s: %+v, want %+v", test.what, got, *test.want)
		}
		if _, more := got.Heartbeat(2, nil, now); more != (test.there != outside) {
			t.Errorf("after %s and one more: %v", test.what, more)
		}
	}
}
