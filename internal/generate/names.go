package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// scope gives out names, each once.
type scope struct{ taken map[string]bool }

func newScope(reserved []string) *scope {
	s := &scope{map[string]bool{}}
	for _, name := range reserved {
		s.taken[name] = true
	}
	return s
}

// name returns the first of the candidates that is free. If none is, it returns the last with a
// number.
func (s *scope) name(candidates ...string) string {
	for _, c := range candidates {
		if !s.taken[c] {
			s.taken[c] = true
			return c
		}
	}
	last := candidates[len(candidates)-1]
	for n := 2; ; n++ {
		if c := last + strconv.Itoa(n); !s.taken[c] {
			s.taken[c] = true
			return c
		}
	}
}

// words splits a name of the contract at everything that is not part of an identifier in all
// languages, and where a small letter or a digit is followed by a capital: "addItem", "add-item"
// and "add_item" have the same words. "SKUList" is "SKU" and "List".
func words(name string) (words []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if !inIdentifier(r) {
			end()
			continue
		}
		if len(word) > 0 && unicode.IsUpper(r) {
			before := word[len(word)-1]
			if !unicode.IsUpper(before) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}

// identifierRanges are letters that each language takes in a name, and that no language replaces by
// others: Python normalizes names (NFKC).
var identifierRanges = [][2]rune{
	{'0', '9'},
	{'A', 'Z'},
	{'a', 'z'},
	{'À', 'Ö'},
	{'Ø', 'ö'},
	{'ø', 'ı'},
	{'Ĵ', 'ľ'},
	{'Ł', 'ň'},
	{'Ŋ', 'ž'},
	{'Α', 'Ρ'},
	{'Σ', 'Ω'},
	{'α', 'ω'},
	{'А', 'я'},
	{'ぁ', 'ゖ'},
	{'ァ', 'ヺ'},
	{'一', '龥'},
	{'가', '힣'},
}

func inIdentifier(r rune) bool {
	return slices.ContainsFunc(identifierRanges, func(in [2]rune) bool { return in[0] <= r && r <= in[1] })
}

// capital returns a word with its first letter as a capital.
func capital(word string) string {
	runes := []rune(word)
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

// pascal returns a name for a type: "AddItem". It begins with a capital letter of the alphabet, or
// with a letter that has no case.
func pascal(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(capital(w))
	}
	return begin(b.String(), "T")
}

// exported returns a name for a type or a field that other packages of Go can use.
func exported(name string) string {
	p := pascal(name)
	if !unicode.IsUpper([]rune(p)[0]) {
		return "X" + p
	}
	return p
}

// camel returns a name for a method: "addItem".
func camel(name string) string {
	var b strings.Builder
	for i, w := range words(name) {
		if i == 0 {
			b.WriteString(strings.ToLower(w))
			continue
		}
		b.WriteString(capital(w))
	}
	return begin(b.String(), "x")
}

// snake returns a name for a method: "add_item".
func snake(name string) string {
	return begin(strings.ToLower(strings.Join(words(name), "_")), "x")
}

// begin puts a letter before a name that is empty, or that begins with a digit.
func begin(name, letter string) string {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return letter + name
	}
	return name
}

// isIdentifier reports whether a name of the contract can be written without quotes.
func isIdentifier(name string) bool {
	for i, r := range name {
		if !inIdentifier(r) && r != '_' || i == 0 && '0' <= r && r <= '9' {
			return false
		}
	}
	return name != ""
}

// lines returns the lines of a comment, without what could end a line or hide text. Escape what a
// language gives a meaning afterwards: what is left out here may stand between two characters that
// have one together.
func lines(text string) (all []string) {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
			return '\n'
		case r == '\t':
			return ' '
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.TrimSpace(text))
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, strings.TrimRight(line, " "))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// quote returns a text in double quotes. What cannot be seen, and each of the others, is escaped: as
// \u0000, and as astral says if it needs more than four digits.
func quote(text, others string, astral func(rune) string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r > 0xFFFF && !unicode.IsGraphic(r):
			b.WriteString(astral(r))
		case !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) || strings.ContainsRune(others, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
