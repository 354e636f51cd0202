package workflow

import (
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Name is a declaration that a binding names: an Update, a Query, a Signal, a Topic, an Attribute
// or a Memo. Only Weft's packages implement it.
type Name interface {
	// Name returns the declared name.
	Name() string
	declared() *engine.Name
}

// Names returns the options of a binding that names these declarations:
//
//	workflow.Bind(cart.Workflow, cart.Run, workflow.Names(cart.AddItem, cart.Contents, cart.Note))
//
// See BindOptions.Names.
func Names(names ...Name) BindOptions { return BindOptions{Names: names} }

// Kinds is a set of kinds of names, for BindOptions.Dynamic.
type Kinds uint8

// The kinds of names that code may decide about when it runs.
const (
	Signals Kinds = 1 << iota
	Queries
	Updates
	Topics
)

// declaredBy returns the declaration of a name. It returns an error if JSON cannot hold its types.
func declaredBy(n Name) (*engine.Name, error) {
	if n == nil {
		return nil, errors.New("a nil Name is among its names: give a Signal, a Query, an Update, a Topic, an Attribute or a Memo")
	}
	d := n.declared()
	if err := payload.Verify(d.Input, d.Result); err != nil {
		return nil, fmt.Errorf("%s %q (declared at %s): %w", d.Kind, d.Name, d.Where, err)
	}
	return d, nil
}

// named returns the names of a binding at a place. It returns an error if two of them contradict
// each other.
func (o BindOptions) named(at string) (*engine.Names, error) {
	names := &engine.Names{Where: at, Lenient: o.Lenient}
	for _, n := range o.Names {
		d, err := declaredBy(n)
		if err == nil {
			err = names.Add(d)
		}
		if err != nil {
			return nil, err
		}
	}
	for kinds, kind := range map[Kinds]engine.NameKind{Signals: engine.SignalName, Queries: engine.QueryName, Updates: engine.UpdateName, Topics: engine.TopicName} {
		if o.Dynamic&kinds != 0 {
			names.AddDynamic(kind)
		}
	}
	return names, nil
}

func (u Update[In, Out]) declared() *engine.Name {
	n := &engine.Name{Kind: engine.UpdateName, Name: u.name, Where: u.where, Input: payload.ValueBy[In](u.by()), Result: payload.ValueBy[Out](u.by())}
	if u.options != nil {
		n.Errors = u.options.errors
	}
	return n
}

func (q Query[In, Out]) declared() *engine.Name {
	return &engine.Name{Kind: engine.QueryName, Name: q.name, Where: q.where, Input: payload.ValueBy[In](q.by), Result: payload.ValueBy[Out](q.by)}
}

func (g Signal[T]) declared() *engine.Name {
	return &engine.Name{Kind: engine.SignalName, Name: g.name, Where: g.where, Input: payload.ValueBy[T](g.by)}
}

func (a Attribute[T]) declared() *engine.Name {
	return &engine.Name{Kind: engine.AttributeName, Name: a.name, Where: a.where, Input: payload.ValueOf[T]()}
}

func (m Memo[T]) declared() *engine.Name {
	return &engine.Name{Kind: engine.MemoName, Name: m.name, Where: m.where, Input: payload.ValueOf[T]()}
}
