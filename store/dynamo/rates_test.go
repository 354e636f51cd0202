package dynamo_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// A reservation takes one request if the mark is still on the same side of the floor as when this
// process last saw it, and two otherwise, whichever process has moved it.
func TestSlotsCostOneWrite(t *testing.T) {
	t.Parallel()
	f := newFake()
	here, there := f.open(t, "n"), f.open(t, "n")
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for i, test := range []struct {
		at           *dynamo.Store
		floor, until int
		want         int // 0 means refused
		requests     int
	}{
		{here, 0, 0, 1, 1},
		{here, 0, 0, 2, 1},
		{there, 0, 0, 3, 2}, // this store has not seen the mark
		{there, 0, 0, 4, 1},
		{here, 0, 0, 5, 1},
		{here, 9, 0, 10, 1},
		{there, 9, 0, 11, 2}, // this store saw it before the floor
		{there, 9, 11, 0, 1},
		{here, 9, 11, 0, 1},
		{here, 9, 9, 0, 1},
		{here, 20, 20, 0, 0}, // whatever the mark
		{here, 9, 12, 12, 1},
	} {
		reservation := store.Reservation{TaskQueue: "reports", Floor: at(test.floor), By: time.Second}
		if test.until > 0 {
			reservation.Latest = at(test.until)
		}
		before := len(f.requests)
		got, err := test.at.Reserve(t.Context(), reservation)
		if test.want == 0 && !errors.Is(err, store.ErrStale) || test.want > 0 && (err != nil || !got.Equal(at(test.want))) {
			t.Errorf("reservation %d: %v, %v, want that at %d s", i, got, err, test.want)
		}
		if n := len(f.requests) - before; n != test.requests {
			t.Errorf("reservation %d took %d requests, want %d", i, n, test.requests)
		}
	}
	f.items = map[string]map[string]record{} // an operator has deleted the mark
	if got, err := here.Reserve(t.Context(), store.Reservation{TaskQueue: "reports", Floor: noon, By: time.Second, Latest: at(1)}); err != nil || !got.Equal(at(1)) {
		t.Errorf("without the mark: %v, %v", got, err)
	}
	if slices.ContainsFunc(f.requests, func(op string) bool { return op != "UpdateItem" }) {
		t.Errorf("requests %v, want updates alone", f.requests)
	}
}

// Whatever happens to a request, no two callers get the same reservation. One that may have been
// made is lost.
func TestSlotsThatMayHaveBeenTaken(t *testing.T) {
	t.Parallel()
	reservation := store.Reservation{TaskQueue: "reports", Floor: noon, By: time.Second}
	for name, test := range map[string]struct {
		wrong fault
		want  error
		next  int // the reservation of the next call
	}{
		"lost":            {fault{}, store.ErrUnknown, 2},
		"applied, lost":   {fault{applied: true}, store.ErrUnknown, 3},
		"error":           {fault{status: http.StatusInternalServerError, body: `{"__type":"InternalServerError"}`}, store.ErrUnknown, 2},
		"no rights to it": {*answer(400, "AccessDeniedException", "not authorized"), errOther, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			s := f.open(t, "n")
			for want := 1; want <= test.next; want++ {
				if want == 2 {
					f.fault = func(string, *request) *fault { return &test.wrong }
					if _, err := s.Reserve(t.Context(), reservation); class(err) != test.want {
						t.Errorf("%v, want %v", err, test.want)
					}
					f.fault = nil
					want = test.next
				}
				if at, err := s.Reserve(t.Context(), reservation); err != nil || !at.Equal(noon.Add(time.Duration(want)*time.Second)) {
					t.Errorf("%v, %v, want reservation %d", at, err, want)
				}
			}
		})
	}
}

// A throttled reservation is requested again.
func TestSlotThatIsThrottled(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.fault = func(string, *request) *fault {
		if len(f.requests) > 2 {
			return nil
		}
		return answer(400, "ThrottlingException", "")
	}
	at, err := f.open(t, "n").Reserve(t.Context(), store.Reservation{Floor: noon, By: time.Second})
	if err != nil || !at.Equal(noon.Add(time.Second)) || len(f.requests) != 3 {
		t.Errorf("%v, %v, after %d requests", at, err, len(f.requests))
	}
}

// A mark of an earlier version, without a check, is moved, and gets a check. If it is damaged then,
// that is an error.
func TestMarkOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	f := newFake()
	s, n := f.open(t, "default"), "1764000000000000"
	at := time.UnixMicro(1764000000000000).UTC()
	pk, sk := "default/r/q", "rate"
	f.put(record{"pk": value{S: &pk}, "sk": value{S: &sk}, "number": value{N: &n}})
	reservation := store.Reservation{TaskQueue: "q", Floor: at.Add(-time.Hour), By: time.Second}
	for i := range 3 {
		got, err := s.Reserve(t.Context(), reservation)
		if want := at.Add(time.Duration(i+1) * time.Second); err != nil || !got.Equal(want) {
			t.Fatalf("reservation %d: %v, %v; want %v", i, got, err, want)
		}
	}
	if writes := len(f.requests); writes != 4 {
		t.Errorf("%d writes for 3 reservations of a mark without a check; want one more", writes)
	}
	if f.items[pk][sk]["c"].N == nil {
		t.Fatal("the mark has no check")
	}
	damaged := "1764000009000000"
	f.items[pk][sk]["number"] = value{N: &damaged}
	for name, s := range map[string]*dynamo.Store{"this process": s, "another": f.open(t, "default")} {
		if _, err := s.Reserve(t.Context(), reservation); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}
