package failure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// maxDepth bounds how many causes are kept: a longer chain, or one with a cycle, is cut there.
const maxDepth = 16

// maxText is the largest text of a failure, in bytes. A failure is part of a commit, and is shown
// to people. A larger text is cut, so that an error which quotes a whole document does no harm.
const maxText = 8 << 10

// MaxDetails is the largest details of a failure, in bytes. Larger ones are left out.
const MaxDetails = 64 << 10

// FromError returns the failure for err, including its causes. It returns nil for nil. A text of
// more than 8 KiB is cut, and details of more than 64 KiB are left out.
func FromError(err error) *Failure {
	w := walk{left: maxDepth}
	return w.from(err)
}

// Flat is FromError for senders that can only send one failure without causes. It has the text of
// err, and the type and the details of the first *Error in the chain. It is nonretryable if
// anything in the chain is.
func Flat(err error) *Failure {
	w := walk{left: maxDepth}
	f := w.from(err)
	if f == nil {
		return nil
	}
	if w.ended {
		f.Uncancel() // if the activity was asked to end, the log says so
	}
	flat := &Failure{Kind: KindApplication, Type: f.Type, Message: cut(err.Error()), NonRetryable: !f.Retryable(nil)}
	if w.first != nil {
		flat.Type, flat.Details = w.first.Type, w.first.Details
	}
	return flat
}

// walk follows a chain of errors.
type walk struct {
	left  int      // how many more failures there may be
	first *Failure // that of the first *Error
	ended bool     // a context.Canceled was found
}

func (w *walk) from(err error) *Failure {
	chain := w.chain(err)
	for i, part := range chain {
		part.Type, part.Message, part.Stack = cut(part.Type), cut(part.Message), cut(part.Stack)
		if len(part.Details) > MaxDetails {
			part.Details = nil
		}
		if i > 0 {
			chain[i-1].Cause = part
		}
	}
	if len(chain) == 0 {
		return nil
	}
	return chain[0]
}

// chain returns the failures of an error and of all that it wraps. A stored failure is a chain: if
// an error wraps several (errors.Join, or more than one %w), they follow each other in their order,
// so that errors.Is finds each. An error whose failure cannot have a cause is last, and there is
// only one.
func (w *walk) chain(err error) (chain []*Failure) {
	if err == nil || w.left == 0 {
		return nil
	}
	if d, ok := err.(Declared); ok {
		err = d.sent() // an ErrorOf has details
	}
	w.left--
	chain = append(chain, w.alone(err))
	var last []*Failure
	for _, wrapped := range wrappedBy(err) {
		branch := w.chain(wrapped)
		switch n := len(branch); {
		case n == 0:
		case branch[n-1].Kind != KindCanceled && branch[n-1].Kind != KindPanic:
			chain = append(chain, branch...)
		case last == nil:
			last = branch
		}
	}
	return append(chain, last...)
}

// cut returns the beginning of a text that is too long, and says so. It leaves a text unchanged
// that it has cut before.
func cut(text string) string {
	const note = 40 // what it adds is shorter
	if len(text) <= maxText+note {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:maxText], ""), len(text))
}

// alone returns the failure of an error without what it wraps.
func (w *walk) alone(err error) *Failure {
	switch e := err.(type) {
	case *Error:
		f := &Failure{Kind: KindApplication, Type: e.Type, Message: e.Error(), NonRetryable: e.NonRetryable, Details: e.Details}
		w.first = cmp.Or(w.first, f)
		return f
	case *TimeoutError:
		return &Failure{Kind: KindTimeout, Timeout: e.Limit, Message: e.Message}
	case *CanceledError:
		return &Failure{Kind: KindCanceled, Message: e.Reason}
	case *PanicError:
		return &Failure{Kind: KindPanic, Message: e.Message, Stack: e.Stack, OfRuntime: e.ofRuntime}
	case *ActivityError:
		return &Failure{Kind: KindActivity, ActivityType: e.ActivityType, EventID: e.EventID}
	case *ChildWorkflowError:
		return &Failure{Kind: KindChild, WorkflowType: e.WorkflowType, WorkflowID: e.WorkflowID, RunID: e.RunID, EventID: e.EventID}
	case *OtherError:
		return &Failure{Kind: e.Kind, Message: e.Message, Stack: e.Stack, EventID: e.EventID}
	}
	if err == context.Canceled {
		w.ended = true
		return &Failure{Kind: KindCanceled}
	}
	return &Failure{Kind: KindApplication, Type: typeOf(err), Message: err.Error()}
}

// wrappedBy returns what err wraps.
func wrappedBy(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{errors.Unwrap(err)}
}

// typeName returns the Go type of an error that has a type of its own, and "" for the common ones
// such as those of errors.New.
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

// Err returns the Go error for the failure, or nil for a nil failure.
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
		return &PanicError{Message: f.Message, Stack: f.Stack, ofRuntime: f.OfRuntime}
	case KindActivity:
		return &ActivityError{ActivityType: f.ActivityType, EventID: f.EventID, Cause: cause}
	case KindChild:
		return &ChildWorkflowError{WorkflowType: f.WorkflowType, WorkflowID: f.WorkflowID, RunID: f.RunID, EventID: f.EventID, Cause: cause}
	}
	return &OtherError{Kind: f.Kind, Message: f.Message, Stack: f.Stack, EventID: f.EventID, Cause: cause}
}

// Panic returns the failure of code that panicked with value.
func Panic(value any, stack []byte) *Failure {
	_, ofRuntime := value.(runtime.Error)
	return &Failure{Kind: KindPanic, Message: cut(panicText(value)), Stack: cut(string(stack)), OfRuntime: ofRuntime}
}

func panicText(value any) (text string) {
	defer func() {
		if recover() != nil { // a String or Error method that panics in its turn
			text = fmt.Sprintf("a value of type %T", value)
		}
	}()
	return fmt.Sprint(value)
}
