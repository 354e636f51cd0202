// Words is a linter of words. It rejects the words that Weft does not use, in comments, string
// literals, identifiers, documents and scripts, and lines that are too long. rules.go lists the
// words, with what to write instead.
//
// It reads the files that git tracks in a repository:
//
//	words ROOT            fails if a word has more hits than notyet.txt allows
//	words -list ROOT      lists all hits
//	words -since REV ROOT lists the hits in lines that the revision does not have
//	words -rewrite ROOT   lowers the numbers of notyet.txt to the hits that are left
//
// A word that notyet.txt does not list has to have no hits.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ratchet is the file of the hits that are left, below the root.
const ratchet = "tools/words/notyet.txt"

// shown is how many hits of a word are printed when it has too many.
const shown = 10

func main() {
	var o options
	flag.BoolVar(&o.list, "list", false, "list all hits")
	flag.StringVar(&o.since, "since", "", "list the hits in lines that this revision does not have")
	flag.BoolVar(&o.rewrite, "rewrite", false, "lower the numbers of "+ratchet)
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: words [-list | -since REV | -rewrite] ROOT")
		os.Exit(2)
	}
	if err := o.run(flag.Arg(0), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// options say what to do with the hits; the zero value judges them.
type options struct {
	list, rewrite bool
	since         string
}

// run searches the repository at root.
func (o options) run(root string, out io.Writer) error {
	paths, err := tracked(root)
	if err != nil {
		return err
	}
	all, err := search(os.DirFS(root), paths)
	switch {
	case err != nil:
		return err
	case o.list:
		all.print(out)
		return nil
	case o.since != "":
		lines, err := addedSince(root, o.since)
		all.in(lines).print(out)
		return err
	}
	return o.compare(root, all, out)
}

// compare compares the hits with notyet.txt.
func (o options) compare(root string, all hits, out io.Writer) error {
	path := filepath.Join(root, ratchet)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	allowed, err := parseAllowed(string(text))
	if err != nil {
		return err
	}
	if o.rewrite {
		return os.WriteFile(path, []byte(lowered(string(text), all)), 0o644)
	}
	return judge(all, allowed, out)
}

// tracked returns the files of a repository that git tracks. In a merge, git lists a file once for
// each side.
func tracked(root string) ([]string, error) {
	command := exec.Command("git", "-C", root, "ls-files", "-z")
	command.Stderr = os.Stderr
	out, err := command.Output()
	return slices.Compact(strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })), err
}

// search returns the hits of all rules in these files. A path that is not in the file system is
// skipped: git tracks it until its removal is committed.
func search(files fs.FS, paths []string) (hits, error) {
	var all hits
	for _, path := range paths {
		if excluded(path) != "" {
			continue
		}
		text, err := fs.ReadFile(files, path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, hitsIn(path, string(text))...)
	}
	return all, nil
}

// judge fails if a rule has more hits than are allowed, and prints the first of them.
func judge(all hits, allowed map[string]int, out io.Writer) error {
	counts, failed := all.counts(), false
	for _, r := range rules {
		n, most := counts[r.word], allowed[r.word]
		switch {
		case n > most:
			failed = true
			_, _ = fmt.Fprintf(out, "%q has %d hits, and %d are allowed: write %s (%s)\n", r.word, n, most, r.instead, r.why)
			all.of(r.word)[:min(n, shown)].print(out)
		case n < most:
			_, _ = fmt.Fprintf(out, "%q has %d hits, and %d are allowed: lower that (cd tools && go run ./words -rewrite ..)\n", r.word, n, most)
		}
	}
	if failed {
		return errors.New("new hits: cd tools && go run ./words -since main .. lists those that a branch adds")
	}
	return nil
}

// A hit is a place that breaks a rule.
type hit struct {
	word, path string
	line       int
	text       string
}

type hits []hit

func (h hits) counts() map[string]int {
	counts := map[string]int{}
	for _, one := range h {
		counts[one.word]++
	}
	return counts
}

func (h hits) of(word string) hits {
	return slices.DeleteFunc(slices.Clone(h), func(one hit) bool { return one.word != word })
}

func (h hits) print(out io.Writer) {
	for _, one := range h {
		_, _ = fmt.Fprintf(out, "  %s:%d: %s: %s\n", one.path, one.line, one.word, one.text)
	}
}
