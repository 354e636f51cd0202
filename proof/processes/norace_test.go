//go:build !race

package processes_test

// memory is the limit of a child's memory in MiB. A test that exceeds it touches all of it, several
// times.
const memory = 160
