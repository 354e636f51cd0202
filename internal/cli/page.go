package cli

import "strings"

// Page is a text about one thing, for people: names with their values, and below them tables and
// texts with a title. What is empty is left out.
type Page struct {
	session *Session
	fields  [][2]Cell
	below   []func() error
}

// NewPage returns an empty page.
func NewPage(s *Session) *Page { return &Page{session: s} }

// Field adds a name with its value, unless the value is empty.
func (p *Page) Field(name, value string) { p.Styled(name, Cell{Text: value}) }

// Styled is Field in a style.
func (p *Page) Styled(name string, value Cell) {
	if value.Text != "" {
		p.fields = append(p.fields, [2]Cell{{name, Dim}, value})
	}
}

// Table adds a table below the fields, unless it has no rows.
func (p *Page) Table(title string, columns []Column, rows [][]Cell) {
	if len(rows) == 0 {
		return
	}
	p.section(title, func() error { return (&table{session: p.session, columns: columns}).print(rows) })
}

// Text adds a text of several lines below the fields, unless it is empty.
func (p *Page) Text(title, text string) {
	if text == "" {
		return
	}
	p.section(title, func() error {
		for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
			if err := Line(p.session, "  %s", Clean(strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *Page) section(title string, print func() error) {
	p.below = append(p.below, func() error {
		if err := Line(p.session, "\n%s", p.session.Painted(Bold, title)); err != nil {
			return err
		}
		return print()
	})
}

// Print prints the page.
func (p *Page) Print() error {
	widest := 0
	for _, f := range p.fields {
		widest = max(widest, columns(f[0].Text))
	}
	for _, f := range p.fields {
		padding := strings.Repeat(" ", widest-columns(f[0].Text))
		if err := Line(p.session, "%s%s  %s", p.session.Painted(f[0].Style, f[0].Text), padding, p.session.Painted(f[1].Style, f[1].Text)); err != nil {
			return err
		}
	}
	for _, print := range p.below {
		if err := print(); err != nil {
			return err
		}
	}
	return nil
}
