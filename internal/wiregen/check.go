package main

import (
	"go/types"
	"slices"
)

// ownForms are the methods with which a type defines its own stored form. The library calls them,
// but a codec does not.
var ownForms = []string{"MarshalCBOR", "UnmarshalCBOR", "MarshalBinary", "UnmarshalBinary"}

// check refuses a type if its codec would compile and do something else than the library. It does
// not look into the fields of structs.
func (g *generator) check(t types.Type) {
	t = types.Unalias(t)
	home, name := g.home(t)
	byHand := slices.Contains(home.byHand, name)
	methods := types.NewMethodSet(types.NewPointer(t))
	for _, own := range ownForms {
		if !byHand && methods.Lookup(nil, own) != nil {
			g.fail("%s: the library calls the method %s of %s, a codec does not: remove the method, or write the codec by hand", g.place, own, g.typeName(t))
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		if g.external(t) && !byHand && !slices.Contains(home.exported, name) {
			g.fail("%s: the codec of %s is not exported: list it in the target of its package", g.place, g.typeName(t))
		}
	case *types.Slice:
		if isList(t) && isList(pointee(u.Elem())) {
			g.fail("%s: no codec for a list of lists (%s): put the inner list into a struct", g.place, g.typeName(t))
			return
		}
		g.check(u.Elem())
	case *types.Pointer:
		if to, name := g.home(u.Elem()); slices.Contains(to.byHand, name) {
			g.fail("%s: the codec of %s, which is written by hand, has no nil: add omitempty, or store the value", g.place, g.typeName(u.Elem()))
		}
		g.check(u.Elem())
	}
}

// home returns the target of the package that declares a type, and the type's name in it. Both are
// zero if there is no target.
func (g *generator) home(t types.Type) (target, string) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return target{}, ""
	}
	if n.Obj().Pkg() == g.pkg {
		return g.target, n.Obj().Name()
	}
	for _, other := range targets {
		if n.Obj().Pkg().Path() == module+other.dir {
			return other, n.Obj().Name()
		}
	}
	return target{}, ""
}

// external reports whether another package declares a type.
func (g *generator) external(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != g.pkg
}

// isList reports whether values of a type are stored as arrays.
func isList(t types.Type) bool {
	u, ok := t.Underlying().(*types.Slice)
	return ok && !isByte(u.Elem())
}

// pointee returns what a pointer, or a pointer to pointers, points to. It returns any other type as
// it is.
func pointee(t types.Type) types.Type {
	for {
		u, ok := t.Underlying().(*types.Pointer)
		if !ok {
			return t
		}
		t = u.Elem()
	}
}
