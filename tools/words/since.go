package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// lines are parts of files: from and to are numbers of lines, to is not among them.
type lines struct {
	path     string
	from, to int
}

var (
	newFile = regexp.MustCompile(`^\+\+\+ b/(.*)$`)
	hunk    = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)
)

// addedSince returns the lines of a repository that a revision does not have.
func addedSince(root, revision string) ([]lines, error) {
	command := exec.Command("git", "-C", root, "diff", "--no-color", "--no-ext-diff", "-U0", revision, "--")
	command.Stderr = os.Stderr
	out, err := command.Output()
	return added(string(out)), err
}

// added returns the lines that a unified diff adds.
func added(diff string) (all []lines) {
	path := ""
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if name := newFile.FindStringSubmatch(line); name != nil {
			path = name[1]
		} else if at := hunk.FindStringSubmatch(line); at != nil {
			from, _ := strconv.Atoi(at[1])
			count, err := strconv.Atoi(at[2])
			if err != nil {
				count = 1 // a diff leaves it out
			}
			all = append(all, lines{path, from, from + count})
		}
	}
	return all
}

// in returns the hits in some lines.
func (h hits) in(all []lines) hits {
	return slices.DeleteFunc(slices.Clone(h), func(one hit) bool {
		return !slices.ContainsFunc(all, func(l lines) bool { return l.path == one.path && l.from <= one.line && one.line < l.to })
	})
}
