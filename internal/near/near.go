// Package near finds the name that a misspelt one is like.
package near

import (
	"fmt"
	"strings"
)

// Name returns the name that is most like another one, or "" if none is like it.
func Name(to string, names []string) (near string) {
	least := 1 + max(1, len(to)/3)
	for _, name := range names {
		d := distance(strings.ToLower(name), strings.ToLower(to))
		if d < least {
			near, least = name, d
		}
	}
	if near != "" || len(to) < shortestPart {
		return near
	}
	for _, name := range names { // Status is half of ExecutionStatus
		if strings.HasSuffix(strings.ToLower(name), strings.ToLower(to)) && (near == "" || len(name) < len(near)) {
			near = name
		}
	}
	return near
}

// Hint is what an error about an unknown name ends with: the name that it is like, or nothing.
func Hint(unknown string, names []string) string {
	if like := Name(unknown, names); like != "" && like != unknown {
		return fmt.Sprintf(": did you mean %q?", like)
	}
	return ""
}

// shortestPart is how long a part of a name has to be to be taken for it.
const shortestPart = 4

// distance returns how many letters have to be added, removed or replaced to make one word of
// another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
