package history

import (
	"encoding/json"
	"reflect"
	"sync/atomic"

	"github.com/seed-41655fb1/weft/internal/jsontext"
)

// plan says how to read a struct from JSON: its members by their names.
type plan map[string]member

// member says how to read one field of a struct.
type member struct {
	index int
	read  func(*jsontext.Reader, reflect.Value)
}

// plans are those of the attributes of events, by type, built when they are first needed.
var plans [1 << 8]atomic.Pointer[plan]

// ReadAttributes is AttributesFromJSON for the next value of a Reader. The Reader gives up on what
// AttributesFromJSON might refuse.
func ReadAttributes(r *jsontext.Reader, t Type) Attributes {
	a := newAttributes(t)
	if a == nil {
		r.Fail()
		return nil
	}
	v := reflect.ValueOf(a).Elem()
	p := plans[t].Load()
	if p == nil {
		made := planOf(v.Type())
		p = &made
		plans[t].Store(p)
	}
	p.read(r, v)
	return a
}

// read reads a struct. It gives up on unknown names, and on those that occur twice.
func (p plan) read(r *jsontext.Reader, v reflect.Value) {
	seen := uint64(0)
	r.Object(func(name []byte) {
		m, ok := p[string(name)]
		if !ok || seen&(1<<m.index) != 0 {
			r.Fail()
			return
		}
		seen |= 1 << m.index
		m.read(r, v.Field(m.index))
	})
}

func planOf(t reflect.Type) plan {
	p := plan{}
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "-" {
			p[name] = member{i, readerOf(t.Field(i).Type)}
		}
	}
	return p
}

// readerOf returns a function that reads a value of a type as encoding/json does. It uses
// encoding/json for unusual kinds.
func readerOf(t reflect.Type) func(*jsontext.Reader, reflect.Value) {
	switch reflect.New(t).Interface().(type) {
	case *Payload:
		return readPayload
	case textUnmarshaler:
		return readText
	case json.Unmarshaler:
		return readOther
	}
	switch t.Kind() {
	case reflect.String:
		return func(r *jsontext.Reader, v reflect.Value) { v.SetString(r.String()) }
	case reflect.Bool:
		return func(r *jsontext.Reader, v reflect.Value) { v.SetBool(r.Bool()) }
	case reflect.Float64:
		return func(r *jsontext.Reader, v reflect.Value) { v.SetFloat(r.Float()) }
	case reflect.Int, reflect.Int64:
		return readInt
	case reflect.Uint8:
		return readUint
	case reflect.Struct:
		return planOf(t).read
	}
	return readOther
}

func readInt(r *jsontext.Reader, v reflect.Value) {
	n := r.Int()
	if v.OverflowInt(n) {
		r.Fail()
	}
	v.SetInt(n)
}

func readUint(r *jsontext.Reader, v reflect.Value) {
	n := r.Uint()
	if v.OverflowUint(n) {
		r.Fail()
		return
	}
	v.SetUint(n)
}

// textUnmarshaler is that of package encoding.
type textUnmarshaler interface{ UnmarshalText(text []byte) error }

func readText(r *jsontext.Reader, v reflect.Value) {
	to, _ := v.Addr().Interface().(textUnmarshaler)
	if text := r.Text(); r.OK() && to.UnmarshalText(text) != nil {
		r.Fail()
	}
}

func readOther(r *jsontext.Reader, v reflect.Value) {
	if text := r.Value(); r.OK() && json.Unmarshal(text, v.Addr().Interface()) != nil {
		r.Fail()
	}
}

func readPayload(r *jsontext.Reader, v reflect.Value) {
	if text := r.Value(); r.OK() {
		v.SetBytes(payloadFromJSON(text))
	}
}
