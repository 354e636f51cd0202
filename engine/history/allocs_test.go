//go:build !race

package history_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/engine/history"
)

// Decoding a typical step allocates once for each of its parts: the commit, its task, its two lists
// of events, their attributes and payloads, and its causation ids. Its three texts come from
// earlier commits.
func TestAllocationsOfATypicalCommit(t *testing.T) {
	c := typical()
	data := encode(t, c)
	var decoder history.Decoder
	for _, test := range []struct {
		what string
		want float64
		do   func() error
	}{
		{"Encode", 1, func() error { _, err := history.Encode(c); return err }},
		{"Decoder.Decode", 9, func() error { _, err := decoder.Decode(3, data); return err }},
		{"Decode", 12, func() error { _, err := history.Decode(3, data); return err }},
	} {
		got := testing.AllocsPerRun(100, func() {
			if err := test.do(); err != nil {
				t.Fatal(err)
			}
		})
		if got != test.want {
			t.Errorf("%s allocates %v objects, want %v: if that is intended, say why in the commit", test.what, got, test.want)
		}
	}
}
