package check

import (
	"reflect"
	"sync"
)

// compiled are the Checkers of Of, by type.
var compiled sync.Map

// Of returns the Checker of a type. It compiles one at the first call with the type.
func Of(t reflect.Type) (*Checker, error) {
	if c, found := compiled.Load(t); found {
		return c.(*Checker), nil
	}
	c, err := Compile(t)
	if err != nil {
		return nil, err
	}
	first, _ := compiled.LoadOrStore(t, c)
	return first.(*Checker), nil
}

// Verify returns the error of Compile, or nil. It compiles only what may have one, so a process
// that starts can verify all of its types.
func Verify(t reflect.Type) error {
	if !suspicious(t, map[reflect.Type]bool{}) {
		return nil
	}
	_, err := Of(t)
	return err
}

// suspicious reports whether a type may be one that Compile refuses.
func suspicious(t reflect.Type, visited map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
	default:
		return false
	}
	if visited[t] {
		return t.Kind() == reflect.Pointer // perhaps one to itself
	}
	visited[t] = true
	switch t.Kind() {
	case reflect.Map:
		switch t.Key().Kind() {
		case reflect.Float32, reflect.Float64, reflect.Bool, reflect.Complex64, reflect.Complex128, reflect.Chan,
			reflect.Pointer, reflect.Interface, reflect.Array, reflect.Struct:
			return true
		}
	case reflect.Struct:
		if t == timeType {
			return false
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			if f.Tag.Get("jsonschema") != "" || suspicious(f.Type, visited) {
				return true
			}
		}
		return false
	}
	return suspicious(t.Elem(), visited)
}
