package main

import (
	"testing"

	"github.com/seed-41655fb1/weft/client"
)

// An amount has two digits that say something, however small it is.
func TestDollarsText(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{
		0: "$0.00", 12.345: "$12.35", 0.5: "$0.50", 0.05: "$0.050", 0.0123: "$0.012", 0.00000075333: "$0.00000075", 0.0000098333: "$0.0000098", 1e-30: "$0.000000000000",
	} {
		if got := dollarsText(n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}

func TestCostText(t *testing.T) {
	t.Parallel()
	c := &client.Cost{Writes: 4, Messages: 1, Reads: client.CostRange{Most: 4}, Dollars: 0.0000075}
	if got, want := costText(c), "about $0.0000075: 4 writes, 1 message, 0 to 4 reads"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := costText(nil); got != "" {
		t.Errorf("an older server has the cost %q", got)
	}
}
