//go:build aws

package main

import (
	"context"
	"os"
	"path/filepath"
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
	r.checkTables(t)
	for name, most := range map[string]float64{threeOverSQS: 7.80, threeInline: 4.65} {
		o := r.reference[plain][name]
		if dollars := price.Million * o.bill.dollars(terms{}) / float64(o.times); dollars > most {
			t.Errorf("a million of %q cost $%.2f; the target is $%.2f", name, dollars, most)
		}
	}
}

// A healthy invocation logs no metrics. One whose code fails does.
func TestHealthyRunLogsNothing(t *testing.T) {
	t.Parallel()
	r := measurements(t)
	for _, o := range append(r.operations[:len(r.operations):len(r.operations)], r.longTimer) {
		if n := o.bill.LoggedBytes; n > 0 != (o.name == failing) {
			t.Errorf("%s: %d invocations logged %d bytes", o.name, o.bill.Invocations, n)
		}
	}
}

// times returns the counts of n operations.
func (c counts) times(n int64) counts {
	return counts{n * c.writes, n * c.reads, n * c.messages, n * c.keys, n * c.puts, n * c.gets}
}

// checkTables compares the tables of docs/cost.md with the measurements, except for tables with
// durations of this machine. To rewrite all of them, run
// `localstack/servers run dynoxide elasticmq -- go test -tags aws ./proof/cost -tables`.
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
