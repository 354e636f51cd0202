//go:build aws

package main

import (
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/measured"
)

// once has the measurements, which the tests share.
var once struct {
	sync.Once
	results *results
	err     error
}

func measurements(t *testing.T) *results {
	t.Helper()
	dynamoDB, sqs := awstest.DynamoDB(t)[0].Config, awstest.SQS(t)[0].Config
	once.Do(func() { once.results, once.err = measureAll(context.Background(), dynamoDB, sqs) })
	if once.err != nil {
		t.Fatal(once.err)
	}
	return once.results
}

// Operations stay within the budgets of the design, and the reference runs within their targets.
func TestBudgets(t *testing.T) {
	t.Parallel()
	r := measurements(t)
	r.print(os.Stdout)
	for _, o := range append(r.operations, r.longTimer) {
		n := int64(o.times)
		got := counts{writes: o.bill.Writes, reads: o.bill.StrongReads, messages: o.bill.Messages}
		if got.writes > n*o.budget.writes || got.reads > n*o.budget.reads || got.messages > n*o.budget.messages || o.bill.Lost > 0 {
			t.Errorf("%s, %d times: %+v, lost %d; the budget is %+v", o.name, n, got, o.bill.Lost, o.budget)
		}
	}
	for _, o := range r.kept {
		n := int64(o.times)
		got := counts{o.bill.Writes, o.bill.StrongReads, o.bill.Messages, o.bill.KeyRequests, o.bill.BlobPuts, o.bill.BlobGets}
		if most := o.budget.times(n); got != most {
			t.Errorf("%s, %d times: %+v, want %+v", o.name, n, got, most)
		}
	}
	r.checkRates(t)
	r.checkTables(t)
	for name, most := range map[string]float64{threeOverSQS: 8.05, threeInline: 4.95} {
		o := r.reference[plain][name]
		if dollars := price.Million * o.bill.dollars(terms{}) / float64(o.times); dollars > most {
			t.Errorf("a million of %q cost $%.2f; the target is $%.2f", name, dollars, most)
		}
	}
}

// times returns the counts of n operations.
func (c counts) times(n int64) counts {
	return counts{n * c.writes, n * c.reads, n * c.messages, n * c.keys, n * c.puts, n * c.gets}
}

var tables = flag.Bool("tables", false, "rewrite the tables of docs/operations.md and docs/cost.md")

// checkRates compares the table of docs/operations.md with the measurements. To rewrite it, run
// `localstack/servers run dynoxide elasticmq -- go test -tags aws ./proof/cost -tables`.
func (r *results) checkRates(t *testing.T) {
	t.Helper()
	const begin, end = "<!-- begin rates -->\n", "<!-- end rates -->\n"
	section, err := measured.ReadSection(filepath.Join("..", "..", "docs", "operations.md"), begin, end)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i, row := range r.rateRows() {
		rows = append(rows, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			rows = append(rows, strings.Repeat("|---", len(row))+"|")
		}
	}
	want := strings.Join(rows, "\n") + "\n"
	if *tables {
		if err := section.Replace(want); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !alike(section.Text, want) {
		t.Errorf("docs/operations.md has\n%s\nand the measured costs are\n%[2]s\nTo rewrite the table, use the flag -tables", section.Text, want)
	}
}

// checkTables compares the tables of docs/cost.md with the measurements, except for tables with
// durations of this machine. The flag -tables writes all of them.
func (r *results) checkTables(t *testing.T) {
	t.Helper()
	const begin, end, withDurations = "```\nList prices", "\n```\n", "\nStart + 3 activities"
	section, err := measured.ReadSection(filepath.Join("..", "..", "docs", "cost.md"), begin, end)
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	r.print(&printed)
	want, _ := strings.CutPrefix(printed.String(), "List prices")
	want, _, _ = strings.Cut(want, "\n\n"+ratesTable) // that table is in docs/operations.md
	if *tables {
		if err := section.Replace(trimmed(want)); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, _, _ := strings.Cut(section.Text, withDurations)
	want, _, _ = strings.Cut(want, withDurations)
	if !alike(there, want) {
		t.Errorf("docs/cost.md differs from the measured costs, which are\n%s\nTo rewrite the tables, use the flag -tables", want)
	}
}

// trimmed returns a text without spaces at the ends of lines.
func trimmed(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
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
