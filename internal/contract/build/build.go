// Package build builds the contract of a program from its registry.
package build

import (
	"fmt"
	"reflect"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/schemas"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Contract is the contract of a program.
type Contract struct {
	*contract.Document
	// Silent are the Go types whose schema accepts any value, because they encode themselves and
	// declare no schema.
	Silent []string
	// Types are the Go types of the schemas in $defs.
	Types map[string]reflect.Type
}

// Of returns the contract of a registry, without Weft's own types. It generates the schemas, which
// takes about 0.1 ms for a type. The error names a type that JSON cannot hold, or a declared schema
// that is none.
func Of(r *engine.Registry) (*Contract, error) {
	b := &builder{set: schemas.Set{Declared: r.Schema}}
	d := &contract.Document{Version: contract.Version, Workflows: map[string]*contract.Workflow{}, Activities: map[string]*contract.Activity{}}
	for _, name := range r.WorkflowNames() {
		w, err := b.workflow(r.Workflow(name))
		if err != nil {
			return nil, fmt.Errorf("workflow type %q: %w", name, err)
		}
		d.Workflows[name] = w
	}
	for _, name := range r.ActivityNames() {
		a := r.Activity(name)
		var err error
		d.Activities[name] = &contract.Activity{Input: b.value(&err, a.Input, false), Result: b.value(&err, a.Result, false), Local: a.Local}
		if err != nil {
			return nil, fmt.Errorf("activity type %q: %w", name, err)
		}
	}
	anyWorkflow, anyActivity := r.DynamicTypes()
	if anyWorkflow != nil {
		var err error
		if d.AnyWorkflow, err = b.workflow(anyWorkflow); err != nil {
			return nil, fmt.Errorf("the workflow of all types: %w", err)
		}
		d.AnyWorkflow.Input, d.AnyWorkflow.Result = &contract.Schema{}, &contract.Schema{}
	}
	if anyActivity != nil {
		d.AnyActivity = &contract.Activity{Input: &contract.Schema{}, Result: &contract.Schema{}}
	}
	d.Defs = b.set.Defs()
	return &Contract{d, b.set.Silent(), b.set.Types()}, nil
}

// AddDocs adds the comments that the program has embedded (workflow.Docs), unless there are
// others. It returns an error if these are no contract.
func (c *Contract) AddDocs(r *engine.Registry) error {
	text, where := r.Docs()
	if text == nil {
		return nil
	}
	from, err := contract.Read(text)
	if err != nil {
		return fmt.Errorf("what workflow.Docs got at %s: %w: weftest.Contract writes the file", where, err)
	}
	c.Document.AddDocs(from)
	return nil
}

type builder struct {
	set schemas.Set
}

// kinds are the kinds of names that code may decide about when it runs, as a contract has them.
var kinds = []struct {
	kind engine.NameKind
	name string
}{
	{engine.QueryName, "queries"},
	{engine.SignalName, "signals"},
	{engine.TopicName, "topics"},
	{engine.UpdateName, "updates"},
}

func (b *builder) workflow(w *engine.Workflow) (*contract.Workflow, error) {
	lenient := w.Names != nil && w.Names.Lenient
	var err error
	c := &contract.Workflow{
		Input: b.value(&err, w.Input, lenient), Result: b.value(&err, w.Result, false), Pinned: w.Pinned, Lenient: lenient,
		Updates: named(w, engine.UpdateName, func(n *engine.Name) *contract.Update {
			return &contract.Update{Input: b.named(&err, n, n.Input, lenient), Result: b.named(&err, n, n.Result, false), Errors: b.errors(&err, n)}
		}),
		Queries: named(w, engine.QueryName, func(n *engine.Name) *contract.Query {
			return &contract.Query{Input: b.named(&err, n, n.Input, lenient), Result: b.named(&err, n, n.Result, false)}
		}),
		Signals: named(w, engine.SignalName, func(n *engine.Name) *contract.Signal {
			return &contract.Signal{Input: b.named(&err, n, n.Input, lenient)}
		}),
		Topics: named(w, engine.TopicName, func(n *engine.Name) *contract.Topic {
			return &contract.Topic{Item: b.named(&err, n, n.Input, false)}
		}),
		Memo: named(w, engine.MemoName, func(n *engine.Name) *contract.Schema {
			if schema := b.named(&err, n, n.Input, false); schema != nil {
				return schema
			}
			return &contract.Schema{}
		}),
		SearchAttributes: named(w, engine.AttributeName, func(n *engine.Name) string { return attributes[n.Input.Type] }),
	}
	c.Dynamic = Dynamic(w)
	return c, err
}

// Dynamic returns the kinds, in the plural, of which a workflow's code handles names that its
// binding does not have.
func Dynamic(w *engine.Workflow) (all []string) {
	for _, k := range kinds {
		if w.Names.Open(k.kind) {
			all = append(all, k.name)
		}
	}
	return all
}

// named returns what the contract has for each name of a kind.
func named[V any](w *engine.Workflow, k engine.NameKind, of func(*engine.Name) V) map[string]V {
	var all map[string]V
	for _, name := range w.Names.Of(k) {
		if all == nil {
			all = map[string]V{}
		}
		all[name] = of(w.Names.Find(k, name))
	}
	return all
}

// attributes are the types of search attributes.
var attributes = map[reflect.Type]string{
	reflect.TypeFor[string]():    "keyword",
	reflect.TypeFor[[]string]():  "keywordList",
	reflect.TypeFor[int64]():     "int",
	reflect.TypeFor[float64]():   "float",
	reflect.TypeFor[bool]():      "bool",
	reflect.TypeFor[time.Time](): "time",
}

func (b *builder) errors(err *error, n *engine.Name) (all []contract.ErrorType) {
	for _, e := range n.Errors {
		all = append(all, contract.ErrorType{Type: e.Error.Type, Message: e.Error.Message, Details: b.named(err, n, e.Details, false)})
	}
	return all
}

// named is value with the name in the error.
func (b *builder) named(err *error, n *engine.Name, v engine.Value, lenient bool) *contract.Schema {
	var own error
	schema := b.value(&own, v, lenient)
	if own != nil && *err == nil {
		*err = fmt.Errorf("%s %q, declared at %s: %w", n.Kind, n.Name, n.Where, own)
	}
	return schema
}

// value returns the schema of a payload; nil if it carries nothing. It keeps the first error.
func (b *builder) value(err *error, v engine.Value, lenient bool) *contract.Schema {
	if *err != nil || v.Type == reflect.TypeFor[payload.None]() {
		return nil
	}
	schema, own := b.schema(v, lenient)
	*err = own
	return schema
}

func (b *builder) schema(v engine.Value, lenient bool) (*contract.Schema, error) {
	switch {
	case v.Schema != nil:
		text, err := v.Schema()
		if err != nil {
			return nil, fmt.Errorf("the converter has no schema for %s: %w", v.Type, err)
		}
		return b.set.AddText(v.Type, text)
	case v.Type == nil:
		return nil, nil
	}
	return b.set.Add(v.Type, lenient)
}
