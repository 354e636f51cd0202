package workflow

import (
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
)

// AttributeType lists the types that a search attribute may have: a keyword (string), a whole
// number (int64), a number (float64), a truth value, a moment (kept to the microsecond), and a list
// of keywords.
type AttributeType = history.AttributeType

// SearchAttribute is a search attribute with a value, or without one. Attribute.Set and
// Attribute.Unset return it.
type SearchAttribute = client.SearchAttribute

// MemoField is a field of a memo with a value, or without one. Memo.Set and Memo.Unset return it.
type MemoField = client.MemoField

// Attribute is a search attribute: a named value by which runs are found. The list of workflows
// holds its value in plain text, even if payloads are encrypted: do not put secrets in it.
type Attribute[T AttributeType] struct{ name, where string }

// NewAttribute declares a search attribute. Declare each once, as a package variable. A name has
// letters, digits and underscores, a letter first, at most 64. The deployment needs no preparation
// for it. Give one name one type, in all workflows: a filter finds no runs that have it as another
// type.
//
//	var Region = workflow.NewAttribute[string]("Region")
//
//go:noinline
func NewAttribute[T AttributeType](name string) Attribute[T] {
	return Attribute[T]{name, where.Caller()}
}

// Name returns the attribute's name.
func (a Attribute[T]) Name() string { return a.name }

// Set returns the attribute with a value, for StartOptions, ChildOptions and
// UpsertSearchAttributes. An empty list of keywords is no value: it removes the attribute.
func (a Attribute[T]) Set(v T) SearchAttribute {
	return SearchAttribute{Name: a.name, Value: history.NewAttributeValue(v)}
}

// Unset returns the removal of the attribute, for UpsertSearchAttributes.
func (a Attribute[T]) Unset() SearchAttribute { return SearchAttribute{Name: a.name} }

// Get returns the attribute of the run whose code calls it, the same on replay. ok is false if the
// run has none, or one of another type.
func (a Attribute[T]) Get(ctx Context) (v T, ok bool) {
	return a.Of(ctx.instance().Visibility().SearchAttributes)
}

// Of returns the attribute of a run that was described or listed. ok is false if the run has none,
// or one of another type.
func (a Attribute[T]) Of(all client.SearchAttributes) (v T, ok bool) {
	value, found := all.Get(a.name)
	if !found {
		return v, false
	}
	return history.AttributeOf[T](value)
}

// UpsertSearchAttributes changes search attributes of the run, and keeps the others. Descriptions
// and lists have the new values from the commit of this task on. The change is recorded with the
// task, and costs no write of its own, but the row in the list is written anew. More than 32
// attributes, or 2 KiB of names and values, fail the task.
//
//	workflow.UpsertSearchAttributes(ctx, Stage.Set("shipped"), Due.Unset())
//
// Runs that continue this one as new keep the attributes. A run that follows by a retry policy or a
// cron expression begins with those of the start.
func UpsertSearchAttributes(ctx Context, changes ...SearchAttribute) {
	if a := upserted(changes); len(changes) > 0 {
		ctx.instance().Show(a)
	}
}

// upserted returns the event of these changes. The last change of a name counts.
func upserted(changes []SearchAttribute) *history.UpsertWorkflowSearchAttributes {
	a := &history.UpsertWorkflowSearchAttributes{}
	for _, c := range changes {
		a.Removed = slices.DeleteFunc(a.Removed, func(name string) bool { return name == c.Name })
		if c.Value.Empty() {
			a.SearchAttributes, a.Removed = a.SearchAttributes.Without(c.Name), append(a.Removed, c.Name)
			continue
		}
		a.SearchAttributes = a.SearchAttributes.With(c.Name, c.Value)
	}
	return a
}

// Memo is a field of the memo that runs show in descriptions and lists: a named value of any type.
// Nobody can search for it. It is encrypted if payloads are.
type Memo[T any] struct{ name, where string }

// NewMemo declares a field of memos. Declare each once, as a package variable.
//
//	var Customer = workflow.NewMemo[Person]("customer")
//
//go:noinline
func NewMemo[T any](name string) Memo[T] {
	return Memo[T]{name, where.Caller()}
}

// Name returns the field's name.
func (m Memo[T]) Name() string { return m.name }

// Set returns the field with a value, for StartOptions, ChildOptions and UpsertMemo.
func (m Memo[T]) Set(v T) MemoField {
	p, err := payload.Encode(v)
	if err != nil {
		err = fmt.Errorf("memo field %q: %w", m.name, err)
	}
	return MemoField{Name: m.name, Value: p, Err: err}
}

// Unset returns the removal of the field, for UpsertMemo.
func (m Memo[T]) Unset() MemoField { return MemoField{Name: m.name} }

// Get returns the field of the run whose code calls it, the same on replay. ok is false if the run
// has none, or none that is a T.
func (m Memo[T]) Get(ctx Context) (v T, ok bool) { return m.Of(ctx.instance().Visibility().Memo) }

// Of returns the field of a run that was described or listed. ok is false if the run has none, or
// none that is a T.
func (m Memo[T]) Of(all client.Memo) (v T, ok bool) {
	p, found := all.Get(m.name)
	if !found {
		return v, false
	}
	v, err := payload.DecodeOrZero[T](p)
	return v, err == nil
}

// UpsertMemo changes fields of the run's memo, and keeps the others, as UpsertSearchAttributes does
// with attributes. More than 32 fields, or 4 KiB of names and values, fail the task.
func UpsertMemo(ctx Context, changes ...MemoField) {
	if a := modified(changes); len(changes) > 0 {
		ctx.instance().Show(a)
	}
}

// modified returns the event of these changes. The last change of a name counts. A value that
// cannot be encoded fails the task.
func modified(changes []MemoField) *history.WorkflowPropertiesModified {
	a := &history.WorkflowPropertiesModified{}
	for _, c := range changes {
		if c.Err != nil {
			panic(c.Err)
		}
		a.Removed = slices.DeleteFunc(a.Removed, func(name string) bool { return name == c.Name })
		if c.Value == nil {
			a.UpsertedMemo, a.Removed = a.UpsertedMemo.Without(c.Name), append(a.Removed, c.Name)
			continue
		}
		a.UpsertedMemo = a.UpsertedMemo.With(c.Name, c.Value)
	}
	return a
}

// visibility returns the memo and attributes that a child starts with. Invalid ones fail the task.
func (o *ChildOptions) visibility(name string) engine.Visibility {
	s := engine.Visibility{Memo: modified(o.Memo).UpsertedMemo, SearchAttributes: upserted(o.SearchAttributes).SearchAttributes}
	if err := s.Check(); err != nil {
		panic(misuse("a child of workflow type %q cannot be started: %v", name, err))
	}
	return s
}
