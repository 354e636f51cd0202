package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// The pages of a sum are read one after the other, and a terminal shows how far the sum is between
// two of them. An error ends it.
func TestEachPage(t *testing.T) {
	t.Parallel()
	broken := errors.New("it is broken")
	for last, want := range map[string]error{"": nil, "p3": broken} {
		var said bytes.Buffer
		s := &cli.Session{Out: io.Discard, Err: &said, Live: true}
		var asked []string
		err := eachPage(t.Context(), s, "the count", func(token string) (next, soFar string, err error) {
			asked = append(asked, token)
			switch token {
			case "":
				return "p2", "5 runs", nil
			case "p2":
				return last, "12 runs", nil
			}
			return "", "", broken
		})
		if !errors.Is(err, want) || !slices.Equal(asked[:2], []string{"", "p2"}) || !strings.Contains(said.String(), "≥ 5 runs so far") {
			t.Errorf("%v, asked for %q, and said %q", err, asked, said.String())
		}
	}
}
