package main

import (
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The names of the rules for lengths, and their limits.
const (
	wideMarkdown, markdownColumns         = "wide Markdown", 120
	wideComment, commentColumns           = "wide comment", 100
	widePreformatted, preformattedColumns = "wide drawing, table or example", 120
	tab                                   = "    "
)

var (
	// noProse matches comments that tools read. Each has to be one line.
	noProse = regexp.MustCompile(`^\s*//(go:|nolint|weftvet:|lint:|\s*want )`)
	// unbroken matches text that cannot be wrapped: a path, an address or a link in a list, perhaps
	// after a label.
	unbroken = regexp.MustCompile(`^\s*(//|#|[-*]|\d+\.)?\s*(\*\*\w+\*\*: )?\S+$`)
	// preformatted matches a line of a drawing, a table or an example in a Go comment. go doc
	// prints it as it is, so it cannot be wrapped like prose.
	preformatted = regexp.MustCompile(`^\s*//\t`)
)

// widths finds lines that are too long.
func (s *inspection) widths(text string) {
	switch path.Ext(s.file) {
	case ".md":
		s.markdown()
	case ".go":
		s.comments("//")
	case ".sh", ".yaml", ".yml", ".tf", "":
		s.comments("#")
	}
}

// markdown finds long lines. Code, tables and headings cannot be wrapped.
func (s *inspection) markdown() {
	code := false
	for i, line := range s.lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		whole := strings.HasPrefix(strings.TrimSpace(line), "|") || strings.HasPrefix(line, "#")
		if !code && !whole && columns(line) > markdownColumns && !unbroken.MatchString(line) {
			s.add(wideMarkdown, i+1)
		}
	}
}

// comments finds long lines that consist of a comment.
func (s *inspection) comments(begin string) {
	for i, line := range s.lines {
		if !strings.HasPrefix(strings.TrimSpace(line), begin) || noProse.MatchString(line) || unbroken.MatchString(line) {
			continue
		}
		word, most := wideComment, commentColumns
		if preformatted.MatchString(line) {
			word, most = widePreformatted, preformattedColumns
		}
		if columns(line) > most {
			s.add(word, i+1)
		}
	}
}

func columns(line string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", tab))
}
