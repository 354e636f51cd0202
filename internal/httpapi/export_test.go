package httpapi

import (
	"maps"
	"slices"
)

// Patterns are the patterns of the API's endpoints.
func Patterns() []string { return slices.Sorted(maps.Keys((&handler{}).endpoints())) }
