package executor_test

import "testing"

// fullOrShort returns the first value, or the second in short tests, which `make race` runs.
func fullOrShort[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}

// faults returns the faults that a test tries at a write: all, or in short tests one of them, in
// turn.
func faults(number int) []fault {
	all := []fault{refused, dropped, lost}
	return fullOrShort(all, all[number%len(all):][:1])
}
