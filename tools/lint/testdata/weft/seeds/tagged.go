//go:build aws

package seeds

import "strings"

func tagged() { _ = "unused" }

// Pure calls a function of the standard library for nothing.
func Pure() { strings.ToUpper("one") }
