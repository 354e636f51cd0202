package filter

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// The kinds of the attributes that every run has.
const (
	aText = iota
	aStatus
	aMoment
	aBool
)

// builtins are the names of the attributes that every run has.
var builtins = map[string]int{
	"WorkflowId": aText, "RunId": aText, "WorkflowType": aText, "BuildId": aText, "ExecutionStatus": aStatus,
	"StartTime": aMoment, "CloseTime": aMoment,
	"Stuck": aBool, "StuckSince": aMoment, "FailureType": aText, "Paused": aBool, "PausedSince": aMoment,
	"Retrying": aBool, "FailingActivity": aText, "CloseReason": aText, "ParentWorkflowId": aText,
}

// EveryRunHas returns the name that filters have for what every run has, if it differs from this
// one only in case, and "" otherwise.
func EveryRunHas(name string) string {
	for b := range builtins {
		if strings.EqualFold(b, name) {
			return b
		}
	}
	return ""
}

// bounds returns moments outside of which nothing meets a condition on a moment; zero if there is
// no bound.
func (c *Condition) bounds() (after, before time.Time) {
	const precision = time.Microsecond
	low := func(v *value) time.Time { return v.Text.time.Add(-precision) }
	high := func(v *value) time.Time { return v.Text.time.Add(precision) }
	switch {
	case c.Between != nil:
		return low(c.Between.First), high(c.Between.Last)
	case c.Compare == nil:
		return after, before
	}
	v := c.Compare.Value
	switch c.Compare.Operator {
	case "=":
		return low(v), high(v)
	case ">", ">=":
		return low(v), before
	case "<", "<=":
		return after, high(v)
	}
	return after, before
}

// builtin returns the value of an attribute that every run has.
func builtin(s *subject, name string) (v history.AttributeValue, there bool) {
	keyword := func(s string) (history.AttributeValue, bool) { return history.NewAttributeValue(s), s != "" }
	moment := func(t time.Time) (history.AttributeValue, bool) { return history.NewAttributeValue(t), !t.IsZero() }
	row := s.row
	switch name {
	case "Stuck":
		return history.NewAttributeValue(s.known().Stuck != nil), true
	case "StuckSince":
		if stuck := s.known().Stuck; stuck != nil {
			return moment(stuck.Since.Time())
		}
	case "FailureType":
		if stuck := s.known().Stuck; stuck != nil {
			return keyword(stuck.FailureType)
		}
	case "Paused":
		return history.NewAttributeValue(s.known().Paused != 0), true
	case "PausedSince":
		if since := s.known().Paused; since != 0 {
			return moment(since.Time())
		}
	case "Retrying", "FailingActivity":
		return s.retried(name)
	case "CloseReason":
		return keyword(s.known().CloseReason)
	case "ParentWorkflowId":
		return keyword(s.known().Parent)
	case "WorkflowId":
		return keyword(row.Workflow)
	case "RunId":
		return keyword(row.RunID)
	case "WorkflowType":
		return keyword(row.Type)
	case "BuildId":
		return keyword(row.Build)
	case "ExecutionStatus":
		return keyword(row.Status)
	case "StartTime":
		return moment(row.Started)
	case "CloseTime":
		return moment(row.Closed)
	}
	return v, false
}

func (c *Condition) meets(v history.AttributeValue, there bool) bool {
	switch {
	case c.bare():
		return v.Bool != nil && *v.Bool
	case c.Null != nil:
		return there == c.Null.Not
	case !there:
		return false
	case c.Compare != nil:
		return c.Compare.meets(v)
	case c.Between != nil:
		return holds(">=", v, c.Between.First) && holds("<=", v, c.Between.Last)
	case c.StartsWith != nil:
		return slices.ContainsFunc(keywords(v), func(k string) bool { return strings.HasPrefix(k, c.StartsWith.string) })
	}
	return slices.ContainsFunc(c.In, func(to *value) bool { return holds("=", v, to) })
}

func keywords(v history.AttributeValue) []string {
	if v.Keyword != nil {
		return []string{*v.Keyword}
	}
	return v.KeywordList
}

func (c *comparison) meets(v history.AttributeValue) bool {
	if c.Operator == "!=" && v.KeywordList != nil {
		return c.Value.Text != nil && !slices.Contains(v.KeywordList, c.Value.Text.string)
	}
	return holds(c.Operator, v, c.Value)
}

// holds reports whether a value, or an element of a list, compares with another one as the operator
// says.
func holds(operator string, v history.AttributeValue, to *value) bool {
	switch {
	case to.Text != nil && v.Time != nil:
		return to.Text.moment && ordered(operator, v.Time.Time().Compare(to.Text.time))
	case to.Text != nil:
		return slices.ContainsFunc(keywords(v), func(k string) bool { return ordered(operator, strings.Compare(k, to.Text.string)) })
	case to.Number != nil && v.Int != nil && to.Number.whole:
		return ordered(operator, cmp.Compare(*v.Int, to.Number.int))
	case to.Number != nil && v.Int != nil:
		return ordered(operator, to.Number.order(*v.Int))
	case to.Number != nil && v.Float != nil:
		return ordered(operator, cmp.Compare(*v.Float, to.Number.float))
	case to.Bool != nil && v.Bool != nil:
		return operator == "=" && *v.Bool == bool(*to.Bool) || operator == "!=" && *v.Bool != bool(*to.Bool)
	}
	return false
}

// order compares an int64 with a number that is not whole, or beyond every int64. Unlike a
// comparison of float64s it is exact.
func (n *number) order(i int64) int {
	switch {
	case n.float >= 1<<63:
		return -1
	case n.float < -1<<63, n.beyond: // the float64 of one that is a little less is -1<<63
		return 1
	}
	truncated := math.Trunc(n.float)
	return cmp.Or(cmp.Compare(i, int64(truncated)), cmp.Compare(truncated, n.float))
}

func ordered(operator string, order int) bool {
	switch operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
