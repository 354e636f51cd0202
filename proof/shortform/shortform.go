// Package shortform selects the cases of a test's short form (go test -short), which `make race`
// runs.
package shortform

import "testing"

// Or returns the first value, or the second in short tests.
func Or[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}
