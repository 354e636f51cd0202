package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// A failure that is too large is cut between two letters. It is cut only once: sending it on does
// not change it.
func TestFailuresAreCut(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	long := strings.Repeat("ä", size/2)
	of := func(err error) *failure.Failure { return failure.FromError(err) }
	for name, f := range map[string]*failure.Failure{
		"a message": of(errors.New(long)), "a cause": of(fmt.Errorf("no: %w", errors.New(long))), "a type": of(failure.New(long, "")),
		"a panic": failure.Panic(long, []byte(long)), "details": of(&failure.Error{Details: []byte(long)}),
		"a stack": of(&failure.PanicError{Message: "ouch", Stack: long}), "a circle": of(circle{}),
	} {
		total := 0
		for part := f; part != nil; part = part.Cause {
			total += len(part.Message) + len(part.Type) + len(part.Stack) + len(part.Details)
			if !utf8.ValidString(part.Message + part.Type + part.Stack) {
				t.Errorf("%s is cut in the middle of a letter", name)
			}
		}
		if total > size/4 {
			t.Errorf("%s has %d bytes", name, total)
		}
		if again := failure.FromError(f.Err()); !again.Same(f) {
			t.Errorf("%s changes when it is sent on: %.100s... and then %.100s...", name, f.Message, again.Message)
		}
	}
	if f := of(errors.New(long)); !strings.Contains(f.Message, fmt.Sprint(size)) {
		t.Errorf("a message that was cut ends with %q", f.Message[len(f.Message)-30:])
	}
	short := of(errors.New(long[:8<<10]))
	if short.Message != long[:8<<10] {
		t.Error("a message of 8 KiB was cut")
	}
}

// An error that wraps several others, in any way, matches all of them after it was sent, and is
// final if one of them is.
func TestSeveralCauses(t *testing.T) {
	t.Parallel()
	declined, other, third := failure.New("declined", "the card was declined"), failure.New("other", "something else"), failure.New("third", "")
	several := errors.Join(nil, context.Canceled, fmt.Errorf("%w, and: %w", other, fmt.Errorf("the bank: %w", declined.With(51).Final())),
		&failure.PanicError{Message: "lost"}, &failure.ActivityError{ActivityType: "pay", Cause: third})
	f := failure.FromError(several)
	err := f.Err()
	if err.Error() != several.Error() {
		t.Errorf("the text was %q, and is %q", several, err)
	}
	var activity *failure.ActivityError
	for _, want := range []error{declined, other, third, failure.ErrCanceled} {
		if !errors.Is(err, want) || !errors.As(err, &activity) || activity.Error() != "activity pay failed: third" {
			t.Errorf("%v is lost in %+v", want, err)
		}
	}
	var details int
	if !declined.DecodeDetails(err, &details) || details != 51 || f.Retryable(nil) {
		t.Errorf("its details are %v, and it is retryable: %v", details, f.Retryable(nil))
	}
	if f := failure.FromError(errors.Join(other, third)); f.Retryable([]string{"third"}) || !f.Retryable(nil) {
		t.Error("the second of two errors ignores the types that are not retried")
	}
	if again := failure.FromError(err); !again.Same(f) {
		t.Errorf("it changes when it is sent on: %+v, and then %+v", f, again)
	}
}

// An error that wraps many errors, which wrap many in turn, is cut like a chain of errors.
func TestManyCauses(t *testing.T) {
	t.Parallel()
	err, n := io.ErrUnexpectedEOF, 0
	for range 4 {
		err = errors.Join(err, err, io.EOF, err)
	}
	for f := failure.FromError(err); f != nil; f = f.Cause {
		n++
	}
	if n != 16 {
		t.Errorf("%d failures", n)
	}
}

// A flat failure has the same information as the chain of causes, and may be as large.
func TestFlat(t *testing.T) {
	t.Parallel()
	declined, other := failure.New("declined", "the card was declined"), failure.New("other", "something else")
	for name, c := range map[string]struct {
		err  error
		want *failure.Failure
	}{
		"nothing":          {nil, nil},
		"no type":          {errors.New("no"), &failure.Failure{Message: "no"}},
		"a type of Go's":   {circle{}, &failure.Failure{Type: "failure_test.circle", Message: failure.FromError(circle{}).Message}},
		"wrapped":          {fmt.Errorf("at the bank: %w", declined.With(51)), &failure.Failure{Type: "declined", Message: "at the bank: the card was declined", Details: []byte("51")}},
		"the first counts": {failure.Newf("declined", "no: %w", other.With(51).Final()), &failure.Failure{Type: "declined", Message: "no: something else", NonRetryable: true}},
		"one of two":       {errors.Join(other, declined), &failure.Failure{Type: "other", Message: "something else\nthe card was declined"}},
		"too large":        {declined.With(strings.Repeat("x", failure.MaxDetails)), &failure.Failure{Type: "declined", Message: "the card was declined"}},
		"a context's end":  {fmt.Errorf("no: %w", context.Canceled), &failure.Failure{Message: "no: context canceled"}},
		"canceled":         {fmt.Errorf("no: %w", failure.ErrCanceled), &failure.Failure{Message: "no: canceled", NonRetryable: true}},
		"an activity's":    {&failure.ActivityError{ActivityType: "pay", Cause: declined}, &failure.Failure{Type: "declined", Message: "activity pay failed: the card was declined"}},
	} {
		if c.want != nil {
			c.want.Kind = failure.KindApplication
		}
		if got := failure.Flat(c.err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A search for details in a chain with a cycle ends.
func TestDetailsOfACircle(t *testing.T) {
	t.Parallel()
	ring, sought := failure.New("ring", "round"), failure.New("sought", "")
	ring.Cause = fmt.Errorf("and %w", ring)
	var v any
	if sought.DecodeDetails(ring, &v) || failure.Flat(ring).Type != "ring" {
		t.Errorf("details %v were found in a circle", v)
	}
}

// circle is an error that is its own cause.
type circle struct{}

func (circle) Error() string   { return strings.Repeat("x", 1<<20) }
func (c circle) Unwrap() error { return c }
