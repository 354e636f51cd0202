// Package docs finds the comments of a program's declarations in its sources, for its contract. A
// binary has no comments: where its sources are not, there are none.
package docs

import (
	"reflect"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/contract"
)

// Add adds the comments of a program's declarations to its contract: those of workflow types,
// updates, queries, signals, topics and activities, and of the types in $defs with their fields. It
// changes no text that is there already. types are the Go types of $defs. It reports whether it has
// found sources.
func Add(d *contract.Document, types map[string]reflect.Type, r *engine.Registry) (found bool) {
	s := newSources()
	for name, w := range d.Workflows {
		code := r.Workflow(name)
		if code == nil {
			continue
		}
		set(&w.Doc, s.declaration(code.Declared))
		for name, u := range w.Updates {
			set(&u.Doc, s.named(code, engine.UpdateName, name))
		}
		for name, q := range w.Queries {
			set(&q.Doc, s.named(code, engine.QueryName, name))
		}
		for name, g := range w.Signals {
			set(&g.Doc, s.named(code, engine.SignalName, name))
		}
		for name, t := range w.Topics {
			set(&t.Doc, s.named(code, engine.TopicName, name))
		}
		for name, m := range w.Memo {
			if m != nil && !m.Nothing {
				set(&m.Description, s.named(code, engine.MemoName, name))
			}
		}
	}
	for name, a := range d.Activities {
		if code := r.Activity(name); code != nil {
			set(&a.Doc, s.declaration(code.Where))
		}
	}
	for name, t := range types {
		if schema := d.Defs[name]; schema != nil {
			s.describe(schema, t)
		}
	}
	return s.found
}

func set(text *string, comment string) {
	if *text == "" {
		*text = comment
	}
}

// named returns the comment of a name that the binding of a workflow type has.
func (s *sources) named(w *engine.Workflow, k engine.NameKind, name string) string {
	if n := w.Names.Find(k, name); n != nil {
		return s.declaration(n.Where)
	}
	return ""
}

// describe adds the comments of a type and of its fields to its schema.
func (s *sources) describe(schema *contract.Schema, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if schema.Nothing {
		return
	}
	set(&schema.Description, s.typeComment(t))
	if t.Kind() != reflect.Struct {
		return
	}
	fields := fieldsOf(t)
	body := schema
	if inner, ok := schema.Nullable(); ok {
		body = inner
	}
	for i := range body.Properties {
		p := &body.Properties[i]
		if f, ok := fields[p.Name]; ok && p.Schema != nil && !p.Schema.Nothing {
			set(&p.Schema.Description, s.fieldComment(f.owner, f.name))
		}
	}
}
