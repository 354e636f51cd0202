package filter

import "time"

// verdict says whether a row meets a part of a filter: maybe, if that depends on retries that are
// not known.
type verdict int8

const (
	no verdict = iota - 1
	maybe
	yes
)

func (e *either) judge(row *subject) verdict {
	v := no
	for _, b := range e.Any {
		if v = max(v, b.judge(row)); v == yes {
			return yes
		}
	}
	return v
}

func (b *both) judge(row *subject) verdict {
	v := yes
	for _, t := range b.All {
		if v = min(v, t.judge(row)); v == no {
			return no
		}
	}
	return v
}

func (t *term) judge(row *subject) (v verdict) {
	switch {
	case t.Group != nil:
		v = t.Group.judge(row)
	case row.lacks(t.Condition.Name):
		return maybe
	case t.Condition.meets(row.get(t.Condition.Name)):
		v = yes
	default:
		v = no
	}
	if t.inverted() {
		return -v
	}
	return v
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
