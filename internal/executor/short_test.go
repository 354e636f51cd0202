package executor_test

import "github.com/seed-41655fb1/weft/proof/shortform"

// faults returns the faults that a test tries at a write: all, or in short tests one of them, in
// turn.
func faults(number int) []fault {
	all := []fault{refused, dropped, lost}
	return shortform.Or(all, all[number%len(all):][:1])
}
