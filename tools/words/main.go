// Words is a linter of words. It rejects words that Weft does not use, in comments, string
// literals, identifiers, documents and scripts. It also rejects lines that are too long. rules.go
// lists the words, and what to write instead.
//
// It reads the files that git tracks in a repository:
//
//	words ROOT          fails if there is a hit
//	words -list ROOT    lists all hits
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// shown is how many hits of a word are printed at most.
const shown = 10

func main() {
	list := flag.Bool("list", false, "list all hits")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: words [-list] ROOT")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *list, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// run searches the repository at root. It prints all hits if list is set. Otherwise it fails if
// there is a hit, or an exemption that is no longer needed.
func run(root string, list bool, out io.Writer) error {
	paths, err := tracked(root)
	if err != nil {
		return err
	}
	files := os.DirFS(root)
	all, err := search(files, paths)
	switch {
	case err != nil:
		return err
	case list:
		all.print(out)
		return nil
	}
	return errors.Join(judge(all, out), stale(files, exemptions))
}

// tracked returns the files that git tracks in a repository, each once. During a merge, git lists a
// file once for each side.
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

// judge fails if there are hits, and prints the first of each rule with what to write instead.
func judge(all hits, out io.Writer) error {
	for _, r := range rules {
		if of := all.of(r.word); len(of) > 0 {
			_, _ = fmt.Fprintf(out, "%q, %d times: write %s (%s)\n", r.word, len(of), r.instead, r.why)
			of[:min(len(of), shown)].print(out)
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("hits: %d; cd tools && go run ./words -list .. lists all", len(all))
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

func (h hits) of(word string) hits {
	return slices.DeleteFunc(slices.Clone(h), func(one hit) bool { return one.word != word })
}

func (h hits) print(out io.Writer) {
	for _, one := range h {
		_, _ = fmt.Fprintf(out, "  %s:%d: %s: %s\n", one.path, one.line, one.word, one.text)
	}
}
