package filter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/near"
)

// MaxLength is how long a filter may be, in bytes, and MaxDepth how deep its parentheses may be
// nested.
const (
	MaxLength = 4 << 10
	MaxDepth  = 32
)

// grammar is a filter as it is written.
type grammar struct {
	Where *either `parser:"@@?"`
	Order *order  `parser:"( 'ORDER' 'BY' @@ )?"`
}

// either holds if one of its members does.
type either struct {
	Any []*both `parser:"@@ ( 'OR' @@ )*"`
}

// both holds if all of its members do.
type both struct {
	All []*term `parser:"@@ ( 'AND' @@ )*"`
}

// term is a group or a condition, turned around by each NOT in front of it.
type term struct {
	Nots      []string   `parser:"@'NOT'*"`
	Group     *either    `parser:"( '(' @@ ')'"`
	Condition *Condition `parser:"| (?! 'ORDER' 'BY' ) @@ )"`
}

type order struct {
	By        string `parser:"@Ident"`
	Direction string `parser:"@( 'ASC' | 'DESC' )?"`
}

// Condition is a condition on one attribute. Without an operator the attribute has to be TRUE.
type Condition struct {
	Name       string      `parser:"@Ident ("`
	Compare    *comparison `parser:"( @@"`
	In         []*value    `parser:"| 'IN' '(' @@ ( ',' @@ )* ')'"`
	Between    *span       `parser:"| 'BETWEEN' @@"`
	StartsWith *text       `parser:"| 'STARTS_WITH' @String"`
	Null       *null       `parser:"| @@ )? )"`
}

type comparison struct {
	Operator string `parser:"@Operator"`
	Value    *value `parser:"@@"`
}

type span struct {
	First *value `parser:"@@ 'AND'"`
	Last  *value `parser:"@@"`
}

type null struct {
	Not bool `parser:"'IS' @'NOT'? 'NULL'"`
}

// value is a value: one of its members is set.
type value struct {
	Text   *text   `parser:"@String"`
	Number *number `parser:"| @Number"`
	Bool   *truth  `parser:"| @( 'TRUE' | 'FALSE' )"`
}

// text is a text, and the moment that it denotes, if any.
type text struct {
	string
	time   time.Time
	moment bool
}

// Capture reads a text in quotes.
func (t *text) Capture(values []string) error {
	quoted := values[0]
	quote := quoted[:1]
	t.string = strings.ReplaceAll(quoted[1:len(quoted)-1], quote+quote, quote)
	at, err := time.Parse(time.RFC3339, t.string)
	t.time, t.moment = at, err == nil
	return nil
}

// number is a number, exact if it is whole.
type number struct {
	float  float64
	int    int64
	whole  bool
	beyond bool // it is whole, but no int64
}

// Capture reads a number.
func (n *number) Capture(values []string) (err error) {
	if n.int, err = strconv.ParseInt(values[0], 10, 64); err == nil {
		n.whole, n.float = true, float64(n.int)
		return nil
	}
	n.beyond = errors.Is(err, strconv.ErrRange)
	n.float, err = strconv.ParseFloat(values[0], 64)
	return err
}

type truth bool

// Capture reads TRUE or FALSE.
func (b *truth) Capture(values []string) error {
	*b = truth(strings.EqualFold(values[0], "TRUE"))
	return nil
}

// parser is built for the first filter, so that no other request, and no start of a function, waits
// for it.
var parser = sync.OnceValue(func() *participle.Parser[grammar] {
	return participle.MustBuild[grammar](
		participle.Lexer(lexer.MustSimple([]lexer.SimpleRule{
			{Name: "Ident", Pattern: `[A-Za-z][A-Za-z0-9_]*`},
			{Name: "Number", Pattern: `[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?`},
			{Name: "String", Pattern: `'(''|[^'])*'|"(""|[^"])*"`},
			{Name: "Operator", Pattern: `!=|<=|>=|=|<|>`},
			{Name: "Punctuation", Pattern: `[(),]`},
			{Name: "whitespace", Pattern: `\s+`},
		})),
		participle.CaseInsensitive("Ident"), participle.Elide("whitespace"), participle.UseLookahead(1),
	)
})

// Parse reads a filter; an empty one selects all. The error says what is wrong, and where.
func Parse(filter string) (*Filter, error) {
	if strings.TrimSpace(filter) == "" {
		return &Filter{}, nil
	}
	if len(filter) > MaxLength {
		return nil, fmt.Errorf("the filter has %d bytes: give at most %d", len(filter), MaxLength)
	}
	if depth(filter) > MaxDepth {
		return nil, fmt.Errorf("the filter is nested deeper than %d parentheses: write it flatter", MaxDepth)
	}
	g, err := parser().ParseString("", filter)
	if err != nil {
		return nil, fmt.Errorf("the filter cannot be read, %s; it is for example WorkflowType = 'cart' AND (Amount > 5 OR NOT Paid = TRUE)", problem(err))
	}
	f := &Filter{}
	if g.Where != nil {
		f.all = []*either{g.Where}
	}
	for c := range f.conditions {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("the filter: %w", err)
		}
	}
	if err := f.setOrder(g.Order); err != nil {
		return nil, fmt.Errorf("the filter: %w", err)
	}
	return f, nil
}

// depth returns how deep the parentheses of a filter are nested, without parsing it: the parser
// calls itself for each level.
func depth(filter string) (deepest int) {
	open, quote := 0, byte(0)
	for i := range len(filter) {
		switch c := filter[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			open++
		case c == ')':
			open--
		}
		deepest = max(deepest, open)
	}
	return deepest
}

// problem returns where the parser stopped, and why, without the names of its rules.
func problem(err error) string {
	var at participle.Error
	var unexpected *participle.UnexpectedTokenError
	switch {
	case errors.As(err, &unexpected) && unexpected.Unexpected.EOF():
		return "something is missing at its end"
	case errors.As(err, &unexpected):
		return fmt.Sprintf("at character %d: %q is not expected there", unexpected.Position().Column, unexpected.Unexpected.Value)
	case errors.As(err, &at):
		return fmt.Sprintf("at character %d: %s", at.Position().Column, at.Message())
	}
	return err.Error()
}

// texts returns the texts that a condition compares with.
func (c *Condition) texts() (all []*text, others bool) {
	var values []*value
	switch {
	case c.Compare != nil:
		values = []*value{c.Compare.Value}
	case c.Between != nil:
		values = []*value{c.Between.First, c.Between.Last}
	default:
		values = c.In
	}
	for _, v := range values {
		if v.Text == nil {
			others = true
			continue
		}
		all = append(all, v.Text)
	}
	return all, others
}

// check refuses a condition that no run can meet.
func (c *Condition) check() error {
	b, ok := builtins[c.Name]
	if !ok {
		if near := EveryRunHas(c.Name); near != "" {
			return fmt.Errorf("there is no %s: it is written %s", c.Name, near)
		}
		if c.bare() {
			return c.errBare()
		}
		return engine.CheckAttributeName(c.Name)
	}
	texts, others := c.texts()
	if b == aBool {
		return c.checkBool(len(texts) > 0)
	}
	if c.bare() {
		return c.errBare()
	}
	if others {
		return fmt.Errorf("%s is compared with a text, in quotes", c.Name)
	}
	switch b {
	case aMoment:
		if c.StartsWith != nil || slices.ContainsFunc(texts, func(t *text) bool { return !t.moment }) {
			return fmt.Errorf("%s is compared with a time, for example '2026-11-21T17:45:00Z'", c.Name)
		}
	case aStatus:
		if c.StartsWith != nil || c.Between != nil || c.Compare != nil && c.Compare.Operator != "=" && c.Compare.Operator != "!=" {
			return fmt.Errorf("%s is compared with =, != and IN", c.Name)
		}
		for _, t := range texts {
			if t.string != "" {
				t.string = strings.ToLower(t.string[:1]) + t.string[1:]
			}
			var s history.Status
			if err := s.UnmarshalText([]byte(t.string)); err != nil {
				return err
			}
		}
	}
	return nil
}

// bare reports whether the condition is a name alone.
func (c *Condition) bare() bool {
	return c.Compare == nil && c.In == nil && c.Between == nil && c.StartsWith == nil && c.Null == nil
}

func (c *Condition) errBare() error {
	if known := near.Name(c.Name, []string{"Stuck", "Paused", "Retrying"}); known != "" { // those that may be alone
		return fmt.Errorf("%s has no operator: is it %s?", c.Name, known)
	}
	return fmt.Errorf("%s has no operator: give for example %s = 'x', or %s IS NOT NULL", c.Name, c.Name, c.Name)
}

// checkBool refuses a condition on a boolean that no run can meet.
func (c *Condition) checkBool(texts bool) error {
	equal := c.Compare != nil && (c.Compare.Operator == "=" || c.Compare.Operator == "!=") && c.Compare.Value.Bool != nil
	if !c.bare() && !equal || texts {
		return fmt.Errorf("%s is TRUE or FALSE: give %s, NOT %s, or %s = FALSE", c.Name, c.Name, c.Name, c.Name)
	}
	return nil
}
