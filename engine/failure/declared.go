package failure

import "reflect"

// Declared is an error that an update can declare: an *Error, or an ErrorOf.
type Declared interface {
	error
	// declared returns the error, and the type of its details, which is nil if it has none.
	declared() (*Error, reflect.Type)
	// sent returns the error that is sent if code returns this one.
	sent() *Error
}

// Declaration returns a declared error, and the type of its details. The type is nil if nothing is
// declared about the details.
func Declaration(d Declared) (*Error, reflect.Type) { return d.declared() }

func (e *Error) declared() (*Error, reflect.Type) { return e, nil }
func (e *Error) sent() *Error                     { return e }

// ErrorOf is an application error whose details are a D. It matches each error of its type. If code
// returns it as it is, the details are the zero value of D, so that each receiver gets a D.
type ErrorOf[D any] struct{ plain *Error }

// NewOf returns an error whose details are a D.
func NewOf[D any](typ, message string) ErrorOf[D] { return ErrorOf[D]{NewForProgram(typ, message)} }

func (e ErrorOf[D]) declared() (*Error, reflect.Type) { return e.plain, reflect.TypeFor[D]() }

func (e ErrorOf[D]) sent() *Error {
	var zero D
	return e.With(zero)
}

// Error returns the message.
func (e ErrorOf[D]) Error() string { return e.plain.Error() }

// Unwrap returns the error without details.
func (e ErrorOf[D]) Unwrap() error { return e.plain }

// Plain returns the error without details, for what takes an *Error, such as a retry policy.
func (e ErrorOf[D]) Plain() *Error { return e.plain }

// With returns the error with details, as [Error.With] does.
func (e ErrorOf[D]) With(details D) *Error { return e.plain.With(details) }

// DetailsOf returns the details of the first error in err's chain that has this type. ok is false
// if there is none, or if it has no details that are a D.
func (e ErrorOf[D]) DetailsOf(err error) (details D, ok bool) {
	var v D
	if !e.plain.DecodeDetails(err, &v) {
		return details, false
	}
	return v, true
}
