package docs

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/internal/where"
)

// sources are the packages that have been read.
type sources struct {
	modules  modules
	packages map[string]*source // by folder
	// main is the folder of package main, if a declaration is in it.
	main  string
	found bool
}

// source is the files of a folder.
type source struct {
	fset  *token.FileSet
	files map[string]*ast.File // by name
}

func newSources() *sources {
	return &sources{modules: findModules(), packages: map[string]*source{}}
}

// read returns the files of a folder, or nil if there are none. A file that does not parse has what
// could be read.
func (s *sources) read(folder string) *source {
	if known, ok := s.packages[folder]; ok {
		return known
	}
	s.packages[folder] = nil
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	p := &source{token.NewFileSet(), map[string]*ast.File{}}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".go" {
			continue
		}
		file, _ := parser.ParseFile(p.fset, filepath.Join(folder, e.Name()), nil, parser.ParseComments|parser.SkipObjectResolution)
		if file != nil {
			p.files[e.Name()] = file
		}
	}
	if len(p.files) == 0 {
		return nil
	}
	s.packages[folder], s.found = p, true
	return p
}

// declaration returns the comment of the variable that is declared at a place, as package where has
// it, or "".
func (s *sources) declaration(place string) string {
	_, number, ok := strings.Cut(path.Base(place), ":")
	line, err := strconv.Atoi(number)
	if !ok || err != nil {
		return ""
	}
	for _, file := range where.Files(place) {
		at := s.modules.file(file)
		if at == "" {
			continue
		}
		p := s.read(filepath.Dir(at))
		if p == nil || p.files[filepath.Base(at)] == nil {
			continue
		}
		f := p.files[filepath.Base(at)]
		if f.Name.Name == "main" {
			s.main = filepath.Dir(at)
		}
		if text := commentAt(p.fset, f, line); text != "" {
			return text
		}
	}
	return ""
}

// commentAt returns the comment of the package-level variable whose value begins or ends at a line,
// or stands around it.
func commentAt(fset *token.FileSet, f *ast.File, line int) string {
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for _, s := range decl.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if ok && fset.Position(spec.Pos()).Line <= line && line <= fset.Position(spec.End()).Line {
				return text(spec.Doc, ofOnly(decl), spec.Comment)
			}
		}
	}
	return ""
}

// ofOnly returns the comment of a declaration that declares one thing: that of several says what
// they have in common.
func ofOnly(decl *ast.GenDecl) *ast.CommentGroup {
	if len(decl.Specs) > 1 {
		return nil
	}
	return decl.Doc
}

// text returns the first comment that says something. Its paragraphs are lines.
func text(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g == nil {
			continue
		}
		var p comment.Parser
		printer := comment.Printer{TextWidth: -1}
		if text := strings.TrimSpace(string(printer.Text(p.Parse(g.Text())))); text != "" {
			return text
		}
	}
	return ""
}

// typeComment returns the comment of a named type, or "".
func (s *sources) typeComment(t reflect.Type) string {
	decl, spec := s.typeSpec(t)
	if spec == nil {
		return ""
	}
	return text(spec.Doc, ofOnly(decl), spec.Comment)
}

// fieldComment returns the comment of a field of a named type, or "".
func (s *sources) fieldComment(t reflect.Type, name string) string {
	_, spec := s.typeSpec(t)
	if spec == nil {
		return ""
	}
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return ""
	}
	for _, f := range fields.Fields.List {
		if slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == name }) {
			return text(f.Doc, f.Comment)
		}
	}
	return ""
}

// typeSpec returns the declaration of a named type, or nil.
func (s *sources) typeSpec(t reflect.Type) (*ast.GenDecl, *ast.TypeSpec) {
	name, _, _ := strings.Cut(t.Name(), "[") // of a generic type
	if name == "" || t.PkgPath() == "" {
		return nil, nil
	}
	folder := s.main
	if t.PkgPath() != "main" {
		folder = s.modules.folder(strings.TrimSuffix(t.PkgPath(), "_test"))
	}
	if folder == "" {
		return nil, nil
	}
	p := s.read(folder)
	if p == nil {
		return nil, nil
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, one := range decl.Specs {
				if spec, ok := one.(*ast.TypeSpec); ok && spec.Name.Name == name {
					return decl, spec
				}
			}
		}
	}
	return nil, nil
}

// field is a field of a struct, or of one that it embeds.
type field struct {
	owner reflect.Type
	name  string
}

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]field {
	all := map[string]field{}
	depth := map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || f.Anonymous && tag == "" || !f.IsExported() {
			continue
		}
		name := tag
		if name == "" {
			name = f.Name
		}
		if before, ok := depth[name]; ok && before <= len(f.Index) {
			continue
		}
		owner := t
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
			if owner.Kind() == reflect.Pointer {
				owner = owner.Elem()
			}
		}
		all[name], depth[name] = field{owner, f.Name}, len(f.Index)
	}
	return all
}
