package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns a text without what could control a terminal: each character that does not print is
// written as Go writes it (\n, \x1b, \u202e).
func Clean(text string) string {
	if !strings.ContainsFunc(text, unprintable) && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unprintable(r) {
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }

// wide are the characters that take two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

// columnsOf returns how many columns of a terminal a character takes.
func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// columns returns how many columns of a terminal a clean text takes.
func columns(text string) (n int) {
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

// cut returns a clean text with at most most columns. A text that is cut ends in an ellipsis.
func cut(text string, most int) string {
	if columns(text) <= most {
		return text
	}
	used := 0
	for i, r := range text {
		if used += columnsOf(r); used > most-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// Style is how a cell looks on a terminal with colours.
type Style string

// The styles.
const (
	Plain Style = ""
	Bold  Style = "1"
	Dim   Style = "2"
	Bad   Style = "31"
	Good  Style = "32"
	Warn  Style = "33"
	Info  Style = "36"
)

// paint returns a text in a style.
func (s Style) paint(text string) string {
	if s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Painted returns a clean text in a style, if the session has colours.
func (s *Session) Painted(style Style, text string) string {
	if text = Clean(text); s.Colour {
		return style.paint(text)
	}
	return text
}
