// Package options merges the sets of options that a function is given.
package options

import (
	"fmt"
	"reflect"
)

// Merge returns base with each field that a later set gives. A zero field in a later set changes
// nothing. A struct that has only exported fields is merged field by field. Slices, maps and
// pointers are replaced as a whole.
func Merge[T any](base T, more ...T) T {
	for i := range more {
		merge(reflect.ValueOf(&base).Elem(), reflect.ValueOf(&more[i]).Elem(), replace)
	}
	return base
}

// Of merges the sets that a function with variadic options was given, so that nothing is lost. It
// returns the zero value if there are none.
//
//   - A list has the elements of all sets, in their order.
//   - A map has the entries of all sets. Of two entries with one key the later counts.
//   - What a pointer to a struct of exported fields points to is merged as the struct is.
//   - A function has to be in one set. Of panics if two give it.
//   - Any other field is the last that is not zero.
func Of[T any](sets []T) (o T) {
	for i := range sets {
		merge(reflect.ValueOf(&o).Elem(), reflect.ValueOf(&sets[i]).Elem(), add)
	}
	return o
}

// merge sets each field that from gives, with set for the fields that are no plain structs.
func merge(to, from reflect.Value, set func(to, from reflect.Value, name string)) {
	mergeField(to, from, to.Type().Name(), set)
}

func mergeField(to, from reflect.Value, name string, set func(to, from reflect.Value, name string)) {
	switch {
	case from.IsZero():
	case isPlain(to.Type()):
		for i := range to.NumField() {
			mergeField(to.Field(i), from.Field(i), to.Type().Field(i).Name, set)
		}
	default:
		set(to, from, name)
	}
}

func replace(to, from reflect.Value, _ string) { to.Set(from) }

// add keeps what the earlier sets gave. It changes nothing that they share with their caller.
func add(to, from reflect.Value, name string) {
	if to.IsZero() {
		to.Set(from)
		return
	}
	switch to.Kind() {
	case reflect.Func:
		panic(fmt.Sprintf("weft: two sets of options give %s: give it once", name))
	case reflect.Slice:
		all := reflect.MakeSlice(to.Type(), 0, to.Len()+from.Len())
		to.Set(reflect.AppendSlice(reflect.AppendSlice(all, to), from))
	case reflect.Map:
		all := reflect.MakeMap(to.Type())
		for _, m := range []reflect.Value{to, from} {
			for key, value := range m.Seq2() {
				all.SetMapIndex(key, value)
			}
		}
		to.Set(all)
	case reflect.Pointer:
		if isPlain(to.Type().Elem()) {
			merged := reflect.New(to.Type().Elem())
			merged.Elem().Set(to.Elem())
			merge(merged.Elem(), from.Elem(), add)
			to.Set(merged)
			return
		}
		to.Set(from)
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
