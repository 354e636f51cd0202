//go:build !race

package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// switchedOn is the environment variable that switches one mutant of a build on, by its number.
const switchedOn = "WEFT_SIM_MUTANT"

// switchFile is the file that each package with mutants gets: it holds the number of the mutant
// that is on.
const switchFile = "mutant_switch.go"

// A switched source has several mutants in it, of which one may be switched on at run time. So one
// build plays them all. Each function that a mutant changes exists once more, broken, and the whole
// one begins with a call of it:
//
//	func (r *Run) close() error {
//		if mutantSwitch == "7" {
//			return r.close__7()
//		}
//		...
//	}
type switched struct {
	source   string
	file     *ast.File
	set      *token.FileSet
	inserted []insertion
	added    bytes.Buffer
}

type insertion struct {
	at   int // in bytes, in the source
	text string
}

func newSwitched(source string) (*switched, error) {
	s := &switched{source: source, set: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.set, "", source, parser.SkipObjectResolution)
	return s, err
}

// add adds a mutant with a number of its own. It returns false, and adds nothing, if the mutant
// changes more than the bodies of functions: it needs a build of its own.
func (s *switched) add(number, broken string) (bool, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", broken, parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	if len(file.Decls) != len(s.file.Decls) {
		return false, nil
	}
	var changed [][2]*ast.FuncDecl
	for i, whole := range s.file.Decls {
		if textOf(s.set, s.source, whole) == textOf(set, broken, file.Decls[i]) {
			continue
		}
		a, okA := whole.(*ast.FuncDecl)
		b, okB := file.Decls[i].(*ast.FuncDecl)
		if !okA || !okB || !s.canSwitch(a) || s.signature(a) != broken[set.Position(b.Type.Pos()).Offset:set.Position(b.Body.Pos()).Offset] {
			return false, nil
		}
		changed = append(changed, [2]*ast.FuncDecl{a, b})
	}
	if len(changed) == 0 {
		return false, fmt.Errorf("the broken source has the functions of the whole one")
	}
	for _, c := range changed {
		name := c[0].Name.Name + "__" + number
		s.inserted = append(s.inserted, insertion{s.set.Position(c[0].Body.Lbrace).Offset + 1, s.call(c[0], number, name)})
		start, end := set.Position(c[1].Pos()).Offset, set.Position(c[1].End()).Offset
		at := set.Position(c[1].Name.Pos()).Offset
		fmt.Fprintf(&s.added, "\n%s%s%s\n", broken[start:at], name, broken[at+len(c[1].Name.Name):end])
	}
	return true, nil
}

// textOf returns the text of a declaration without its comment.
func textOf(set *token.FileSet, source string, d ast.Decl) string {
	return source[set.Position(d.Pos()).Offset:set.Position(d.End()).Offset]
}

func (s *switched) signature(f *ast.FuncDecl) string {
	return s.source[s.set.Position(f.Type.Pos()).Offset:s.set.Position(f.Body.Pos()).Offset]
}

// canSwitch reports whether a function can hand a call on: all that it takes has a name.
func (s *switched) canSwitch(f *ast.FuncDecl) bool {
	if f.Recv == nil && (f.Name.Name == "init" || f.Name.Name == "main") {
		return false
	}
	lists := []*ast.FieldList{f.Type.Params}
	if f.Recv != nil {
		lists = append(lists, f.Recv)
	}
	for _, l := range lists {
		for _, field := range l.List {
			if len(field.Names) == 0 || slices.ContainsFunc(field.Names, func(n *ast.Ident) bool { return n.Name == "_" }) {
				return false
			}
		}
	}
	return true
}

// call returns the statement that hands a call on to the broken function.
func (s *switched) call(f *ast.FuncDecl, number, name string) string {
	var args []string
	for _, field := range f.Type.Params.List {
		for _, n := range field.Names {
			arg := n.Name
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	if f.Recv != nil {
		name = f.Recv.List[0].Names[0].Name + "." + name
	} else if f.Type.TypeParams != nil {
		var types []string
		for _, field := range f.Type.TypeParams.List {
			for _, n := range field.Names {
				types = append(types, n.Name)
			}
		}
		name += "[" + strings.Join(types, ", ") + "]"
	}
	call := name + "(" + strings.Join(args, ", ") + ")"
	if f.Type.Results == nil {
		return fmt.Sprintf("\nif mutantSwitch == %q {\n%s\nreturn\n}\n", number, call)
	}
	return fmt.Sprintf("\nif mutantSwitch == %q {\nreturn %s\n}\n", number, call)
}

// text returns the source with all mutants that were added.
func (s *switched) text() string {
	slices.SortStableFunc(s.inserted, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var out strings.Builder
	last := 0
	for _, i := range s.inserted {
		out.WriteString(s.source[last:i.at])
		out.WriteString(i.text)
		last = i.at
	}
	out.WriteString(s.source[last:])
	out.Write(s.added.Bytes())
	return out.String()
}

// switches returns the files that replace those of the module in a build with switched sources, by
// their paths from its root.
func switches(sources map[string]*switched) map[string]string {
	texts := map[string]string{}
	for file, s := range sources {
		texts[file] = s.text()
		texts[path.Join(path.Dir(file), switchFile)] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar mutantSwitch = os.Getenv(%q)\n", s.file.Name.Name, switchedOn)
	}
	return texts
}
