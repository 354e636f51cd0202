package engine

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// NameKind is a kind of declaration that a workflow's binding names.
type NameKind uint8

// The kinds of declarations.
const (
	SignalName NameKind = 1 + iota
	QueryName
	UpdateName
	TopicName
	AttributeName
	MemoName
)

// String returns the kind as messages have it.
func (k NameKind) String() string {
	switch k {
	case SignalName:
		return "signal"
	case QueryName:
		return "query"
	case UpdateName:
		return "update"
	case TopicName:
		return "topic"
	case AttributeName:
		return "search attribute"
	case MemoName:
		return "memo field"
	}
	return "name"
}

// Value is the type of a payload, as a declaration has it. The engine passes it on, and knows
// nothing about the type.
type Value struct {
	// Type is the Go type; nil if nothing is known of the payload.
	Type reflect.Type
	// Check returns what is wrong with a payload of the type, or nil. at begins the path of the
	// error, as in "input". lenient requires no field. A nil Check accepts everything.
	Check func(at string, p history.Payload, lenient bool) error
	// Decodes returns why a payload does not decode as the type, or nil. It accepts all that code
	// of another build may have encoded, where Check is strict. A nil Decodes accepts everything.
	Decodes func(p history.Payload) error
	// RunsCode reports whether Check and Decodes call code of the program, which may hang: the
	// decoder of a type, or a converter. A nil RunsCode is false.
	RunsCode func() bool
	// Converter encodes and decodes the payload: a Converter of package workflow. It is nil for
	// encoding/json.
	Converter any
	// Schema returns the JSON Schema of the type if its converter has one; nil if the schema
	// follows from the Go type.
	Schema func() ([]byte, error)
}

// same reports whether two payloads have one Go type and converters of one type.
func (v Value) same(w Value) bool {
	return v.Type == w.Type && reflect.TypeOf(v.Converter) == reflect.TypeOf(w.Converter)
}

// Name is a declaration: a name, its kind, and the types that go with it.
type Name struct {
	Kind NameKind
	Name string
	// Where is the place of the declaration, for messages and for its comment.
	Where string
	// Input is what an update or a query takes, a signal's value, a topic's item, and the value of
	// an attribute or a memo field. Result is what an update or a query returns.
	Input, Result Value
	// Errors are the errors that an update declares, each with the type of its details.
	Errors []DeclaredError
}

// DeclaredError is an error that an update declares: callers branch on it.
type DeclaredError struct {
	Error *failure.Error
	// Details is the type of the error's details; its Type is nil if they are not declared.
	Details Value
}

// Names are the declarations that a binding names: all that the code of a workflow type handles. A
// nil Names is open: it names nothing, and the code may handle everything.
type Names struct {
	// Where is the place of the binding, for messages.
	Where string
	// Lenient requires no field of what callers send.
	Lenient bool

	dynamic map[NameKind]bool
	named   map[NameKind]map[string]*Name
}

// Add adds a declaration. It returns an error if its name is empty or too long, or if there is
// another one of the same kind and name with other types.
func (n *Names) Add(d *Name) error {
	if err := CheckName(d.Kind.String()+" name", d.Name); err != nil {
		return err
	}
	if before := n.Find(d.Kind, d.Name); before != nil {
		if before.Input.same(d.Input) && before.Result.same(d.Result) {
			return nil
		}
		return fmt.Errorf("%s %q is named twice with different types: declared at %s and at %s", d.Kind, d.Name, before.Where, d.Where)
	}
	if n.named == nil {
		n.named = map[NameKind]map[string]*Name{}
	}
	if n.named[d.Kind] == nil {
		n.named[d.Kind] = map[string]*Name{}
	}
	n.named[d.Kind][d.Name] = d
	return nil
}

// AddDynamic allows names of a kind that the binding does not name.
func (n *Names) AddDynamic(k NameKind) {
	if n.dynamic == nil {
		n.dynamic = map[NameKind]bool{}
	}
	n.dynamic[k] = true
}

// Find returns the declaration of a name, or nil.
func (n *Names) Find(k NameKind, name string) *Name {
	if n == nil {
		return nil
	}
	return n.named[k][name]
}

// Open reports whether the code may handle names of a kind that the binding does not name.
func (n *Names) Open(k NameKind) bool { return n == nil || n.dynamic[k] }

// Allows reports whether the code may handle a name: the binding names it, or is open for its kind
// and the name is not reserved.
func (n *Names) Allows(k NameKind, name string) bool {
	return n == nil || n.Find(k, name) != nil || n.dynamic[k] && !OwnType(name)
}

// Of returns the names of a kind, sorted.
func (n *Names) Of(k NameKind) []string {
	if n == nil {
		return nil
	}
	return sortedKeys(n.named[k])
}

// clone returns a copy, to which names can be added.
func (n *Names) clone() *Names {
	own := *n
	own.dynamic, own.named = maps.Clone(n.dynamic), make(map[NameKind]map[string]*Name, len(n.named))
	for kind, named := range n.named {
		own.named[kind] = maps.Clone(named)
	}
	return &own
}

// NameForAll adds a declaration to the names of each workflow type of the registry, also of those
// that are added later: an interceptor handles it. Types of Weft's own have no interceptors. It
// returns an error if a type names the same with other types.
func (r *Registry) NameForAll(d *Name) error {
	for _, name := range r.WorkflowNames() {
		if err := r.workflows[name].alsoNames(d); err != nil {
			return err
		}
	}
	if r.dynamicWorkflow != nil {
		if err := r.dynamicWorkflow.alsoNames(d); err != nil {
			return err
		}
	}
	r.namedForAll = append(r.namedForAll, d)
	return nil
}

// alsoNames adds a declaration to the names of the binding.
func (w *Workflow) alsoNames(d *Name) error {
	if w.Names == nil {
		return nil
	}
	if err := w.Names.Add(d); err != nil {
		return fmt.Errorf("workflow type %q (bound at %s): %w", w.Name, w.Where, err)
	}
	return nil
}

// mustName fails the task if the binding does not name what the code is about to handle.
func (in *Instance) mustName(k NameKind, name string) {
	if in.rules < history.NamesOfBinding || in.workflow == nil {
		return // before these rules, code handled every name
	}
	names := in.workflow.Names
	if names.Allows(k, name) {
		return
	}
	missing := in.unnamed(k, name)
	more := ""
	if left := len(missing) - mostUnnamed; left > 0 {
		missing, more = missing[:mostUnnamed], fmt.Sprintf(" and %d more", left)
	}
	panic(misusef("workflow type %q does not name %s%s: add %s to workflow.Names of the Bind at %s, or let weftvet -fix add all that the code handles",
		in.workflow.Name, strings.Join(missing, ", "), more, declarations(len(missing)), names.Where))
}

// mostUnnamed is how many names a message has. Code may have received signals of very many names,
// and a failure's text is cut: what to do would be cut off.
const mostUnnamed = 20

// unnamed returns the name that the code is about to handle, and those that it handles already and
// the binding does not name either: it has set their handlers under earlier rules.
func (in *Instance) unnamed(k NameKind, name string) []string {
	all := []string{fmt.Sprintf("%s %q", k, name)}
	for _, of := range []struct {
		kind  NameKind
		names []string
	}{{SignalName, sortedKeys(in.receivers)}, {QueryName, sortedKeys(in.queries)}, {UpdateName, sortedKeys(in.updates.handlers)}} {
		for _, known := range of.names {
			if !in.workflow.Names.Allows(of.kind, known) && (of.kind != k || known != name) {
				all = append(all, fmt.Sprintf("%s %q", of.kind, known))
			}
		}
	}
	return all
}

func declarations(n int) string {
	if n == 1 {
		return "its declaration"
	}
	return "their declarations"
}
