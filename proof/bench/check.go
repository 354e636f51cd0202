package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/contract/check"
)

// checkedLine and checkedOrder are the types of the text of checks.
type checkedLine struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int64  `json:"cents"`
	Note     string `json:"note,omitempty"`
	Gift     bool   `json:"gift"`
}

type checkedOrder struct {
	ID    string            `json:"id"`
	Owner string            `json:"owner"`
	Made  time.Time         `json:"made"`
	Items []checkedLine     `json:"items"`
	Tags  map[string]string `json:"tags"`
	Total float64           `json:"total"`
}

// checks measures the check of a request's input against its Go type, next to json.Valid.
func checks() error {
	order := checkedOrder{ID: "order-1", Owner: "ada", Made: time.Now(), Tags: map[string]string{"a": "b", "c": "d"}, Total: 12.5}
	for range 11 {
		order.Items = append(order.Items, checkedLine{"tea-earl-grey", 2, 450, "as a present, please", true})
	}
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	c, err := check.Compile(reflect.TypeFor[checkedOrder]())
	if err != nil {
		return err
	}
	var refused error
	ours := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			refused = c.Check("input", text, false)
		}
	})
	bare := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			json.Valid(text)
		}
	})
	report(figure{
		fmt.Sprintf("check of an input of %d bytes", len(text)), fmt.Sprintf("%s, %d allocs", micros(time.Duration(ours.NsPerOp())), ours.AllocsPerOp()),
		"json.Valid " + micros(time.Duration(bare.NsPerOp())), "5 µs, 2 allocs",
	})
	return refused
}
