package main

import (
	"errors"
	"testing"
)

// The name of the command stands once before what went wrong.
func TestSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"weft: no answer: connection refused": "weft: no answer: connection refused",
		"Not found: there is no workflow":     "weft: Not found: there is no workflow",
	} {
		if got := said(errors.New(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
