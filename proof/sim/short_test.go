package sim

import "testing"

// fullOrShort returns the first number, or the second in short tests, which `make race` runs.
func fullOrShort(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}
