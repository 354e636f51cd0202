//go:build mutants && !race

package sim

import (
	"cmp"
	"errors"
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

// switched is a source file with several mutants in it, of which one may be switched on at run
// time: one build plays them all. Each function that a mutant changes exists once more, broken, and
// the whole one begins with a call of it:
//
//	func (r *Run) close() error {
//		if mutantSwitch == "7" {
//			return r.close__7()
//		}
//		...
//	}
type switched struct {
	parsed
	inserted []insertion
	added    strings.Builder
}

type insertion struct {
	at   int // in bytes, in the source
	text string
}

// parsed is a source file and its syntax.
type parsed struct {
	source string
	file   *ast.File
	set    *token.FileSet
}

func parse(source string) (p parsed, err error) {
	p = parsed{source: source, set: token.NewFileSet()}
	p.file, err = parser.ParseFile(p.set, "", source, parser.SkipObjectResolution)
	return p, err
}

// offset returns a position in bytes.
func (p *parsed) offset(at token.Pos) int { return p.set.Position(at).Offset }

// text returns the source between two positions.
func (p *parsed) text(from, to token.Pos) string { return p.source[p.offset(from):p.offset(to)] }

// add adds a mutant with a number of its own. It returns false, and adds nothing, if the mutant
// changes more than the bodies of functions: it needs a build of its own.
func (s *switched) add(number, broken string) (bool, error) {
	b, err := parse(broken)
	if err != nil || len(b.file.Decls) != len(s.file.Decls) {
		return false, err
	}
	var changed [][2]*ast.FuncDecl
	for i, d := range s.file.Decls {
		other := b.file.Decls[i]
		if s.text(d.Pos(), d.End()) == b.text(other.Pos(), other.End()) {
			continue
		}
		whole, isFunc := d.(*ast.FuncDecl)
		mutant, isFuncToo := other.(*ast.FuncDecl)
		if !isFunc || !isFuncToo || !canSwitch(whole) || s.text(whole.Pos(), whole.Body.Pos()) != b.text(mutant.Pos(), mutant.Body.Pos()) {
			return false, nil
		}
		changed = append(changed, [2]*ast.FuncDecl{whole, mutant})
	}
	if len(changed) == 0 {
		return false, errors.New("the broken source has the functions of the whole one")
	}
	for _, c := range changed {
		whole, mutant := c[0], c[1]
		name := whole.Name.Name + "__" + number
		s.inserted = append(s.inserted, insertion{s.offset(whole.Body.Lbrace) + 1, call(whole, number, name)})
		fmt.Fprintf(&s.added, "\n%s%s%s\n", b.text(mutant.Pos(), mutant.Name.Pos()), name, b.text(mutant.Name.End(), mutant.End()))
	}
	return true, nil
}

// canSwitch reports whether a function can pass its call on: its receiver and all parameters have
// names.
func canSwitch(f *ast.FuncDecl) bool {
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

// call returns the statement that passes a call on to the broken function.
func call(f *ast.FuncDecl, number, name string) string {
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

// render returns the source with all mutants that were added.
func (s *switched) render() string {
	slices.SortStableFunc(s.inserted, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var out strings.Builder
	last := 0
	for _, i := range s.inserted {
		out.WriteString(s.source[last:i.at])
		out.WriteString(i.text)
		last = i.at
	}
	out.WriteString(s.source[last:])
	out.WriteString(s.added.String())
	return out.String()
}

// switches returns the files that replace those of the module in a build with switched sources, by
// their paths from its root.
func switches(sources map[string]*switched) map[string]string {
	texts := map[string]string{}
	for file, s := range sources {
		texts[file] = s.render()
		texts[path.Join(path.Dir(file), switchFile)] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar mutantSwitch = os.Getenv(%q)\n", s.file.Name.Name, switchedOn)
	}
	return texts
}
