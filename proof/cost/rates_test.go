package main

import "testing"

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{
		1: "1", 100: "100", 10_000: "10,000", 0.0045: "0.00", 0.709: "0.71", 9.4608: "9.46", 20.4984: "20.5", 2049.84: "2,050", 204_984: "205,000", 999.6: "1,000", 1_234_567: "1,230,000",
	} {
		if got := grouped(n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}
