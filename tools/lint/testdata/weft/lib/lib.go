// Package lib has what another package must be told about, and unused code.
package lib

import "fmt"

// Logf is like fmt.Printf.
func Logf(format string, args ...any) { fmt.Printf(format, args...) }

// Twice returns the double.
func Twice(n int) int { return n + n }

// Old is like Twice.
//
// Deprecated: use Twice.
func Old(n int) int { return n + n }

func unused() {}

func tested() {}
