package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseAllowed reads notyet.txt: lines of a number, a space and a word. Lines that begin with # are
// comments.
func parseAllowed(text string) (map[string]int, error) {
	allowed := map[string]int{}
	for line := range strings.Lines(text) {
		number, word, found := entry(line)
		if !found {
			continue
		}
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.word == word }) || number < 1 {
			return nil, fmt.Errorf("%s: no rule has this word, or its number is not above 0: %q", ratchet, line)
		}
		allowed[word] = number
	}
	return allowed, nil
}

// entry returns the number and the word of a line, and whether it is one with both.
func entry(line string) (number int, word string, found bool) {
	before, word, found := strings.Cut(strings.TrimSpace(line), " ")
	number, err := strconv.Atoi(before)
	return number, word, found && err == nil
}

// lowered returns notyet.txt with the hits that are left. No number rises, and words without hits
// go.
func lowered(text string, all hits) string {
	counts := all.counts()
	var b strings.Builder
	for line := range strings.Lines(text) {
		number, word, found := entry(line)
		switch left := min(number, counts[word]); {
		case !found:
			b.WriteString(line)
		case left > 0:
			fmt.Fprintf(&b, "%d %s\n", left, word)
		}
	}
	return b.String()
}
