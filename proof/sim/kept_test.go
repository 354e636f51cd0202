package sim

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	seedsFile  = "testdata/seeds.txt"
	scriptsDir = "testdata/scripts"
)

// TestScriptsKept plays the script of every failure that was ever shrunk. A seed changes its
// meaning when the code that draws changes, and a script does not.
func TestScriptsKept(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(scriptsDir, "*.script"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parseScript(text)
			if err != nil {
				t.Fatal(err)
			}
			if again := f.String(); !strings.HasSuffix(string(text), again) {
				t.Errorf("the script is written as\n%s", again)
			}
			s := &simulation{seed: f.seed, script: f.script, tracing: true}
			if gameOf(f.test).play(s); len(s.wrong) > 0 {
				t.Errorf("%s\nthe script failed before with %q", s.report(), f.kind)
			}
		})
	}
}

var scriptPath = flag.String("script", "", "a script for TestScript to play, from proof/sim")

// TestScript plays one script, and prints what happened.
func TestScript(t *testing.T) {
	t.Parallel()
	if *scriptPath == "" {
		t.Skip("plays the script that -script names")
	}
	text, err := os.ReadFile(*scriptPath)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	s := &simulation{seed: f.seed, script: f.script, tracing: true}
	if gameOf(f.test).play(s); len(s.wrong) > 0 {
		t.Fatal(s.report())
	}
	t.Log(s.report())
}

type keptSeed struct {
	seed  uint64
	game  game
	plain bool // it failed before there were batches, and is played without them
}

// plainWord marks a plain seed in its line.
const plainWord = "plain"

// keptSeeds reads the file of seeds. Each line has a seed, the name of a test, perhaps plainWord,
// and a comment.
func keptSeeds(t *testing.T) (all []keptSeed) {
	t.Helper()
	text, err := os.ReadFile(seedsFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		seed, err := strconv.ParseUint(fields[0], 10, 64)
		plain := len(fields) == 3 && fields[2] == plainWord
		if err != nil || len(fields) != 2 && !plain || gameOf(fields[1]).play == nil {
			t.Fatalf("%s: %q is not a seed and a test", seedsFile, line)
		}
		all = append(all, keptSeed{seed, gameOf(fields[1]), plain})
	}
	return all
}

func gameOf(test string) (g game) {
	if i := slices.IndexFunc(games, func(g game) bool { return g.test == test }); i >= 0 {
		g = games[i]
	}
	return g
}

// keepSeed adds a seed to the file of seeds, and returns a note for the reader.
func (g game) keepSeed(f failing) string {
	file, err := os.OpenFile(seedsFile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return "\n  NOT kept: " + err.Error()
	}
	wrong, _, _ := strings.Cut(f.wrong, "\n")
	_, err = fmt.Fprintf(file, "%-14d %-18s # %s: %s\n", f.seed, g.test, time.Now().Format(time.DateOnly), wrong[:min(len(wrong), 200)])
	if err := errors.Join(err, file.Close()); err != nil {
		return "\n  NOT kept: " + err.Error()
	}
	return "\n  kept in proof/sim/" + seedsFile + ": commit it"
}

// scriptFile is a script in its file.
type scriptFile struct {
	test   string
	seed   uint64 // the seed determines the ids
	kind   string // the kind of the failure
	script script
}

// String returns the text of the file: a line with the choices of each stream. n*v means n times v.
func (f scriptFile) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "test %s\nseed %d\nfailed %q\n", f.test, f.seed, f.kind)
	for _, name := range slices.Sorted(maps.Keys(f.script)) {
		fmt.Fprintf(&b, "%s:", name)
		made := f.script[name]
		for len(made) > 0 {
			n := 1
			for n < len(made) && made[n] == made[0] {
				n++
			}
			if n > 2 {
				fmt.Fprintf(&b, " %d*%d", n, made[0])
			} else {
				n = 1
				fmt.Fprintf(&b, " %d", made[0])
			}
			made = made[n:]
		}
		b.WriteString("\n")
	}
	return b.String()
}

// keep writes the script to a file, and returns a note for the reader.
func (f scriptFile) keep() string {
	path := filepath.Join(scriptsDir, fmt.Sprintf("%s-%d.script", strings.ToLower(strings.TrimPrefix(f.test, "Test")), f.seed))
	if err := os.WriteFile(path, []byte(f.String()), 0o644); err != nil {
		return "\nNOT kept: " + err.Error()
	}
	return "\nkept in proof/sim/" + filepath.ToSlash(path) + ": commit it"
}

// parseScript reads what String writes, after comment lines.
func parseScript(text []byte) (f scriptFile, err error) {
	f.script = script{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		switch word, rest, _ := strings.Cut(line, " "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "test":
			f.test = rest
		case word == "seed":
			f.seed, err = strconv.ParseUint(rest, 10, 64)
		case word == "failed":
			f.kind, err = strconv.Unquote(rest)
		default:
			i := strings.LastIndex(line, ":")
			if i < 0 {
				return f, fmt.Errorf("%q is not a line of a script", line)
			}
			f.script[line[:i]], err = parseChoices(line[i+1:])
		}
		if err != nil {
			return f, fmt.Errorf("%q: %w", line, err)
		}
	}
	if gameOf(f.test).play == nil {
		return f, fmt.Errorf("unknown test %q", f.test)
	}
	return f, lines.Err()
}

func parseChoices(text string) (made []uint64, err error) {
	for field := range strings.FieldsSeq(text) {
		times, value := 1, field
		if n, v, ok := strings.Cut(field, "*"); ok {
			if times, err = strconv.Atoi(n); err != nil {
				return nil, err
			}
			value = v
		}
		v, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return nil, err
		}
		made = append(made, slices.Repeat([]uint64{v}, times)...)
	}
	return made, nil
}
