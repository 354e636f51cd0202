package main

import (
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/proof/measured"
)

// calculatorRows returns the table of rates: what AWS bills, and how much of it a million canonical
// runs and an idle month take, bare and with everything on.
func calculatorRows() (rows [][]string) {
	rows = append(rows, []string{"service", "what is billed", "unit", "rate", "bare", "dollars", "everything on", "dollars"})
	run := bill.Canonical(price.Million)
	part := func(name string, bare, on []bill.Line) {
		rows = append(rows, rowsBeside(bare, on)...)
		rows = append(rows, []string{"", "**" + name + "**", "", "", "", inCents(bill.Sum(bare)), "", inCents(bill.Sum(on))})
	}
	part("a million runs", bill.Month(run, bill.Bare()), bill.Month(run, bill.Default()))
	part("an idle month, at most", bill.Idle(bill.Bare()), bill.Idle(bill.Default()))
	return rows
}

// rowsBeside returns a row for each line of on, with that of bare beside it. Small rates are those
// of a million.
func rowsBeside(bare, on []bill.Line) (rows [][]string) {
	beside := map[string]bill.Line{}
	for _, l := range bare {
		beside[l.Service+l.Name] = l
	}
	for _, l := range on {
		b, unit, of := beside[l.Service+l.Name], l.Unit, 1.0
		if l.Rate < 0.001 {
			unit, of = "million "+unit, price.Million
		}
		rows = append(rows, []string{
			l.Service, l.Name, unit, "$" + inFull(l.Rate*of), inFull(b.Count / of), inCents(b.Dollars), inFull(l.Count / of), inCents(l.Dollars),
		})
	}
	return rows
}

// inCents formats dollars.
func inCents(dollars float64) string { return "$" + strconv.FormatFloat(dollars, 'f', 2, 64) }

// inFull formats a number with up to six digits after the point.
func inFull(n float64) string {
	return measured.Commas(strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 6, 64), "0"), "."))
}
