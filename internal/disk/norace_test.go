//go:build !race

package disk

// flips is how many bits of a table TestFlippedTable tries. TestOneFailure lets every
// failureStep-th operation fail.
const flips, failureStep = 12, 5
