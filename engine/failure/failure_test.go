package failure_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// A failure that is larger than anybody can read is cut, in the middle of no letter, and once: it travels on as it is.
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
			t.Errorf("%s changes on its way: %.100s... and then %.100s...", name, f.Message, again.Message)
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

// circle is an error that is its own cause.
type circle struct{}

func (circle) Error() string   { return strings.Repeat("x", 1<<20) }
func (c circle) Unwrap() error { return c }
