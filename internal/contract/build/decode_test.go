package build_test

import (
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/diff"
	"github.com/seed-41655fb1/weft/internal/contract/schemas"
)

type (
	oneInt struct {
		A int `json:"a"`
	}
	oneText struct {
		A string `json:"a"`
	}
	optional struct {
		A int `json:"a,omitempty"`
	}
	quoted struct {
		A int `json:"a,string"`
	}
	small struct {
		A int8 `json:"a"`
	}
	other struct {
		B int `json:"b"`
	}
)

// recorded are values that runs may have recorded.
func recorded() []any {
	five := 5
	return []any{
		true, int8(-3), int16(-300), int32(-70000), int64(math.MinInt64), uint8(200), uint16(60000), uint32(math.MaxUint32), uint64(math.MaxUint64), int64(7), uint64(7),
		float32(1.5), 1e300, 2.0, "text", "", "7", []byte("a"), time.Unix(0, 0).UTC(), time.Hour, &five, (*int)(nil), json.Number("1.5"), json.RawMessage(`{"a":[1]}`),
		any(map[string]any{"a": 1}), new(big.Int).Lsh(big.NewInt(1), 80), netip.MustParseAddr("10.0.0.1"),
		[]int{1, -300},
		[]int(nil),
		[]uint8{1},
		[]string{"a"},
		[2]int{1, 2},
		[3]int{1, 2, 3},
		[][]int{{1}},
		[]float64{0.5},
		map[string]int{"a": 300},
		map[string]string{"a": "x"},
		map[int]int{-1: 2},
		map[uint]int{1: 2},
		map[int8]int{1: 1},
		map[string]any{"a": "x"},
		map[netip.Addr]int{netip.MustParseAddr("::1"): 1},
		oneInt{300},
		oneText{"x"},
		optional{},
		quoted{300},
		small{3},
		other{4},
		&oneInt{5},
		[]oneInt{{300}},
		map[string]oneInt{"a": {300}},
		struct{}{},
		struct {
			A json.RawMessage `json:"a"`
		}{json.RawMessage(`"x"`)},
		struct {
			A map[string]int `json:"a"`
		}{map[string]int{"b": 1}},
		struct {
			A []int `json:"a"`
		}{[]int{1}},
	}
}

// A change that is called safe for open runs decodes each value that a run has recorded.
func TestSafeChangesDecode(t *testing.T) {
	t.Parallel()
	document := func(of reflect.Type) *contract.Document {
		var s schemas.Set
		schema, err := s.Add(of, false)
		if err != nil {
			t.Fatal(err)
		}
		return &contract.Document{Version: contract.Version, Activities: map[string]*contract.Activity{"act": {Input: schema}}, Defs: s.Defs()}
	}
	for _, value := range recorded() {
		from := reflect.TypeOf(value)
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, next := range recorded() {
			to := reflect.TypeOf(next)
			changes := diff.Compare(document(from), document(to))
			safe := true
			for _, c := range changes {
				safe = safe && c.Runs == diff.Safe
			}
			if err := json.Unmarshal(text, reflect.New(to).Interface()); err != nil && safe {
				t.Errorf("%s to %s is safe for open runs, and %s does not decode: %v", from, to, text, err)
			}
		}
	}
}
