package cli

import (
	"io"
	"slices"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Name string
	// Least is the narrowest that the column may become on a terminal that is too narrow for the
	// table; 0 if it is never cut.
	Least int
	// First says that the column is cut before those without it: it says least.
	First bool
	// Right aligns the column to the right, for numbers.
	Right bool
}

// Cell is a text in a table.
type Cell struct {
	Text  string
	Style Style
}

// gap separates the columns.
const gap = "  "

// table prints rows below each other. Its columns become as wide as their widest cell. On a
// terminal it cuts cells, so that a row is one line; elsewhere it cuts nothing.
type table struct {
	session *Session
	columns []Column
	widths  []int
	begun   bool
}

// print prints rows, and before the first ones the header.
func (t *table) print(rows [][]Cell) error {
	for _, row := range rows {
		for i := range row {
			row[i].Text = Clean(row[i].Text)
		}
	}
	if !t.begun {
		header := make([]Cell, len(t.columns))
		for i, c := range t.columns {
			header[i] = Cell{c.Name, Dim}
		}
		rows = slices.Insert(slices.Clone(rows), 0, header)
		t.begun, t.widths = true, make([]int, len(t.columns))
	}
	for _, row := range rows {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], columns(cell.Text))
		}
	}
	t.fit()
	var out strings.Builder
	for _, row := range rows {
		t.line(&out, row)
	}
	_, err := io.WriteString(t.session, out.String())
	return err
}

// fit makes the widest columns that may be cut narrower, and before them those that are cut first,
// until a row fits the terminal.
func (t *table) fit() {
	if t.session.Width == 0 {
		return
	}
	for {
		total, widest := len(gap)*(len(t.widths)-1), -1
		for i, w := range t.widths {
			total += w
			if least := t.columns[i].Least; least > 0 && w > least && (widest < 0 || t.before(i, widest)) {
				widest = i
			}
		}
		if total <= t.session.Width || widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

// before reports whether a column is cut before another one.
func (t *table) before(i, other int) bool {
	if first := t.columns[i].First; first != t.columns[other].First {
		return first
	}
	return t.widths[i] > t.widths[other]
}

// line adds a row.
func (t *table) line(out *strings.Builder, row []Cell) {
	var line strings.Builder
	for i, cell := range row {
		text := cell.Text
		if t.columns[i].Least > 0 && t.session.Width > 0 {
			text = cut(text, t.widths[i])
		}
		padding := strings.Repeat(" ", max(0, t.widths[i]-columns(text)))
		if t.session.Colour {
			text = cell.Style.paint(text)
		}
		if t.columns[i].Right {
			line.WriteString(padding + text)
		} else {
			line.WriteString(text + padding)
		}
		if i < len(row)-1 {
			line.WriteString(gap)
		}
	}
	out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
