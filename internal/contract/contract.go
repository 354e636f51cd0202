// Package contract is the model of a program's contract: its workflow types with the names and
// types of all that they take and return, and its activity types. It is plain data with a JSON
// form. It reflects on no Go types and does no I/O.
//
// The same program gives the same bytes: names are sorted, and the fields of a type keep their
// order.
package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Version is the version of the document's format that this package writes. It reads documents of
// this version and of earlier ones.
const Version = 1

// Document is the contract of a program.
type Document struct {
	// Version is the version of the format, which the member weftContract holds.
	Version int `json:"weftContract"`
	// Workflows are the workflow types by name, without Weft's own.
	Workflows map[string]*Workflow `json:"workflows"`
	// Activities are the activity types by name, without Weft's own.
	Activities map[string]*Activity `json:"activities,omitempty"`
	// AnyWorkflow and AnyActivity are what types take that are not listed; nil if there are none.
	AnyWorkflow *Workflow `json:"anyWorkflow,omitempty"`
	AnyActivity *Activity `json:"anyActivity,omitempty"`
	// Defs are the schemas of named types, which others refer to as "#/$defs/NAME".
	Defs map[string]*Schema `json:"$defs,omitempty"`
}

// Workflow is a workflow type.
type Workflow struct {
	// Doc is the comment of the declaration.
	Doc string `json:"doc,omitempty"`
	// Input is the schema of the input of a start; nil if a start takes none.
	Input *Schema `json:"input,omitempty"`
	// Result is the schema of the result; nil if there is none.
	Result  *Schema            `json:"result,omitempty"`
	Updates map[string]*Update `json:"updates,omitempty"`
	Queries map[string]*Query  `json:"queries,omitempty"`
	Signals map[string]*Signal `json:"signals,omitempty"`
	Topics  map[string]*Topic  `json:"topics,omitempty"`
	// SearchAttributes are the types of search attributes by name: one of AttributeTypes.
	SearchAttributes map[string]string `json:"searchAttributes,omitempty"`
	// Memo has the schemas of memo fields by name.
	Memo map[string]*Schema `json:"memo,omitempty"`
	// Pinned says that a run stays on the build that started it.
	Pinned bool `json:"pinned,omitempty"`
	// Lenient says that no field of an input is required.
	Lenient bool `json:"lenient,omitempty"`
	// Dynamic are the kinds, in the plural, whose other names the code handles too.
	Dynamic []string `json:"dynamic,omitempty"`
}

// Update is an update of a workflow type.
type Update struct {
	Doc string `json:"doc,omitempty"`
	// Input is nil if the update takes none, and Result if it returns none.
	Input  *Schema     `json:"input,omitempty"`
	Result *Schema     `json:"result,omitempty"`
	Errors []ErrorType `json:"errors,omitempty"`
}

// ErrorType is an error that an update declares. A caller may branch on its type.
type ErrorType struct {
	Type    string `json:"type"`
	Message string `json:"message,omitempty"`
	// Details is the schema of the error's details; nil if it has none.
	Details *Schema `json:"details,omitempty"`
}

// Query is a query of a workflow type.
type Query struct {
	Doc    string  `json:"doc,omitempty"`
	Input  *Schema `json:"input,omitempty"`
	Result *Schema `json:"result,omitempty"`
}

// Signal is a signal of a workflow type.
type Signal struct {
	Doc   string  `json:"doc,omitempty"`
	Input *Schema `json:"input,omitempty"`
}

// Topic is a topic that runs of a workflow type publish to.
type Topic struct {
	Doc  string  `json:"doc,omitempty"`
	Item *Schema `json:"item,omitempty"`
}

// Activity is an activity type.
type Activity struct {
	Doc    string  `json:"doc,omitempty"`
	Input  *Schema `json:"input,omitempty"`
	Result *Schema `json:"result,omitempty"`
	// Local says that it runs within the workflow's task.
	Local bool `json:"local,omitempty"`
}

// AttributeTypes are the types that a search attribute may have.
var AttributeTypes = []string{"keyword", "keywordList", "int", "float", "bool", "time"}

// Text returns the document as JSON that people read and keep in a file. It ends with a newline.
func (d *Document) Text() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		panic(err) // plain data
	}
	return b.Bytes()
}

// Read reads a document. It refuses a text that is no contract, one of a later version, and one
// that refers to a schema that it lacks.
func Read(text []byte) (*Document, error) {
	var head struct {
		Version *json.Number `json:"weftContract"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("the contract is no JSON document of Weft's: %w", err)
	}
	if head.Version == nil {
		return nil, errors.New(`the document has no "weftContract": it is no contract; weft contract export writes one`)
	}
	version, err := head.Version.Int64()
	if err == nil {
		err = checkVersion(version)
	}
	if err != nil {
		return nil, fmt.Errorf("weftContract is %s: %w", *head.Version, err)
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("the contract does not decode: %w", err)
	}
	return d, d.Check()
}

func checkVersion(version int64) error {
	switch {
	case version < 1:
		return errors.New("there is no such version of a contract's format")
	case version > Version:
		return fmt.Errorf("this program reads versions up to %d of a contract's format: use the version of Weft that wrote it, or a later one", Version)
	}
	return nil
}

// Check returns what is wrong with a document that was read: a version that this package does not
// know, a name without a value, or a reference to a schema that the document lacks.
func (d *Document) Check() (err error) {
	if err := checkVersion(int64(d.Version)); err != nil {
		return fmt.Errorf("weftContract is %d: %w", d.Version, err)
	}
	if at := d.lacks(); at != "" {
		return fmt.Errorf("the contract has null at %s: remove that member", at)
	}
	for at, s := range d.Schemas() {
		s.Walk(func(s *Schema) {
			name, refers := s.Refers()
			switch {
			case err != nil || s.Ref == "":
			case !refers:
				err = fmt.Errorf("the schema of %s refers to %q: a contract refers to %sNAME only", at, s.Ref, refPrefix)
			case d.Defs[name] == nil:
				err = fmt.Errorf("the schema of %s refers to %q, which the contract lacks", at, s.Ref)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lacks returns the place of the first name that has no value, or "".
func (d *Document) lacks() string {
	for _, name := range Sorted(d.Workflows) {
		if at := d.Workflows[name].lacks(); at != "" {
			return "workflow " + name + at
		}
	}
	if d.AnyWorkflow != nil {
		if at := d.AnyWorkflow.lacks(); at != "" {
			return "anyWorkflow" + at
		}
	}
	if at := withoutValue("activity", d.Activities); at != "" {
		return at
	}
	return withoutValue("$defs:", d.Defs)
}

func (w *Workflow) lacks() string {
	if w == nil {
		return " itself"
	}
	for _, at := range []string{
		withoutValue("update", w.Updates), withoutValue("query", w.Queries), withoutValue("signal", w.Signals),
		withoutValue("topic", w.Topics), withoutValue("memo field", w.Memo),
	} {
		if at != "" {
			return ": " + at
		}
	}
	return ""
}

func withoutValue[V any](what string, all map[string]*V) string {
	for _, name := range Sorted(all) {
		if all[name] == nil {
			return what + " " + name
		}
	}
	return ""
}

// Schemas yields each schema of the document with its place, in a fixed order, those of $defs last.
func (d *Document) Schemas() func(yield func(at string, s *Schema) bool) {
	return func(yield func(string, *Schema) bool) {
		give := func(at string, s *Schema) bool { return s == nil || yield(at, s) }
		for _, name := range Sorted(d.Workflows) {
			if !d.Workflows[name].schemas("workflow "+name, give) {
				return
			}
		}
		if d.AnyWorkflow != nil && !d.AnyWorkflow.schemas("anyWorkflow", give) {
			return
		}
		for _, name := range Sorted(d.Activities) {
			if !d.Activities[name].schemas("activity "+name, give) {
				return
			}
		}
		if d.AnyActivity != nil && !d.AnyActivity.schemas("anyActivity", give) {
			return
		}
		for _, name := range Sorted(d.Defs) {
			if !give("$defs: "+name, d.Defs[name]) {
				return
			}
		}
	}
}

func (a *Activity) schemas(at string, give func(string, *Schema) bool) bool {
	return give(at+": input", a.Input) && give(at+": result", a.Result)
}

func (w *Workflow) schemas(at string, give func(string, *Schema) bool) bool {
	if !give(at+": input", w.Input) || !give(at+": result", w.Result) {
		return false
	}
	for _, name := range Sorted(w.Updates) {
		at, u := at+": update "+name, w.Updates[name]
		if !give(at+": input", u.Input) || !give(at+": result", u.Result) {
			return false
		}
		for i := range u.Errors {
			if !give(at+": error "+u.Errors[i].Type, u.Errors[i].Details) {
				return false
			}
		}
	}
	for _, name := range Sorted(w.Queries) {
		at, q := at+": query "+name, w.Queries[name]
		if !give(at+": input", q.Input) || !give(at+": result", q.Result) {
			return false
		}
	}
	for _, name := range Sorted(w.Signals) {
		if !give(at+": signal "+name, w.Signals[name].Input) {
			return false
		}
	}
	for _, name := range Sorted(w.Topics) {
		if !give(at+": topic "+name, w.Topics[name].Item) {
			return false
		}
	}
	for _, name := range Sorted(w.Memo) {
		if !give(at+": memo field "+name, w.Memo[name]) {
			return false
		}
	}
	return true
}

// Only returns the document of these workflow and activity types alone, with the schemas that they
// refer to. A type that is not listed is what the program takes for all such types. The error names
// what the document lacks, and what it has.
func (d *Document) Only(types ...string) (*Document, error) {
	part := &Document{Version: d.Version, Workflows: map[string]*Workflow{}, Activities: map[string]*Activity{}, Defs: map[string]*Schema{}}
	for _, name := range types {
		w, a := d.Workflows[name], d.Activities[name]
		if w == nil && a == nil {
			w, a = d.AnyWorkflow, d.AnyActivity
		}
		if w == nil && a == nil {
			return nil, fmt.Errorf("the contract has no type %q; it has %s", name, List(d.Types()))
		}
		if w != nil {
			part.Workflows[name] = w
		}
		if a != nil {
			part.Activities[name] = a
		}
	}
	var add func(*Schema)
	add = func(s *Schema) {
		s.Walk(func(s *Schema) {
			name, refers := s.Refers()
			if def := d.Defs[name]; refers && def != nil && part.Defs[name] == nil {
				part.Defs[name] = def
				add(def)
			}
		})
	}
	var roots []*Schema
	for _, s := range part.Schemas() {
		roots = append(roots, s)
	}
	for _, s := range roots {
		add(s)
	}
	return part, nil
}

// Types returns the names of the workflow and activity types, sorted.
func (d *Document) Types() []string {
	names := append(Sorted(d.Workflows), Sorted(d.Activities)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Resolve returns the schema that s stands for: if s is only a reference, the one that it refers
// to. name is the name in $defs, or "" if s is no reference. A reference to nothing, or to itself,
// is returned as it is.
func (d *Document) Resolve(s *Schema) (name string, to *Schema) {
	to = s
	for range len(d.Defs) + 1 {
		next, refers := to.Refers()
		if !refers || d.Defs[next] == nil {
			return name, to
		}
		name, to = next, d.Defs[next]
	}
	return name, s
}

// Sorted returns the keys of a map in their order.
func Sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// List returns names for a message: the first twenty, quoted, or "none".
func List(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", name)
	}
	return b.String()
}
