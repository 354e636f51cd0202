// Words is a linter of words. It rejects the words that Weft does not use, in comments, string literals, identifiers,
// documents and scripts, and lines that are too long. rules.go lists the words, with what to write instead.
//
// It reads the files that git tracks in a repository:
//
//	words ROOT            fails if a word has more hits than notyet.txt allows
//	words -list ROOT      lists all hits
//	words -rewrite ROOT   lowers the numbers of notyet.txt to the hits that are left
//
// A word that notyet.txt does not list has to have no hits.
package main

import (
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

func main() {
	list := flag.Bool("list", false, "list all hits")
	rewrite := flag.Bool("rewrite", false, "lower the numbers of "+ratchet)
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: words [-list | -rewrite] ROOT")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *list, *rewrite, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// run checks the repository at root.
func run(root string, list, rewrite bool, out io.Writer) error {
	paths, err := tracked(root)
	if err != nil {
		return err
	}
	all, err := search(os.DirFS(root), paths)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, ratchet))
	if err != nil {
		return err
	}
	allowed, err := parseAllowed(string(text))
	switch {
	case err != nil:
		return err
	case list:
		all.print(out)
		return nil
	case rewrite:
		return os.WriteFile(filepath.Join(root, ratchet), []byte(lowered(string(text), all)), 0o644)
	}
	return judge(all, allowed, out)
}

// tracked returns the files of a repository that git tracks.
func tracked(root string) ([]string, error) {
	command := exec.Command("git", "-C", root, "ls-files", "-z")
	command.Stderr = os.Stderr
	out, err := command.Output()
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), err
}

// search returns the hits of all rules in these files. A path that is not in the file system is skipped: git tracks it until
// its removal is committed.
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

// judge fails if a rule has more hits than are allowed, and prints them.
func judge(all hits, allowed map[string]int, out io.Writer) error {
	counts, failed := all.counts(), false
	for _, r := range rules {
		n, most := counts[r.word], allowed[r.word]
		switch {
		case n > most:
			failed = true
			_, _ = fmt.Fprintf(out, "%q has %d hits, and %d are allowed: write %s (%s)\n", r.word, n, most, r.instead, r.why)
			all.of(r.word).print(out)
		case n < most:
			_, _ = fmt.Fprintf(out, "%q has %d hits left of %d: go run ./words -rewrite .. in tools says so\n", r.word, n, most)
		}
	}
	if failed {
		return fmt.Errorf("these words and lines are not written here; docs/glossary.md has the terms")
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
