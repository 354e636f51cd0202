package httpapi

import (
	"maps"
	"slices"
)

// ParametersOf is what the query string of an endpoint may have.
func ParametersOf(pattern string) []string { return parametersOf(pattern) }

// Patterns are the patterns of the API's endpoints.
func Patterns() []string { return slices.Sorted(maps.Keys((&handler{}).endpoints())) }
