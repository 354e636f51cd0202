package archtest

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hiddenTypes returns the declarations that a program meets in a public package and that its
// documentation does not print: the fields and methods of types of internal packages, and of
// unexported types. The program meets them through an alias, an embedded field, a result or the
// like. It stops at types of other public packages, which have golden files of their own.
func hiddenTypes(t *testing.T, name string) string {
	t.Helper()
	path := module
	if name != "." {
		path += "/" + name
	}
	p, err := importer(t, token.NewFileSet()).Import(path)
	if err != nil {
		t.Fatal(err)
	}
	v := hidden{from: p, seen: map[*types.TypeName]bool{}}
	for _, o := range p.Scope().Names() {
		if token.IsExported(o) {
			v.object(p.Scope().Lookup(o))
		}
	}
	if len(v.found) == 0 {
		return ""
	}
	slices.Sort(v.found)
	return "\nTYPES THAT THE DOCUMENTATION DOES NOT PRINT\n\n" + strings.Join(v.found, "\n")
}

// hidden collects the declarations of types that the documentation of a package does not print.
type hidden struct {
	from  *types.Package
	seen  map[*types.TypeName]bool
	found []string
}

// object visits the types that an exported object mentions.
func (v *hidden) object(o types.Object) {
	name, ok := o.(*types.TypeName)
	if !ok {
		v.mentioned(o.Type())
		return
	}
	if named, ok := types.Unalias(name.Type()).(*types.Named); ok && !name.IsAlias() {
		v.seen[name] = true
		v.declared(named)
		return
	}
	v.mentioned(name.Type())
}

// declared visits the types that the declaration of a type and its methods mention.
func (v *hidden) declared(t *types.Named) {
	v.mentioned(t.Underlying())
	for m := range t.Methods() {
		if m.Exported() {
			v.mentioned(m.Type())
		}
	}
}

// mentioned visits the named types in a type, and collects those that the documentation of their
// package does not print.
func (v *hidden) mentioned(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		v.arguments(t.TypeArgs())
		v.mentioned(types.Unalias(t))
	case *types.Named:
		v.arguments(t.TypeArgs())
		t = t.Origin()
		if name := t.Obj(); isHidden(name) && !v.seen[name] {
			v.seen[name] = true
			v.found = append(v.found, v.text(t))
			v.declared(t)
		}
	case *types.Signature:
		v.mentioned(t.Params())
		v.mentioned(t.Results())
	case *types.Tuple:
		for p := range t.Variables() {
			v.mentioned(p.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				v.mentioned(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			v.mentioned(m.Type())
		}
	case *types.Map:
		v.mentioned(t.Key())
		v.mentioned(t.Elem())
	case interface{ Elem() types.Type }:
		v.mentioned(t.Elem())
	}
}

func (v *hidden) arguments(list *types.TypeList) {
	for t := range list.Types() {
		v.mentioned(t)
	}
}

// isHidden reports whether no golden file has the documentation of a type of this module.
func isHidden(name *types.TypeName) bool {
	if name.Pkg() == nil {
		return false
	}
	in, ok := ours(name.Pkg().Path())
	return ok && (!name.Exported() || slices.Contains(strings.Split(in, "/"), "internal"))
}

// text returns a type's declaration, without its unexported fields, and its exported methods.
func (v *hidden) text(t *types.Named) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type %s", v.write(t))
	switch under := t.Underlying().(type) {
	case *types.Struct:
		b.WriteString(" struct {\n")
		for i := range under.NumFields() {
			v.field(&b, under.Field(i), under.Tag(i))
		}
		b.WriteString("}\n")
	case *types.Interface:
		b.WriteString(" interface {\n")
		for m := range under.Methods() {
			if m.Exported() {
				fmt.Fprintf(&b, "\t%s%s\n", m.Name(), v.signature(m))
			}
		}
		b.WriteString("}\n")
	default:
		fmt.Fprintf(&b, " %s\n", v.write(under))
	}
	var methods []string
	for m := range t.Methods() {
		if m.Exported() {
			receiver := m.Signature().Recv().Type()
			methods = append(methods, fmt.Sprintf("func (%s) %s%s\n", v.write(receiver), m.Name(), v.signature(m)))
		}
	}
	slices.Sort(methods)
	return b.String() + strings.Join(methods, "")
}

// field writes a field that a program can use: an exported or an embedded one.
func (v *hidden) field(b *strings.Builder, f *types.Var, tag string) {
	switch {
	case f.Embedded():
		fmt.Fprintf(b, "\t%s", v.write(f.Type()))
	case f.Exported():
		fmt.Fprintf(b, "\t%s %s", f.Name(), v.write(f.Type()))
	default:
		return
	}
	if tag != "" {
		fmt.Fprintf(b, " `%s`", tag)
	}
	b.WriteString("\n")
}

// signature returns the parameters and the results of a method.
func (v *hidden) signature(m *types.Func) string {
	return strings.TrimPrefix(v.write(m.Type()), "func")
}

// The compiler gives some results names, as in func() (#rv1 error).
var (
	oneNamed  = regexp.MustCompile(`\(#rv\d+ ([^,()]+)\)`)
	manyNamed = regexp.MustCompile(`#rv\d+ `)
)

// write returns the text of a type. A type of this module has its package's path in the module, and
// one of the documented package has none.
func (v *hidden) write(t types.Type) string {
	text := types.TypeString(t, func(p *types.Package) string {
		if p == v.from {
			return ""
		}
		if in, ok := ours(p.Path()); ok {
			return in
		}
		return p.Path()
	})
	return manyNamed.ReplaceAllString(oneNamed.ReplaceAllString(text, "$1"), "")
}
