package filter

import (
	"slices"
	"time"
)

func (e *either) meets(row *subject) bool {
	return slices.ContainsFunc(e.Any, func(b *both) bool { return b.meets(row) })
}

func (b *both) meets(row *subject) bool {
	return !slices.ContainsFunc(b.All, func(t *term) bool { return !t.meets(row) })
}

func (t *term) meets(row *subject) (met bool) {
	if t.Group != nil {
		met = t.Group.meets(row)
	} else {
		met = t.Condition.meets(row.get(t.Condition.Name))
	}
	return met != t.inverted()
}

// inverted reports whether the term holds if its group or condition does not.
func (t *term) inverted() bool { return len(t.Nots)%2 == 1 }

// conditions calls yield with all conditions. It returns false if yield did.
func (e *either) conditions(yield func(*Condition) bool) bool {
	for _, b := range e.Any {
		for _, t := range b.All {
			if t.Group != nil && !t.Group.conditions(yield) || t.Condition != nil && !yield(t.Condition) {
				return false
			}
		}
	}
	return true
}

// bounds returns moments outside of which nothing that was started meets the expression; zero if
// there is no bound.
func (e *either) bounds() (after, before time.Time) {
	for i, b := range e.Any {
		a, z := b.bounds()
		if i == 0 {
			after, before = a, z
			continue
		}
		if a.IsZero() || a.Before(after) {
			after = a
		}
		if z.IsZero() || !before.IsZero() && z.After(before) {
			before = z
		}
	}
	return after, before
}

func (b *both) bounds() (after, before time.Time) {
	for _, t := range b.All {
		a, z := t.bounds()
		after, before = within(after, before, a, z)
	}
	return after, before
}

func (t *term) bounds() (after, before time.Time) {
	switch {
	case t.inverted():
		return after, before
	case t.Group != nil:
		return t.Group.bounds()
	case t.Condition.Name == "StartTime":
		return t.Condition.bounds()
	}
	return after, before
}

// within returns the bounds of what is within two pairs of bounds, of which zero ones are none.
func within(after, before, a, b time.Time) (time.Time, time.Time) {
	if a.After(after) {
		after = a
	}
	if before.IsZero() || !b.IsZero() && b.Before(before) {
		before = b
	}
	return after, before
}
