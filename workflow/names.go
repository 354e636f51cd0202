package workflow

import (
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
)

func (u Update[In, Out]) declared() *engine.Name {
	return &engine.Name{Kind: engine.UpdateName, Name: u.name, Where: u.where, Input: payload.ValueOf[In](), Result: payload.ValueOf[Out]()}
}

func (q Query[In, Out]) declared() *engine.Name {
	return &engine.Name{Kind: engine.QueryName, Name: q.name, Where: q.where, Input: payload.ValueOf[In](), Result: payload.ValueOf[Out]()}
}

func (g Signal[T]) declared() *engine.Name {
	return &engine.Name{Kind: engine.SignalName, Name: g.name, Where: g.where, Input: payload.ValueOf[T]()}
}

func (a Attribute[T]) declared() *engine.Name {
	return &engine.Name{Kind: engine.AttributeName, Name: a.name, Where: a.where, Input: payload.ValueOf[T]()}
}

func (m Memo[T]) declared() *engine.Name {
	return &engine.Name{Kind: engine.MemoName, Name: m.name, Where: m.where, Input: payload.ValueOf[T]()}
}
