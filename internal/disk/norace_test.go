//go:build !race

package disk

// flips is how many bits of a table TestFlippedTable tries, and failureStep how many operations lie
// between two of which TestOneFailure has one fail.
const flips, failureStep = 12, 5
