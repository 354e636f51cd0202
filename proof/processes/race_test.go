//go:build race

package processes_test

// memory is the limit of a child's memory in MiB. With the race detector a child has more than 256
// when it begins.
const memory = 512
