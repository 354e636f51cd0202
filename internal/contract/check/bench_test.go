package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

type line struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int64  `json:"cents"`
	Note     string `json:"note,omitempty"`
	Gift     bool   `json:"gift"`
}

type order struct {
	ID    string            `json:"id"`
	Owner string            `json:"owner"`
	Made  time.Time         `json:"made"`
	Items []line            `json:"items"`
	Tags  map[string]string `json:"tags"`
	Total float64           `json:"total"`
}

// kilobyte returns an order of about a kilobyte.
func kilobyte() []byte {
	o := order{ID: "order-1", Owner: "ada", Made: time.Date(2026, 11, 27, 20, 0, 0, 123456789, time.UTC), Tags: map[string]string{"a": "b", "c": "d"}, Total: 12.5}
	for range 11 {
		o.Items = append(o.Items, line{"tea-earl-grey", 2, 450, "as a present, please", true})
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

// A check of an accepted text allocates nothing, but for the memory that it uses again.
func TestAllocations(t *testing.T) {
	c, err := Compile(reflect.TypeFor[order]())
	if err != nil {
		t.Fatal(err)
	}
	text := kilobyte()
	got := testing.AllocsPerRun(100, func() {
		if err := c.Check("input", text, false); err != nil {
			t.Fatal(err)
		}
	})
	if got > 2 {
		t.Errorf("a check of %d bytes allocates %v objects, want at most 2", len(text), got)
	}
}

// BenchmarkCheck has the figures of docs/decisions/0044-contract.md, beside json.Valid on the same
// machine.
func BenchmarkCheck(b *testing.B) {
	c, err := Compile(reflect.TypeFor[order]())
	if err != nil {
		b.Fatal(err)
	}
	text := kilobyte()
	b.Run("Check", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Check("input", text, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Verify", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := Verify(reflect.TypeFor[order]()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Slow", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := decide(c.shape, "input", text, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Unknown", func(b *testing.B) { // the slow path of members without a field, beside many fields
		c, err := Compile(reflect.TypeFor[wide]())
		if err != nil {
			b.Fatal(err)
		}
		text := unknown(1000)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if err := decide(c.shape, "input", text, true); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Valid", func(b *testing.B) {
		for b.Loop() {
			if !json.Valid(text) {
				b.Fatal()
			}
		}
	})
	b.Run("Compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Compile(reflect.TypeFor[order]()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// unknown returns an object with this many members whose names are no fields and not ASCII.
func unknown(n int) []byte {
	var text []byte
	for i := range n {
		text = fmt.Appendf(text, `,"é%06d":1`, i)
	}
	text[0] = '{'
	return append(text, '}')
}

// A large map leaves no room behind that each later check would clear.
func TestLargeMapLeavesNothing(t *testing.T) {
	t.Parallel()
	s, err := compile(reflect.TypeFor[map[string]int]())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i := range 10 * maxKept {
		text = fmt.Appendf(text, `,"%06d":1`, i)
	}
	text[0] = '{'
	var f fast
	if !f.accepts(s, append(text, '}'), false) {
		t.Fatal("the fast path does not accept a large map")
	}
	if cap(f.names) > maxKept {
		t.Errorf("it keeps room for %d names", cap(f.names))
	}
	if !f.accepts(s, []byte(`{"a":1,"b":2}`), false) || cap(f.names) == 0 {
		t.Error("it keeps no room for the names of a small map")
	}
}
