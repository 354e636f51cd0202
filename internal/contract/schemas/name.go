package schemas

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"
)

// names returns the names of the definitions, in their order. A definition has the name of its
// type. If another type has that name, it has the package too, and a number if that is not enough.
func (s *Set) names() []string {
	names := make([]string, len(s.defs))
	taken := map[string]bool{}
	for _, choose := range []func(reflect.Type) string{short, withPackage, withPath} {
		types := map[string]map[reflect.Type]bool{} // by the name that they would get
		for i, d := range s.defs {
			if names[i] != "" {
				continue
			}
			name := choose(d.t)
			if types[name] == nil {
				types[name] = map[reflect.Type]bool{}
			}
			types[name][d.t] = true
		}
		var chosen []string
		for i, d := range s.defs {
			if name := choose(d.t); names[i] == "" && len(types[name]) == 1 && !taken[name] {
				names[i] = name
				chosen = append(chosen, name)
			}
		}
		for _, name := range chosen {
			taken[name] = true
		}
	}
	numbers, last := map[reflect.Type]string{}, map[string]int{}
	for i, d := range s.defs {
		if names[i] != "" {
			continue
		}
		if numbers[d.t] == "" { // types of one name in functions of one package
			name := withPath(d.t)
			for numbers[d.t] == "" || taken[numbers[d.t]] {
				last[name]++
				numbers[d.t] = fmt.Sprintf("%s_%d", name, last[name])
			}
			taken[numbers[d.t]] = true
		}
		names[i] = numbers[d.t]
	}
	s.addSuffixes(names)
	return names
}

// addSuffixes tells the definitions of one type from each other.
func (s *Set) addSuffixes(names []string) {
	strict := map[reflect.Type]bool{}
	for _, d := range s.defs {
		strict[d.t] = strict[d.t] || !d.lenient && d.inner == ""
	}
	taken := map[string]bool{}
	for i, d := range s.defs {
		name := names[i]
		switch {
		case d.inner != "":
			name += "_" + safe(d.inner)
		case d.lenient && strict[d.t]:
			name += "_lenient"
		}
		for base, n := name, 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		taken[name] = true
		names[i] = name
	}
}

var (
	argument = regexp.MustCompile(`([^\[\],\s*]*/)?([^\[\],\s*/]*)\.`) // the package of a type argument
	local    = regexp.MustCompile(`·\d+`)                              // the number of a type in a function
	unsafe   = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)                  // what a name in $defs has not
)

func safe(name string) string { return strings.Trim(unsafe.ReplaceAllString(name, "_"), "_") }

// named returns the name of a type with its type arguments. args replaces their packages.
func named(t reflect.Type, args string) string {
	name := local.ReplaceAllString(t.Name(), "")
	if base, rest, generic := strings.Cut(name, "["); generic {
		name = base + "_" + argument.ReplaceAllString(rest, args)
	}
	if name = safe(name); name == "" {
		return "Type"
	}
	return name
}

// short returns the name of a type: Box_Item for Box[cart.Item].
func short(t reflect.Type) string { return named(t, "") }

// withPackage returns the name with the names of packages: shop_Box_cart_Item.
func withPackage(t reflect.Type) string {
	return safe(path.Base(t.PkgPath())) + "_" + named(t, "${2}_")
}

func withPath(t reflect.Type) string { return safe(t.PkgPath()) + "_" + named(t, "${1}${2}_") }
