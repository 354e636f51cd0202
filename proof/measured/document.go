package measured

import (
	"fmt"
	"os"
	"strings"
)

// Section is the text between two marks of a document: tables that a program prints.
type Section struct {
	Text string

	path, before, after string
}

// ReadSection reads the section of a document that begins after one mark and ends before another.
func ReadSection(path, begin, end string) (*Section, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	before, rest, found := strings.Cut(string(text), begin)
	there, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return nil, fmt.Errorf("%s has no section between %q and %q", path, begin, end)
	}
	return &Section{there, path, before + begin, end + after}, nil
}

// Replace writes the document with another text in the section.
func (s *Section) Replace(text string) error {
	return os.WriteFile(s.path, []byte(s.before+text+s.after), 0o644)
}

// Commas puts commas between groups of three digits of a whole number. Digits after a point stay as
// they are.
func Commas(number string) string {
	whole, _, _ := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		number = number[:i] + "," + number[i:]
	}
	return number
}
