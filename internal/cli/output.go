package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Output is the flags of a command that prints something.
type Output struct {
	Output string `short:"o" enum:"table,json,jsonl,auto" default:"${output}" help:"How to print: table, json, or jsonl, a JSON value in each line. auto is table on a terminal, and json elsewhere."`
	Quiet  bool   `short:"q" help:"Print ids only, one in each line."`
}

// List is how the things of a list are printed.
type List[T any] struct {
	Columns []Column
	Row     func(T) []Cell
	// ID returns what --quiet prints.
	ID func(T) string
	// JSON returns what is printed as JSON; nil prints the thing itself.
	JSON func(T) any
}

// Print prints things page by page, as they come. It returns the first error of the pages.
func (l List[T]) Print(s *Session, o Output, pages iter.Seq2[[]T, error]) error {
	print, end := l.printer(s, o)
	for page, err := range pages {
		if err == nil {
			err = print(page)
		}
		if err != nil {
			return err
		}
	}
	return end()
}

// Pages returns things as a single page.
func Pages[T any](all []T) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) { yield(all, nil) }
}

// form returns how to print.
func (o Output) form(s *Session) string {
	switch {
	case o.Output != "auto":
		return o.Output
	case s.Width > 0:
		return "table"
	}
	return "json"
}

// JSON reports whether a JSON value is printed.
func (o Output) JSON(s *Session) bool { return !o.Quiet && o.form(s) == "json" }

// IsJSON reports whether JSON is printed: a value, or one in each line.
func (o Output) IsJSON(s *Session) bool { return o.form(s) != "table" }

// printer returns what prints a page, and what is called after the last one.
func (l List[T]) printer(s *Session, o Output) (print func([]T) error, end func() error) {
	end = func() error { return nil }
	switch {
	case o.Quiet:
		return func(page []T) error {
			return eachLine(s, page, func(one T) (string, error) { return Clean(l.ID(one)), nil })
		}, end
	case o.form(s) == "jsonl":
		return func(page []T) error {
			return eachLine(s, page, func(one T) (string, error) { return s.encode(l.value(one), "") })
		}, end
	case o.form(s) == "json":
		return l.array(s)
	}
	t := &table{session: s, columns: l.Columns}
	return func(page []T) error {
		rows := make([][]Cell, len(page))
		for i, one := range page {
			rows[i] = l.Row(one)
		}
		return t.print(rows)
	}, end
}

func (l List[T]) value(one T) any {
	if l.JSON != nil {
		return l.JSON(one)
	}
	return one
}

// array prints pages as one JSON array.
func (l List[T]) array(s *Session) (print func([]T) error, end func() error) {
	before := "["
	print = func(page []T) error {
		var out strings.Builder
		for _, one := range page {
			text, err := s.encode(l.value(one), "  ")
			if err != nil {
				return err
			}
			out.WriteString(before + "\n  " + strings.ReplaceAll(text, "\n", "\n  "))
			before = ","
		}
		_, err := io.WriteString(s, out.String())
		return err
	}
	end = func() error {
		if before == "[" {
			return Line(s, "[]")
		}
		return Line(s, "\n]")
	}
	return print, end
}

func eachLine[T any](s *Session, page []T, line func(T) (string, error)) error {
	var out strings.Builder
	for _, one := range page {
		text, err := line(one)
		if err != nil {
			return err
		}
		out.WriteString(text + "\n")
	}
	_, err := io.WriteString(s, out.String())
	return err
}

// encode returns a value as JSON, without a line break at the end.
func (s *Session) encode(v any, indent string) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return s.safe(strings.TrimSuffix(out.String(), "\n")), err
}

// One prints a single thing: for people with text, as JSON, or its id.
func (o Output) One(s *Session, id string, value any, text func() error) error {
	switch form := o.form(s); {
	case o.Quiet:
		return Line(s, "%s", Clean(id))
	case form == "json", form == "jsonl":
		indent := "  "
		if form == "jsonl" {
			indent = ""
		}
		encoded, err := s.encode(value, indent)
		if err != nil {
			return err
		}
		return Line(s, "%s", encoded)
	}
	return text()
}

// Payload prints an encoded payload: as it is for people, compact for jsonl.
func (o Output) Payload(s *Session, payload []byte) error {
	if len(payload) == 0 {
		payload = []byte("null")
	}
	var out bytes.Buffer
	var err error
	if o.Output == "jsonl" || o.Quiet {
		err = json.Compact(&out, payload)
	} else {
		err = json.Indent(&out, payload, "", "  ")
	}
	if err != nil {
		return err
	}
	return Line(s, "%s", s.safe(out.String()))
}

// safe returns lines without what could control a terminal, if they are written to one.
func (s *Session) safe(text string) string {
	if s.Width == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Line prints a line.
func Line(s *Session, format string, args ...any) error {
	_, err := fmt.Fprintf(s, format+"\n", args...)
	return err
}
