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
		merge(reflect.ValueOf(&base).Elem(), reflect.ValueOf(&more[i]).Elem(), "", replace)
	}
	return base
}

// Of merges the sets that a function with variadic options was given, so that nothing is lost. It
// returns the zero value if there are none.
//
//   - A list has the elements of all sets, in their order. Bytes are no list.
//   - A map has the entries of all sets. Of two entries with one key the later counts.
//   - What a pointer to a policy points to is merged field by field. A policy is a struct of
//     exported numbers, strings and lists, such as a retry policy. An HTTP client and a request are
//     none.
//   - A function has to be in one set. Of panics if two give it.
//   - Any other field is the last that is not zero.
func Of[T any](sets []T) (o T) {
	for i := range sets {
		merge(reflect.ValueOf(&o).Elem(), reflect.ValueOf(&sets[i]).Elem(), "", add)
	}
	return o
}

// merge sets each field that from gives. set sets a field that is not a plain struct; name is the
// field's.
func merge(to, from reflect.Value, name string, set func(to, from reflect.Value, name string)) {
	switch {
	case from.IsZero():
	case isPlain(to.Type()):
		for i := range to.NumField() {
			merge(to.Field(i), from.Field(i), to.Type().Field(i).Name, set)
		}
	default:
		set(to, from, name)
	}
}

func replace(to, from reflect.Value, _ string) { to.Set(from) }

// add keeps what the earlier sets gave. It changes nothing that they share with their caller.
func add(to, from reflect.Value, name string) {
	was := reflect.ValueOf(to.Interface())
	to.Set(from)
	if !was.IsValid() || was.IsZero() {
		return
	}
	switch kind := to.Kind(); {
	case kind == reflect.Func:
		panic(fmt.Sprintf("weft: two sets of options give %s: give it once", name))
	case isList(to.Type()):
		to.Set(reflect.AppendSlice(was.Slice3(0, was.Len(), was.Len()), from))
	case kind == reflect.Map:
		to.Set(reflect.MakeMap(to.Type()))
		for _, m := range []reflect.Value{was, from} {
			for key, value := range m.Seq2() {
				to.SetMapIndex(key, value)
			}
		}
	case kind == reflect.Pointer && isPolicy(to.Type().Elem()):
		to.Set(reflect.New(to.Type().Elem()))
		to.Elem().Set(was.Elem())
		merge(to.Elem(), from.Elem(), name, add)
	}
}

// isList reports whether a type is a slice of anything but bytes.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
}

// isPolicy reports whether a type is a struct of exported fields that are numbers, strings or
// lists.
func isPolicy(t reflect.Type) bool {
	if !isPlain(t) {
		return false
	}
	for f := range t.Fields() {
		if kind := f.Type.Kind(); kind > reflect.Complex128 && kind != reflect.String && !isList(f.Type) {
			return false
		}
	}
	return true
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
