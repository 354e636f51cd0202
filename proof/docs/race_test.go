//go:build race

package docs_test

// guideFlags are the flags of the reader's go command: none.
const guideFlags = ""
