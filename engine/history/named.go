package history

import (
	"maps"
	"slices"
	"strings"
)

// Named is a value with a name.
type Named[V any] struct {
	Name  string `cbor:"1,keyasint"`
	Value V      `cbor:"2,keyasint"`
}

// sorted returns values by their names as a list, sorted by name.
func sorted[V any](members map[string]V) (all []Named[V]) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		all = append(all, Named[V]{name, members[name]})
	}
	return all
}

// get returns the value of a name among values that are sorted by name.
func get[V any](all []Named[V], name string) (v V, found bool) {
	if i, ok := find(all, name); ok {
		return all[i].Value, true
	}
	return v, false
}

// with returns a copy of values that are sorted by name, with another one, which replaces the one
// of its name.
func with[V any](all []Named[V], name string, value V) []Named[V] {
	i, found := find(all, name)
	if found {
		all = slices.Clone(all)
		all[i].Value = value
		return all
	}
	return slices.Insert(slices.Clone(all), i, Named[V]{name, value})
}

// without returns a copy of values that are sorted by name, without one.
func without[V any](all []Named[V], name string) []Named[V] {
	i, found := find(all, name)
	if !found {
		return all
	}
	return slices.Delete(slices.Clone(all), i, i+1)
}

func find[V any](all []Named[V], name string) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(n Named[V], name string) int { return strings.Compare(n.Name, name) })
}
