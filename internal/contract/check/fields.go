package check

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a member of the JSON of a struct.
type field struct {
	name  string
	field reflect.StructField
	index []int // in the struct, through embedded ones
	// tagged says that a tag has the name.
	tagged bool
	// omitted says that encoding/json may leave the member out.
	omitted bool
	// quoted says that the value is in a string.
	quoted bool
	// embedded says that the field is in an embedded pointer, whose fields are absent if it is nil.
	embedded bool
	// unset says that encoding/json cannot set the embedded pointer.
	unset bool
}

// embedded is a struct whose fields are members of the one that embeds it.
type embedded struct {
	t reflect.Type
	field
}

// fieldsOf returns the members of the JSON of a struct, in the order in which encoding/json writes
// them. Its rules are those of encoding/json: the shallowest field of a name wins, then the only
// one that has the name by its tag; otherwise there is none.
func fieldsOf(t reflect.Type) []field {
	var all []field
	visited := map[reflect.Type]bool{}
	count := map[reflect.Type]int{t: 1}
	for level := []embedded{{t: t}}; len(level) > 0; {
		var next []embedded
		deeper := map[reflect.Type]int{}
		for _, e := range level {
			if visited[e.t] {
				continue
			}
			visited[e.t] = true
			for i := range e.t.NumField() {
				f, inner := fieldAt(e, i)
				switch {
				case inner != nil:
					if deeper[inner]++; deeper[inner] == 1 {
						next = append(next, embedded{inner, f})
					}
				case f.name != "":
					all = append(all, f)
					if count[e.t] > 1 { // the struct is embedded twice, so its fields hide each other
						all = append(all, f)
					}
				}
			}
		}
		level, count = next, deeper
	}
	return visible(all)
}

// fieldAt returns a field of an embedded struct. inner is the struct whose fields take its place.
// The field has no name if it is no member.
func fieldAt(e embedded, i int) (f field, inner reflect.Type) {
	sf := e.t.Field(i)
	target := sf.Type
	if target.Kind() == reflect.Pointer && (sf.Anonymous || target.Name() == "") {
		target = target.Elem()
	}
	if !sf.IsExported() && (!sf.Anonymous || target.Kind() != reflect.Struct) {
		return field{}, nil
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return field{}, nil
	}
	name, rest, _ := strings.Cut(tag, ",")
	var options []string
	if rest != "" {
		options = strings.Split(rest, ",")
	}
	if !isName(name) {
		name = ""
	}
	f = field{
		name: name, field: sf, index: append(slices.Clone(e.index), i), tagged: name != "",
		omitted:  slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
		quoted:   slices.Contains(options, "string") && isScalar(target.Kind()),
		embedded: e.embedded, unset: e.unset,
	}
	if name == "" && sf.Anonymous && target.Kind() == reflect.Struct {
		if sf.Type.Kind() == reflect.Pointer {
			f.embedded = true
			f.unset = f.unset || !sf.IsExported()
		}
		return f, target
	}
	if name == "" {
		f.name = sf.Name
	}
	return f, nil
}

// visible returns the fields that are not hidden by others of the same name.
func visible(all []field) []field {
	slices.SortStableFunc(all, func(a, b field) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.index), len(b.index)), compareTagged(a, b))
	})
	var out []field
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].name == all[0].name {
			n++
		}
		if n == 1 || len(all[0].index) != len(all[1].index) || all[0].tagged != all[1].tagged {
			out = append(out, all[0])
		}
		all = all[n:]
	}
	slices.SortFunc(out, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return out
}

func compareTagged(a, b field) int {
	switch {
	case a.tagged == b.tagged:
		return 0
	case a.tagged:
		return -1
	}
	return 1
}

// isName reports whether encoding/json takes the name of a tag.
func isName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}

// isScalar reports whether the tag option "string" counts for values of a kind.
func isScalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Uintptr || k == reflect.Float32 || k == reflect.Float64 || k == reflect.String
}
