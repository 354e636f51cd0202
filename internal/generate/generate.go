// Package generate writes typed clients from a program's contract. One model has the names and the
// types of a client; each language has a template over it, and says how it writes a name, a type, a
// text and a comment.
//
// testdata has contracts with the reviewed files that are generated from them. After a change:
//
//	go test ./internal/generate -rewrite    # then read the difference
//	go test ./internal/generate/... && make test-ts test-python
//
// What a contract says is untrusted text. No name, text or comment of it leaves its place in the
// generated code.
package generate

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// Options say what is generated. The zero value is the default.
type Options struct {
	// Types are the workflow types to generate classes for; none means all.
	Types []string
	// Package is the name of the package, in Go; the default is "client".
	Package string
	// Sync writes blocking methods instead of async ones, in Python.
	Sync bool
}

// language is how a language writes what the model has.
type language struct {
	name     string
	template string
	// method returns the name of a method or a field for a name of the contract.
	method func(name string) string
	// topLevel and members are names that the contract cannot take: of the generated file, and of a
	// class in it.
	topLevel, members []string
	// errorName returns the name of an error.
	errorName func(name string) string
	// durations says that the language has a type for them: others have nanoseconds, and say so.
	durations bool
	// startTypes says that the language writes the attributes and the memo of a start as an object.
	startTypes bool
	functions  func(m *model) template.FuncMap
	// finish changes the text that the template has written; nil changes nothing.
	finish func(text []byte, o Options) ([]byte, error)
}

var languages = []*language{&typescript, &python, &golang}

// Languages returns the names of the languages.
func Languages() (names []string) {
	for _, l := range languages {
		names = append(names, l.name)
	}
	return names
}

//go:embed templates
var templates embed.FS

// Client returns the source of a client of the program that has this contract. It returns an error
// if there is no such language, or no such workflow type, or no workflow type at all.
func Client(d *contract.Document, languageName string, o Options) ([]byte, error) {
	i := slices.IndexFunc(languages, func(l *language) bool { return l.name == languageName })
	if i < 0 {
		return nil, fmt.Errorf("there is no language %q: there are %s", languageName, strings.Join(Languages(), ", "))
	}
	l := languages[i]
	types := o.Types
	for _, name := range types {
		if d.Workflows[name] == nil {
			return nil, fmt.Errorf("the contract has no workflow type %q; it has %s", name, contract.List(contract.Sorted(d.Workflows)))
		}
	}
	if len(types) == 0 {
		types = contract.Sorted(d.Workflows)
	}
	if len(types) == 0 {
		return nil, fmt.Errorf("the contract has no workflow type, so there is nothing to call")
	}
	m := newModel(d, l, o, types)
	t, err := template.New(l.template).Funcs(l.functions(m)).ParseFS(templates, "templates/"+l.template)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, m); err != nil {
		return nil, fmt.Errorf("generate %s: %w", l.name, err)
	}
	text := append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
	if l.finish != nil {
		return l.finish(text, o)
	}
	return text, nil
}
