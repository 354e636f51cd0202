package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// compiled holds the patterns of a rule. A pattern that the rule lacks is nil.
type compiled struct {
	*rule
	text, name, exact, function, qualifier, fine *regexp.Regexp
}

// isBrokenBy reports whether an identifier breaks the rule.
func (c *compiled) isBrokenBy(i identifier) bool {
	return c.name != nil && c.name.MatchString(words(i.name)) || c.exact != nil && c.exact.MatchString(i.name) ||
		i.declared && c.function != nil && c.function.MatchString(i.name) ||
		i.qualifies && c.qualifier != nil && c.qualifier.MatchString(i.name)
}

// An identifier is a name in Go code, with its place in the file. declared is true if a function
// with this name is declared there. qualifies is true if a period follows.
type identifier struct {
	name                string
	line, offset        int
	declared, qualifies bool
}

var patterns = compileAll()

func compileAll() (all []compiled) {
	compile := func(flags, pattern string) *regexp.Regexp {
		if pattern == "" {
			return nil
		}
		return regexp.MustCompile(flags + pattern)
	}
	for i := range rules {
		r := &rules[i]
		flags := "(?i)"
		if unicode.IsUpper(rune(r.word[0])) || strings.Contains(r.text, "[A-Z]") {
			flags = "" // the name of a declaration
		}
		all = append(all, compiled{r, compile(flags, r.text), compile("", r.name), compile("", r.exact), compile("", r.function), compile("", r.qualifier), compile("(?i)", r.fine)})
	}
	return all
}

// hitsIn returns the hits of all rules in a file.
func hitsIn(file, text string) hits {
	s := &inspection{file: file, text: text, lines: strings.Split(text, "\n")}
	if path.Ext(file) == ".go" {
		s.goFile(text)
	} else {
		for i, line := range s.lines {
			s.prose(i+1, line)
		}
	}
	s.widths(text)
	return s.found
}

// An inspection is the search in one file.
type inspection struct {
	file, text string
	lines      []string
	found      hits
}

func (s *inspection) add(word string, line int) {
	text := ""
	if line <= len(s.lines) {
		text = strings.TrimSpace(s.lines[line-1])
	}
	s.found = append(s.found, hit{word, s.file, line, text})
}

// slashed matches paths and addresses. A link or an import has to use the name that its folder has.
var slashed = regexp.MustCompile(`[\w.:~-]*(/[\w.-]+)+/?`)

// prose looks for words in a line of text, but not in paths.
func (s *inspection) prose(line int, text string) {
	text = slashed.ReplaceAllString(text, "")
	for _, p := range patterns {
		if p.text == nil || !p.appliesTo(s.file) {
			continue
		}
		left := without(text, p.word, s.file)
		if p.fine != nil {
			left = p.fine.ReplaceAllString(left, "")
		}
		for range p.text.FindAllString(left, -1) {
			s.add(p.word, line)
		}
	}
}

// identifier looks for words in an identifier.
func (s *inspection) identifier(i identifier) {
	for _, p := range patterns {
		if p.isBrokenBy(i) && p.appliesTo(s.file) && !isExempt(p.word, s.file, s.text, i.offset, i.name) {
			s.add(p.word, i.line)
		}
	}
}

// words splits an identifier into words: "settle child id" for SettleChildID.
func words(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		begins := unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins || r == '_' {
			b.WriteByte(' ')
		}
		if r != '_' {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// goFile looks for words in the comments, the string literals and the identifiers of Go code.
func (s *inspection) goFile(text string) {
	files := token.NewFileSet()
	file := files.AddFile(s.file, files.Base(), len(text))
	var scan scanner.Scanner
	scan.Init(file, []byte(text), nil, scanner.ScanComments)
	var names declarations
	var last *identifier // waits for the token after it
	for {
		at, kind, literal := scan.Scan()
		if last != nil {
			last.qualifies = kind == token.PERIOD
			s.identifier(*last)
			last = nil
		}
		declared := names.next(kind)
		switch line := file.Line(at); kind {
		case token.EOF:
			return
		case token.COMMENT, token.STRING:
			for i, part := range strings.Split(literal, "\n") {
				s.prose(line+i, part)
			}
		case token.IDENT:
			last = &identifier{name: literal, line: line, offset: file.Offset(at), declared: declared}
		}
	}
}

// declarations reads tokens, and finds the names of declared functions.
type declarations struct {
	after bool // the keyword func was read, and its name was not
	depth int  // of the receiver's parentheses
}

// next reads the next token, and reports whether it is the name of a declared function.
func (d *declarations) next(kind token.Token) bool {
	switch {
	case kind == token.FUNC:
		d.after, d.depth = true, 0
	case !d.after, kind == token.COMMENT:
	case kind == token.LPAREN:
		d.depth++
	case kind == token.RPAREN:
		d.depth--
	case d.depth == 0:
		d.after = false
		return kind == token.IDENT
	}
	return false
}
