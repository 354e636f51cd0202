//go:build aws

package main

import (
	"os"
	"testing"

	"github.com/seed-41655fb1/weft/internal/awstest"
)

// What operations cost is held against the design's budget, and what the reference runs come to against the targets.
func TestBudgets(t *testing.T) {
	t.Parallel()
	r, err := measureAll(t.Context(), awstest.DynamoDB(t)[0].Config, awstest.SQS(t)[0].Config)
	if err != nil {
		t.Fatal(err)
	}
	r.print(os.Stdout)
	for _, o := range append(r.operations, r.longTimer) {
		n := int64(o.times)
		got := counts{o.bill.Writes, o.bill.StrongReads, o.bill.Messages}
		if got.writes > n*o.budget.writes || got.reads > n*o.budget.reads || got.messages > n*o.budget.messages || o.bill.Lost > 0 {
			t.Errorf("%s, %d times: %+v, lost %d; the budget is %+v", o.name, n, got, o.bill.Lost, o.budget)
		}
	}
	for name, most := range map[string]float64{threeOverSQS: 8.05, threeInline: 4.95} {
		o := r.reference[plain][name]
		if dollars := million * o.bill.dollars(terms{}) / float64(o.times); dollars > most {
			t.Errorf("a million of %q come to $%.2f; the target is $%.2f", name, dollars, most)
		}
	}
}
