package engine

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// The limits of a run's visibility, names and values together, in bytes: it is part of each run's
// row in the list of workflows, and of each item that changes it.
const (
	MaxMemo             = 4 << 10
	MaxSearchAttributes = 2 << 10
	// MaxVisibility is how many fields a memo has at most, and how many search attributes there are.
	MaxVisibility = 32
)

// Visibility is what a run shows of itself in lists and descriptions.
type Visibility struct {
	Memo             history.Memo
	SearchAttributes history.SearchAttributes
}

// Equal reports whether two runs show the same.
func (s Visibility) Equal(other Visibility) bool {
	return slices.EqualFunc(s.Memo, other.Memo, func(a, b history.HeaderField) bool { return a.Name == b.Name && slices.Equal(a.Value, b.Value) }) &&
		slices.EqualFunc(s.SearchAttributes, other.SearchAttributes, func(a, b history.SearchAttribute) bool { return reflect.DeepEqual(a, b) })
}

// Check returns what is wrong with a visibility, or nil.
func (s Visibility) Check() error {
	if err := s.checkMemo(); err != nil {
		return err
	}
	return s.checkSearchAttributes()
}

func (s Visibility) checkMemo() error {
	for _, f := range s.Memo {
		if err := CheckName("name of a memo's field", f.Name); err != nil {
			return err
		}
	}
	if n := len(s.Memo); n > MaxVisibility {
		return fmt.Errorf("the memo has %d fields: give at most %d", n, MaxVisibility)
	}
	if n := s.Memo.Size(); n > MaxMemo {
		return fmt.Errorf("the memo has %d bytes: give at most %d, names and values together, and let a query tell what is larger", n, MaxMemo)
	}
	return nil
}

func (s Visibility) checkSearchAttributes() error {
	for _, a := range s.SearchAttributes {
		if err := CheckSearchAttribute(a); err != nil {
			return err
		}
	}
	if n := len(s.SearchAttributes); n > MaxVisibility {
		return fmt.Errorf("there are %d search attributes: give at most %d", n, MaxVisibility)
	}
	if n := s.SearchAttributes.Size(); n > MaxSearchAttributes {
		return fmt.Errorf("the search attributes have %d bytes: give at most %d, names and values together, and put into a memo what nobody searches for", n, MaxSearchAttributes)
	}
	return nil
}

// CheckSearchAttribute returns what is wrong with a search attribute that has a value, or nil.
func CheckSearchAttribute(a history.SearchAttribute) error {
	if err := CheckAttributeName(a.Name); err != nil {
		return err
	}
	if err := checkAttribute(a.Value); err != nil {
		return fmt.Errorf("search attribute %s: %w", a.Name, err)
	}
	return nil
}

// reserved are the words of filters, and their names for what every run has.
var reserved = []string{
	"WorkflowId", "RunId", "WorkflowType", "ExecutionStatus", "StartTime", "CloseTime", "BuildId",
	"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "STARTS_WITH", "TRUE", "FALSE", "ORDER", "BY",
}

// CheckAttributeName returns what is wrong with the name of a search attribute, or nil: a filter
// names it without quotes.
func CheckAttributeName(name string) error {
	const longest = 64
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	plain := len(name) > 0 && len(name) <= longest && letter(name[0])
	for i := range len(name) {
		plain = plain && (letter(name[i]) || '0' <= name[i] && name[i] <= '9' || name[i] == '_')
	}
	if !plain {
		return fmt.Errorf("%q cannot be the name of a search attribute: give letters, digits and underscores, a letter first, at most 64", name)
	}
	if slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) }) {
		return fmt.Errorf("%q cannot be the name of a search attribute: filters have that word already", name)
	}
	return nil
}

func checkAttribute(v history.AttributeValue) error {
	notText := func(k string) bool { return !utf8.ValidString(k) }
	switch {
	case v.Empty():
		return errors.New("it has no value")
	case v.Keyword != nil && notText(*v.Keyword), slices.ContainsFunc(v.KeywordList, notText):
		return errors.New("the keyword is not UTF-8")
	case v.Float != nil && (math.IsNaN(*v.Float) || math.IsInf(*v.Float, 0)):
		return errors.New("it is no finite number")
	case v.Time != nil && *v.Time == 0:
		return errors.New("the zero time is no moment: leave the attribute out")
	case v.Time != nil && (*v.Time < history.FirstSecond || *v.Time > history.LastSecond):
		return errors.New("the time is before the year 0 or after 9999")
	}
	return nil
}

// after returns the visibility after an event.
func (s Visibility) after(e history.Event) Visibility {
	switch a := e.Attributes.(type) {
	case *history.WorkflowExecutionStarted:
		return Visibility{a.Memo, a.SearchAttributes}
	case *history.UpsertWorkflowSearchAttributes:
		for _, attribute := range a.SearchAttributes {
			s.SearchAttributes = s.SearchAttributes.With(attribute.Name, attribute.Value)
		}
		for _, name := range a.Removed {
			s.SearchAttributes = s.SearchAttributes.Without(name)
		}
	case *history.WorkflowPropertiesModified:
		for _, f := range a.UpsertedMemo {
			s.Memo = s.Memo.With(f.Name, f.Value)
		}
		for _, name := range a.Removed {
			s.Memo = s.Memo.Without(name)
		}
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // show nothing
	}
	return s
}

// Visibility returns what the run shows after next, its next commits.
func (r *Run) Visibility(next ...*history.Commit) Visibility {
	visibility := r.State.Visibility
	for _, c := range next {
		for part := range c.Parts() {
			for _, e := range part.InputEvents {
				visibility = visibility.after(e)
			}
			for _, e := range part.Commands {
				visibility = visibility.after(e)
			}
		}
	}
	return visibility
}

// Visibility returns what the run shows now.
func (in *Instance) Visibility() Visibility { return in.visibility }

// Show changes what the run shows, by an event: UpsertWorkflowSearchAttributes or
// WorkflowPropertiesModified. An invalid change fails the task.
func (in *Instance) Show(a history.Attributes) {
	in.s.MustRun("change the memo or the search attributes")
	visibility := in.visibility.after(history.Of(a))
	if err := visibility.Check(); err != nil {
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
	in.visibility = visibility
	in.issueEvent(a)
}
