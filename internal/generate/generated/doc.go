// Package generated has only tests: they use the generated clients of internal/generate/testdata.
package generated
