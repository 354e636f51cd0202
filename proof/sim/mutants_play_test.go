//go:build mutants && !race

package sim

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// These tests compile the product once more, so they have a build tag, which make sim-fixed and
// make sim-mutants set. make test checks that the mutants still fit.

var allMutants = flag.Bool("all-mutants", false, "break the protocol in all the ways there are, not only in the main ones")

// enoughSeeds is the number of seeds within which a mutant must be found if it states no number.
const enoughSeeds = 4000

// most returns within how many seeds the mutant must be found.
func (m mutant) most() int { return cmp.Or(m.within, enoughSeeds) }

// foundBy matches a search's report of the first failing seed.
var foundBy = regexp.MustCompile(`seed (\d+), number (\d+): (.*)`)

// TestMutants breaks the protocol on purpose, one break at a time, and demands that the simulation
// finds it, within as many of the fixed seeds as the mutant states. It prints the seed that found
// each, which is the first one with -all-mutants. -for bounds the time of each. The broken source
// never touches the tree: one build, which has no race detector, has all mutants in it, and each
// run switches one on (see switched). With no mutant on, the same build must find nothing in a
// hundred seeds.
func TestMutants(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	played := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.more && !*allMutants })
	if len(played) < len(mutants) {
		t.Logf("%d of %d mutants; the others run with `make sim-mutants`", len(played), len(mutants))
	}
	builds := buildMutants(t, root, played)
	if out, err := builds.play(t, "TestSeeds", "", 1, 100); err != nil {
		t.Fatalf("with no mutant on: %v\n%s", err, out)
	}
	var found []string
	for number, m := range played {
		t.Run(m.name, func(t *testing.T) {
			by := builds.find(t, m, strconv.Itoa(number))
			t.Logf("found in seed %s: %s", by[1], by[3])
			found = append(found, fmt.Sprintf("%5s of %5d  %s", by[1], m.most(), m.name))
		})
	}
	slices.Sort(found)
	t.Logf("the seeds in which each mutant was found:\n%s", strings.Join(found, "\n"))
}

// mutantBuilds are the simulations of broken protocols: one with all mutants that can be switched
// on, under "", and one for each other mutant, under its number.
type mutantBuilds map[string]string

func buildMutants(t *testing.T, root string, played []mutant) mutantBuilds {
	t.Helper()
	dir, builds, sources := t.TempDir(), mutantBuilds{}, map[string]*switched{}
	for i, m := range played {
		number := strconv.Itoa(i)
		whole, broken := m.sources(t, root)
		s := sources[m.file]
		if s == nil {
			file, err := parse(whole)
			if err != nil {
				t.Fatal(err)
			}
			s = &switched{parsed: file}
			sources[m.file] = s
		}
		ok, err := s.add(number, broken)
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		if !ok {
			t.Logf("a build of its own: %s", m.name)
			builds[number] = build(t, root, filepath.Join(dir, number), map[string]string{m.file: broken})
		}
	}
	builds[""] = build(t, root, filepath.Join(dir, "all"), switches(sources))
	return builds
}

// build builds the simulation with files replaced, and returns the path of the binary.
func build(t *testing.T, root, binary string, texts map[string]string) string {
	t.Helper()
	cmd := exec.Command("go", "test", "-c", "-o", binary, "-overlay", overlay(t, root, texts), "-vet=off", "-ldflags=-s -w", "./proof/sim")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// find plays seeds with a mutant on until one fails, and returns what foundBy matches. It fails the
// test if none does.
func (b mutantBuilds) find(t *testing.T, m mutant, number string) []string {
	t.Helper()
	test := cmp.Or(m.test, "TestSeeds")
	if m.hint > 0 && !*allMutants {
		out, _ := b.play(t, test, number, m.hint, 1)
		if by := foundBy.FindStringSubmatch(out); by != nil {
			return by
		}
		t.Logf("seed %d does not find it any more: update its hint", m.hint)
	}
	out, err := b.play(t, test, number, 1, m.most())
	by := foundBy.FindStringSubmatch(out)
	if err == nil || by == nil {
		t.Fatalf("no seed of %d found it (%v):\n%s", m.most(), err, out[max(0, len(out)-2000):])
	}
	return by
}

// play runs a test with a mutant on, or with none for the empty number, and returns its output.
func (b mutantBuilds) play(t *testing.T, test, number string, first, seeds int) (string, error) {
	t.Helper()
	binary, ok := b[number]
	if !ok {
		binary = b[""]
	}
	cmd := exec.Command(binary, "-test.run", "^"+test+"$", "-test.timeout=30m", "-shrink=0", "-seed="+strconv.Itoa(first), "-seeds="+strconv.Itoa(seeds), "-for="+within.String())
	cmd.Env = append(os.Environ(), switchedOn+"="+number)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
