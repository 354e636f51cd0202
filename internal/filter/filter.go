package filter

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// Order is the order of a list.
type Order uint8

// The orders of a list.
const (
	// LatestStart is the order of a list that asks for none: those started last first.
	LatestStart Order = iota
	// EarliestStart has those started first first.
	EarliestStart
	// LatestClose has those closed last first, and before them those that are open: they close
	// later.
	LatestClose
	// EarliestClose is the reverse of LatestClose.
	EarliestClose
)

// ByClose reports whether the order is that of the times when runs closed.
func (o Order) ByClose() bool { return o >= LatestClose }

// Filter is a filter that was parsed. The zero Filter selects all runs.
type Filter struct {
	// all must hold.
	all           []*either
	after, before time.Time
	order         Order
	// only, if it is not nil, selects among the rows that meet the rest.
	only func(*store.Summary) bool
}

// Order returns the order of the list.
func (f *Filter) Order() Order { return f.order }

// setOrder sets the order that a filter asks for; nil is none.
func (f *Filter) setOrder(o *order) error {
	if o == nil {
		return nil
	}
	descending := strings.EqualFold(o.Direction, "DESC")
	switch {
	case o.By == "StartTime" && !descending:
		f.order = EarliestStart
	case o.By == "StartTime":
		f.order = LatestStart
	case o.By == "CloseTime" && !descending:
		f.order = EarliestClose
	case o.By == "CloseTime":
		f.order = LatestClose
	default:
		return fmt.Errorf("ORDER BY %s is not possible: give StartTime or CloseTime", o.By)
	}
	return nil
}

// And returns the filter for runs that also have an attribute with this text.
func (f *Filter) And(name, is string) *Filter {
	with := *f
	condition := &Condition{Name: name, Compare: &comparison{"=", &value{Text: &text{string: is}}}}
	with.all = append(f.all[:len(f.all):len(f.all)], &either{[]*both{{[]*term{{Condition: condition}}}}})
	return &with
}

// Between returns the filter for runs that also started between two moments; a zero moment does not
// bound them.
func (f *Filter) Between(after, before time.Time) *Filter {
	with := *f
	with.after, with.before = within(f.after, f.before, after, before)
	return &with
}

// Where returns a filter of code. It may use no memo of a row.
func Where(only func(*store.Summary) bool) *Filter { return &Filter{only: only} }

// Store returns the filter in the store's form. Conditions on StartTime bound what the store reads.
// It selects the rows that meet the filter whatever their retries: see Candidates.
func (f *Filter) Store() store.Filter { return f.store(yes) }

// Candidates returns the filter in the store's form, for all rows that may meet it. Of a filter
// that needs no retries these are those that Store selects. Otherwise Selects says which of them
// meet it.
func (f *Filter) Candidates() store.Filter { return f.store(maybe) }

// store returns a filter that selects rows of a verdict, or of a better one.
func (f *Filter) store(least verdict) store.Filter {
	s := store.Filter{StartedAfter: f.after, StartedBefore: f.before, Oldest: f.order == EarliestStart}
	for _, e := range f.all {
		after, before := e.bounds()
		s.StartedAfter, s.StartedBefore = within(s.StartedAfter, s.StartedBefore, after, before)
	}
	if len(f.all) > 0 || f.only != nil {
		s.Where = func(row *store.Summary) bool { return f.judge(&subject{row: row}) >= least }
	}
	return s
}

// Selects reports whether a row with these retries meets the filter, except for its bounds.
func (f *Filter) Selects(row *store.Summary, retries *Retries) bool {
	return f.judge(&subject{row: row, retries: retries}) == yes
}

// judge says whether a row meets the filter, except for its bounds.
func (f *Filter) judge(row *subject) verdict {
	v := yes
	for _, e := range f.all {
		if v = min(v, e.judge(row)); v == no {
			return no
		}
	}
	if f.only != nil && !f.only(row.row) {
		return no
	}
	return v
}

// conditions calls yield with all conditions of the filter.
func (f *Filter) conditions(yield func(*Condition) bool) {
	for _, e := range f.all {
		if !e.conditions(yield) {
			return
		}
	}
}

// subject is a row that conditions are checked on.
type subject struct {
	row        *store.Summary
	attributes history.SearchAttributes
	decoded    bool
	facts      *engine.Facts
	retries    *Retries // nil if they are not known
}

// known returns the facts of the row; none if they cannot be read.
func (s *subject) known() *engine.Facts {
	if s.facts == nil {
		facts := FactsOf(s.row)
		s.facts = &facts
	}
	return s.facts
}

// FactsOf decodes the facts of a row. It returns none if they cannot be read.
func FactsOf(row *store.Summary) (f engine.Facts) {
	if row.Facts == "" || history.DecodeBody([]byte(row.Facts), &f) != nil {
		return engine.Facts{}
	}
	return f
}

// get returns an attribute of the row.
func (s *subject) get(name string) (history.AttributeValue, bool) {
	if _, ok := builtins[name]; ok {
		return builtin(s, name)
	}
	return s.all().Get(name)
}

// all returns the search attributes of the row; none if they cannot be read.
func (s *subject) all() history.SearchAttributes {
	if !s.decoded {
		s.attributes, s.decoded = Attributes(s.row), true
	}
	return s.attributes
}

// Attributes decodes the search attributes of a row. It returns none if they cannot be read.
func Attributes(row *store.Summary) (attributes history.SearchAttributes) {
	if row.Attributes == "" || history.DecodeBody([]byte(row.Attributes), &attributes) != nil {
		return nil
	}
	return attributes
}
