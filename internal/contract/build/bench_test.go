package build

import "testing"

// BenchmarkOf builds the contract of a program with three workflow types.
func BenchmarkOf(b *testing.B) {
	r := registry(b)
	for b.Loop() {
		if _, err := Of(r); err != nil {
			b.Fatal(err)
		}
	}
}
