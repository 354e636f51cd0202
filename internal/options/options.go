// Package options merges the sets of options that a function is given.
package options

import "reflect"

// Merge returns base with each field that a later set gives. A zero field in a later set changes
// nothing. A struct that has only exported fields is merged field by field. Slices, maps and
// pointers are replaced as a whole.
func Merge[T any](base T, more ...T) T {
	for i := range more {
		merge(reflect.ValueOf(&base).Elem(), reflect.ValueOf(&more[i]).Elem())
	}
	return base
}

// Of merges the sets that a function with variadic options was given. It returns the zero value if
// there are none.
func Of[T any](sets []T) (o T) {
	if len(sets) == 0 {
		return o
	}
	return Merge(sets[0], sets[1:]...)
}

func merge(to, from reflect.Value) {
	switch {
	case from.IsZero():
	case isPlain(to.Type()):
		for i := range to.NumField() {
			merge(to.Field(i), from.Field(i))
		}
	default:
		to.Set(from)
	}
}

// isPlain reports whether a type is a struct that has only exported fields.
func isPlain(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if !f.IsExported() {
			return false
		}
	}
	return true
}
