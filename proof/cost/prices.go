package main

import (
	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/price"
)

// Other services: a state transition of Step Functions (Standard), an operation of Lambda durable
// functions, and an action of Temporal Cloud in its first tier. AWS's other prices are in package
// price. All were read on the same day.
const (
	transition       = 25.0 / price.Million
	durableOperation = 8.0 / price.Million
	action           = 50.0 / price.Million
)

// keptMonths is for how long a run's items are kept on average.
var keptMonths = bill.Bare().KeptMonths()
