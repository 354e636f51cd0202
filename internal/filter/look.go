package filter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/internal/near"
	"github.com/seed-41655fb1/weft/store"
)

// Look is one look at the list with a filter. It notes which of the filter's search attributes the
// rows have that it is shown. One goroutine at a time uses it.
type Look struct {
	f *Filter
	// missing are the names of the filter that no row had, and seen the names that rows had.
	missing []string
	seen    map[string]bool
	rows    int
}

// maxSeen bounds the names that a Look notes, and maxNamed those that its error has.
const (
	maxSeen  = 1000
	maxNamed = 50
)

// Look begins a look.
func (f *Filter) Look() *Look {
	l := &Look{f: f, seen: map[string]bool{}}
	for c := range f.conditions {
		if _, ok := builtins[c.Name]; !ok && !slices.Contains(l.missing, c.Name) {
			l.missing = append(l.missing, c.Name)
		}
	}
	return l
}

// Store returns what Filter.Store does, and Candidates what Filter.Candidates does. They note the
// names of all rows that the store reads.
func (l *Look) Store() store.Filter { return l.noting(l.f.Store()) }

// Candidates is described at Store.
func (l *Look) Candidates() store.Filter { return l.noting(l.f.Candidates()) }

func (l *Look) noting(s store.Filter) store.Filter {
	where := s.Where
	s.Where = func(row *store.Summary) bool {
		l.note(row)
		return where == nil || where(row)
	}
	return s
}

// Names returns a filter that selects nothing. It notes the names of all rows that the store reads,
// whenever they started, and counts them anew.
func (l *Look) Names() store.Filter {
	l.rows = 0
	return store.Filter{Where: func(row *store.Summary) bool {
		l.note(row)
		return false
	}}
}

// Bounded reports whether the filter leaves out rows by the time of their start.
func (l *Look) Bounded() bool {
	s := l.f.Store()
	return !s.StartedAfter.IsZero() || !s.StartedBefore.IsZero()
}

func (l *Look) note(row *store.Summary) {
	l.rows++
	if len(l.missing) == 0 {
		return
	}
	for _, a := range Attributes(row) {
		if len(l.seen) < maxSeen {
			l.seen[a.Name] = true
		}
		l.missing = slices.DeleteFunc(l.missing, func(name string) bool { return name == a.Name })
	}
}

// Rows returns how many rows the look was shown. An adapter may show one several times.
func (l *Look) Rows() int { return l.rows }

// Missing reports whether the filter has names that no row had.
func (l *Look) Missing() bool { return len(l.missing) > 0 }

// Err returns an error about the names that no row had, or nil if there are none. It lists the
// names that are known.
func (l *Look) Err() error {
	if len(l.missing) == 0 {
		return nil
	}
	name := l.missing[0]
	seen := slices.Sorted(maps.Keys(l.seen))
	known := slices.Sorted(maps.Keys(builtins))
	hint := ""
	if is := near.Name(name, slices.Concat(known, seen)); is != "" {
		hint = fmt.Sprintf(" Is it %s?", is)
	}
	named := "none"
	if len(seen) > 0 {
		named = strings.Join(seen[:min(len(seen), maxNamed)], ", ")
	}
	if n := len(seen) - maxNamed; n > 0 {
		named += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("the filter: %d runs were looked at, and none has the search attribute %s.%s Every run has %s. Search attributes of these runs: %s. Give unknown=allow if other runs have %s",
		l.rows, name, hint, strings.Join(known, ", "), named, name)
}
