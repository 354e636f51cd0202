//go:build !race

package docs_test

// guideFlags are the flags of the reader's go command. Vetting the program of a guide loads all
// packages below it again, so only `make race`, which CI runs, does that. The programs are linked
// without debugging information, as all of `make test`.
const guideFlags = "-vet=off -ldflags=-w"
