package failure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// maxDepth bounds how many causes are kept: a chain that is longer, or that runs in a circle, is cut there.
const maxDepth = 16

// maxText is the largest text of a failure, in bytes. A failure is part of a commit, and is shown to people: one that is larger is
// cut, so that an error which quotes a whole document does no harm.
const maxText = 8 << 10

// MaxDetails is the largest details of a failure, in bytes. Larger ones are left out.
const MaxDetails = 64 << 10

// FromError returns the failure that stands for err, its causes included. It returns nil for nil. A text of more than 8 KiB
// is cut, and details of more than 64 KiB are left out.
func FromError(err error) *Failure {
	return new(walk).from(err)
}

// Flat is FromError for whoever can say a failure in one piece only: it has no cause, the text of err, and the type and the details of
// the first *Error in the chain. It is nonretryable where anything in the chain is.
func Flat(err error) *Failure {
	var w walk
	f := w.from(err)
	if f == nil {
		return nil
	}
	flat := &Failure{Kind: KindApplication, Type: f.Type, Message: cut(err.Error()), NonRetryable: !f.Retryable(nil)}
	if w.first != nil {
		flat.Type, flat.Details = w.first.Type, w.first.Details
	}
	return flat
}

// walk is a walk along a chain of errors.
type walk struct {
	first *Failure // that of the first *Error
}

func (w *walk) from(err error) *Failure {
	f := w.failure(err, maxDepth)
	for part := f; part != nil; part = part.Cause {
		part.Type, part.Message, part.Stack = cut(part.Type), cut(part.Message), cut(part.Stack)
		if len(part.Details) > MaxDetails {
			part.Details = nil
		}
	}
	return f
}

// cut returns the beginning of a text that is too long, and says so. What it has cut it leaves as it is.
func cut(text string) string {
	const note = 40 // what it adds is shorter
	if len(text) <= maxText+note {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:maxText], ""), len(text))
}

func (w *walk) failure(err error, depth int) *Failure {
	if err == nil || depth == 0 {
		return nil
	}
	cause := func() *Failure { return w.failure(unwrapOne(err), depth-1) }
	switch e := err.(type) {
	case *Error:
		f := &Failure{Kind: KindApplication, Type: e.Type, Message: e.Error(), NonRetryable: e.NonRetryable, Details: e.Details}
		w.first = cmp.Or(w.first, f)
		f.Cause = cause()
		return f
	case *TimeoutError:
		return &Failure{Kind: KindTimeout, Timeout: e.Limit, Message: e.Message, Cause: cause()}
	case *CanceledError:
		return &Failure{Kind: KindCanceled, Message: e.Reason}
	case *PanicError:
		return &Failure{Kind: KindPanic, Message: e.Message, Stack: e.Stack}
	case *ActivityError:
		return &Failure{Kind: KindActivity, ActivityType: e.ActivityType, EventID: e.EventID, Cause: cause()}
	case *ChildWorkflowError:
		return &Failure{
			Kind: KindChild, WorkflowType: e.WorkflowType, WorkflowID: e.WorkflowID, RunID: e.RunID, EventID: e.EventID, Cause: cause(),
		}
	case *OtherError:
		return &Failure{Kind: e.Kind, Message: e.Message, Stack: e.Stack, EventID: e.EventID, Cause: cause()}
	}
	if err == context.Canceled {
		return &Failure{Kind: KindCanceled}
	}
	return &Failure{Kind: KindApplication, Type: typeName(err), Message: err.Error(), Cause: cause()}
}

// unwrapOne returns what err wraps. Of several (errors.Join, or more than one %w) it keeps the first: a stored failure
// is a chain, and the text of err names the others.
func unwrapOne(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			if e != nil {
				return e
			}
		}
	}
	return errors.Unwrap(err)
}

// typeName is the Go type of an error that has a type of its own, and empty for those that every package makes.
func typeName(err error) string {
	t := reflect.TypeOf(err)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "errors", "fmt", "":
		return ""
	}
	return t.String()
}

// Err returns the Go error that stands for the failure, and nil for a nil failure.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	var cause error
	if f.Cause != nil {
		cause = f.Cause.Err()
	}
	switch f.Kind {
	case KindApplication:
		return &Error{Type: f.Type, Message: f.Message, NonRetryable: f.NonRetryable, Details: f.Details, Cause: cause}
	case KindTimeout:
		return &TimeoutError{Limit: f.Timeout, Message: f.Message, Cause: cause}
	case KindCanceled:
		return &CanceledError{Reason: f.Message}
	case KindPanic:
		return &PanicError{Message: f.Message, Stack: f.Stack}
	case KindActivity:
		return &ActivityError{ActivityType: f.ActivityType, EventID: f.EventID, Cause: cause}
	case KindChild:
		return &ChildWorkflowError{WorkflowType: f.WorkflowType, WorkflowID: f.WorkflowID, RunID: f.RunID, EventID: f.EventID, Cause: cause}
	}
	return &OtherError{Kind: f.Kind, Message: f.Message, Stack: f.Stack, EventID: f.EventID, Cause: cause}
}

// Panic returns the failure of code that panicked with value.
func Panic(value any, stack []byte) *Failure {
	return &Failure{Kind: KindPanic, Message: cut(panicText(value)), Stack: cut(string(stack))}
}

func panicText(value any) (text string) {
	defer func() {
		if recover() != nil { // a String or Error method that panics in its turn
			text = fmt.Sprintf("a value of type %T", value)
		}
	}()
	return fmt.Sprint(value)
}
