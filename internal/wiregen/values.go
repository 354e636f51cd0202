package main

import (
	"go/types"
	"slices"
	"strings"
)

// scalar is how values of a basic kind are written and read.
type scalar struct {
	method string // of the writer
	basic  string // the type of its argument
	read   string // the call of the reader
	zero   string // the condition that it is empty, to append to its name
}

func (g *generator) scalarOf(u *types.Basic) scalar {
	limits := map[types.BasicKind]string{types.Uint8: "1<<8 - 1", types.Uint32: "1<<32 - 1", types.Uint64: "1<<64 - 1"}
	switch k := u.Kind(); k {
	case types.String:
		return scalar{"Text", "string", "Text()", ` == ""`}
	case types.Bool:
		return scalar{"Bool", "bool", "Bool()", ""}
	case types.Float64:
		return scalar{"Float", "float64", "Float()", " == 0"}
	case types.Int:
		return scalar{"Int", "int", "Int()", " == 0"}
	case types.Int64:
		return scalar{"Int64", "int64", "Int64()", " == 0"}
	case types.Uint8, types.Uint32, types.Uint64:
		return scalar{"Uint", "uint64", "Uint(" + limits[k] + ")", " == 0"}
	}
	g.refuse(u)
	return scalar{}
}

// isByte reports whether a type is byte.
func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// empty returns the condition under which a value is left out.
func (g *generator) empty(t types.Type, v string) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.Bool {
			return "!" + v
		}
		return v + g.scalarOf(u).zero
	case *types.Slice:
		return "len(" + v + ") == 0"
	case *types.Pointer:
		return v + " == nil"
	case *types.Struct:
		fields := g.fieldsOf(t)
		conditions := make([]string, len(fields))
		for i, f := range fields {
			if conditions[i] = g.empty(f.typ, v+"."+f.name); !f.omitEmpty {
				return "false"
			}
		}
		return strings.Join(conditions, " && ")
	}
	g.refuse(t)
	return "false"
}

// write writes the statement that writes a value.
func (g *generator) write(t types.Type, v string) {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		s := g.scalarOf(u)
		if g.typeName(t) != s.basic {
			v = s.basic + "(" + v + ")"
		}
		g.printf("w.%s(%s)", s.method, v)
	case *types.Array:
		g.printf("w.Bytes(%s[:])", v)
	case *types.Slice:
		if isByte(u.Elem()) {
			g.printf("w.Bytes(%s)", v)
			return
		}
		g.printf("if %s == nil {\nw.Null()\n} else {\nw.Array(len(%s))\n}\nfor i := range %s {", v, v, v)
		g.write(u.Elem(), v+"[i]")
		g.printf("}")
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Struct); ok {
			g.writeStruct(u.Elem(), v, v)
			return
		}
		g.printf("if %s == nil {\nw.Null()\n} else {", v)
		g.write(u.Elem(), "*"+v)
		g.printf("}")
	case *types.Struct:
		g.writeStruct(t, v, "&"+v)
	default:
		g.refuse(t)
	}
}

func (g *generator) writeStruct(t types.Type, v, pointer string) {
	if g.external(t) {
		g.printf("%s.EncodeTo(w)", v)
		return
	}
	g.printf("write%s(w, %s)", g.structName(t), pointer)
}

// read writes the statement that reads a value into v.
func (g *generator) read(t types.Type, v string) {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		s := g.scalarOf(u)
		g.printf("%s = %s", v, g.convert(t, s.basic, "r."+s.read))
	case *types.Array:
		if u.Len() != 16 || !isByte(u.Elem()) {
			g.refuse(t)
		}
		g.printf("%s = r.Array16()", v)
	case *types.Slice:
		if isByte(u.Elem()) {
			g.printf("%s = r.Bytes()", v)
			return
		}
		g.printf("if n, null := r.Array(%d); !null {\n%s = make(%s, n)\nfor i := range %s {", g.least(u.Elem()), v, g.typeName(t), v)
		g.read(u.Elem(), v+"[i]")
		g.printf("}\n}")
	case *types.Pointer:
		g.printf("if !r.Null() {\n%s = new(%s)", v, g.typeName(u.Elem()))
		if _, ok := u.Elem().Underlying().(*types.Struct); ok {
			g.readStruct(u.Elem(), v, v)
		} else {
			g.read(u.Elem(), "*"+v)
		}
		g.printf("}")
	case *types.Struct:
		g.readStruct(t, v, "&"+v)
	default:
		g.refuse(t)
	}
}

func (g *generator) readStruct(t types.Type, v, pointer string) {
	if g.external(t) {
		g.printf("%s.DecodeFrom(r)", v)
		return
	}
	g.printf("read%s(r, %s)", g.structName(t), pointer)
}

// least returns how many bytes a value has at least, besides those of the items of arrays in it.
func (g *generator) least(t types.Type) int {
	home, name := g.home(t)
	if _, ok := t.Underlying().(*types.Struct); !ok || g.external(t) || slices.Contains(home.byHand, name) {
		return 1
	}
	n := 1
	for _, f := range g.fieldsOf(t) {
		if !f.omitEmpty {
			n += 1 + g.least(f.typ) // its key, and its value
		}
	}
	return n
}
