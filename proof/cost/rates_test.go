package main

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/proof/measured"
)

var tables = flag.Bool("tables", false, "rewrite the tables of docs/operations.md and docs/cost.md")

// docs/operations.md has the costs of a month. To rewrite them: go test ./proof/cost -run TestRates
// -tables
func TestRates(t *testing.T) {
	t.Parallel()
	holdTable(t, "operations.md", "rates", rateRows())
}

// docs/cost.md has the table of rates, and its sums are those of its rows: counts at rates. To
// rewrite it: go test ./proof/cost -run TestCalculator -tables
func TestCalculator(t *testing.T) {
	t.Parallel()
	text := holdTable(t, "cost.md", "calculator", calculatorRows())
	value := func(cell string) float64 {
		n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimPrefix(cell, "$"), ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var bare, on float64
	var sums []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.Contains(line, "**") {
			rate := value(cells[3])
			bare, on = bare+rate*value(cells[4]), on+rate*value(cells[6])
			continue
		}
		for _, sum := range []float64{bare, on} {
			if text := inCents(sum); !strings.Contains(line, "| "+text+" |") {
				t.Errorf("the rows above are %s together, and their sum is %s", text, line)
			}
			sums = append(sums, inCents(sum))
		}
		bare, on = 0, 0
	}
	if len(sums) != 4 {
		t.Fatalf("the table has the sums %v, want two of a million runs and two of an idle month", sums)
	}
	for file, figures := range map[string][]string{
		"docs/cost.md":          {"**" + sums[0] + " bare**", "**" + sums[1] + " with everything on**", "An idle deployment is\n  " + sums[3] + " a month"},
		"docs/observability.md": {"| `emf` | " + more(func(s *bill.Settings) { s.Metrics = "emf" }) + ":", "`INFO` | " + more(func(s *bill.Settings) { s.SystemLogLevel = "INFO" }) + " |"},
		"README.md":             {"| " + sums[0] + " bare, " + sums[1] + " with everything on;"},
	} {
		document, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, figure := range figures {
			if !strings.Contains(string(document), figure) {
				t.Errorf("%s does not say %q", file, figure)
			}
		}
	}
}

// more returns what a million canonical runs cost more with a change of the default settings.
func more(change func(*bill.Settings)) string {
	run, s := bill.Canonical(1e6), bill.Default()
	change(&s)
	return inCents(bill.Sum(bill.Month(run, s)) - bill.Sum(bill.Month(run, bill.Default())))
}

// Each line of a bare bill is a line of the whole one: the table leaves none out.
func TestBareIsAPart(t *testing.T) {
	t.Parallel()
	run := bill.Canonical(1)
	for _, pair := range [][2][]bill.Line{{bill.Month(run, bill.Bare()), bill.Month(run, bill.Default())}, {bill.Idle(bill.Bare()), bill.Idle(bill.Default())}} {
		for _, l := range pair[0] {
			if !slices.ContainsFunc(pair[1], func(o bill.Line) bool { return o.Service == l.Service && o.Name == l.Name && o.Rate == l.Rate }) {
				t.Errorf("only a bare run pays %s: %s", l.Service, l.Name)
			}
		}
	}
}

// holdTable compares a table of a document with its rows, and returns its text. With -tables it
// writes the table.
func holdTable(t *testing.T, document, name string, rows [][]string) string {
	t.Helper()
	return holdTableBy(t, func(a, b string) bool { return a == b }, document, name, rows)
}

// holdTableBy does the same, and returns the text that the document has. same compares two texts.
func holdTableBy(t *testing.T, same func(a, b string) bool, document, name string, rows [][]string) string {
	t.Helper()
	section, err := measured.ReadSection(filepath.Join("..", "..", "docs", document), "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i, row := range rows {
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			lines = append(lines, strings.Repeat("|---", len(row))+"|")
		}
	}
	want := strings.Join(lines, "\n") + "\n"
	switch {
	case *tables:
		if err := section.Replace(want); err != nil {
			t.Fatal(err)
		}
		return want
	case !same(section.Text, want):
		t.Errorf("docs/%s has\n%s\nand the costs are\n%s\nTo rewrite the table, use the flag -tables", document, section.Text, want)
	}
	return section.Text
}

// alike reports whether two texts are equal, except that amounts of dollars may differ by up to a
// hundredth, because ids differ in length.
func alike(a, b string) bool {
	one, other := strings.Fields(a), strings.Fields(b)
	if len(one) != len(other) {
		return false
	}
	for i := range one {
		x, errX := strconv.ParseFloat(strings.ReplaceAll(strings.TrimPrefix(one[i], "$"), ",", ""), 64)
		y, errY := strconv.ParseFloat(strings.ReplaceAll(strings.TrimPrefix(other[i], "$"), ",", ""), 64)
		if one[i] != other[i] && (errX != nil || errY != nil || math.Abs(x-y) > max(x, y)/100+0.01) {
			return false
		}
	}
	return true
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{
		1: "1", 100: "100", 10_000: "10,000", 0.0045: "0.00", 0.709: "0.71", 9.4608: "9.46", 20.4984: "20.5", 2049.84: "2,050", 204_984: "205,000", 999.6: "1,000", 1_234_567: "1,230,000",
	} {
		if got := grouped(n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}
