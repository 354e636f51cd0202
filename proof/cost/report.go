package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/seed-41655fb1/weft/internal/price"
)

// per formats a number divided by the repetitions of the operation.
func (r result) per(n float64) string {
	return fmt.Sprintf("%.4g", n/float64(r.times))
}

// dollars formats the price of a million of the operation.
func (r result) dollars(t terms) string {
	return fmt.Sprintf("$%.2f", price.Million*r.bill.dollars(t)/float64(r.times))
}

// elsewhere formats another service's price of a million.
func elsewhere(dollars float64) string {
	if dollars == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.2f", price.Million*dollars)
}

func (r *results) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer func() { _ = w.Flush() }()
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("List prices of us-east-1, read %s. For each operation, counted in the SDK; budgets in brackets.\n", price.ReadOn)
	line("operation\twrites\treads\tmessages\twrite units\tread units\tSQS requests\tinvocations\ta million")
	all := append(r.operations[:len(r.operations):len(r.operations)], r.longTimer)
	for _, o := range all {
		b := o.bill
		line("%s\t%s [%d]\t%s [%d]\t%s [%d]\t%s\t%s\t%s\t%s\t%s", o.name,
			o.per(float64(b.Writes)), o.budget.writes, o.per(float64(b.StrongReads)), o.budget.reads, o.per(float64(b.Messages)), o.budget.messages,
			o.per(b.WriteUnits+b.IndexUnits+float64(b.Lost)), o.per(b.ReadUnits), o.per(float64(b.Chunks)), o.per(float64(b.Invocations)), o.dollars(terms{}))
	}
	line("\nWith payloads encrypted by a key of KMS, and with large ones in S3\twrites\treads\tmessages\tKMS requests\tS3 puts\tS3 gets\twrite units\tread units\ta million")
	for _, o := range r.kept {
		b := o.bill
		line("%s\t%s [%d]\t%s [%d]\t%s [%d]\t%s [%d]\t%s [%d]\t%s [%d]\t%s\t%s\t%s", o.name,
			o.per(float64(b.Writes)), o.budget.writes, o.per(float64(b.StrongReads)), o.budget.reads, o.per(float64(b.Messages)), o.budget.messages,
			o.per(float64(b.KeyRequests)), o.budget.keys, o.per(float64(b.BlobPuts)), o.budget.puts, o.per(float64(b.BlobGets)), o.budget.gets,
			o.per(b.WriteUnits+b.IndexUnits+float64(b.Lost)), o.per(b.ReadUnits), o.dollars(terms{}))
	}
	line("\nThe same by others, a million\tWeft\tStep Functions\tLambda durable functions\tTemporal Cloud")
	for _, o := range all {
		line("%s\t%s\t%s\t%s\t%s", o.name, o.dollars(terms{}), elsewhere(o.stepFunctions), elsewhere(o.durable), elsewhere(o.temporal))
	}
	line("\nStart + 3 activities + end, a million runs\tover SQS\tinline")
	for _, v := range []struct {
		name, variant string
		terms         terms
	}{
		{"a chosen id, function URL, payloads of 200 bytes, no list, no deadline, no clean-up, 10 ms × 256 MB a task", plain, terms{}},
		{"... payloads of 1 KB", large, terms{}},
		{"... durations as measured here", plain, terms{measured: true}},
		{"... with the list of workflows", withList, terms{}},
		{"... behind an HTTP API", plain, terms{httpAPI: true}},
	} {
		line("%s\t%s\t%s", v.name, r.reference[v.variant][threeOverSQS].dollars(v.terms), r.reference[v.variant][threeInline].dollars(v.terms))
	}
	for i, row := range rateRows() {
		if i == 0 {
			row[0] = "\n" + row[0]
		}
		line("%s", strings.Join(row, "\t"))
	}
}
