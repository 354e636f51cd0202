package main

import "github.com/seed-41655fb1/weft/internal/price"

// Other services: a state transition of Step Functions (Standard), an operation of Lambda durable
// functions, and an action of Temporal Cloud in its first tier. AWS's other prices are in package
// price. All were read on the same day.
const (
	transition       = 25.0 / price.Million
	durableOperation = 8.0 / price.Million
	action           = 50.0 / price.Million
)

// keptMonths is for how long a run's items are kept: fourteen days.
const keptMonths = 14.0 / 30

// What a deployment always has:
//   - the mappings of infra, each with up to five pollers that poll for 20 seconds at a time
//   - the metrics of its alarms, two for each queue of dead letters
//
// platformLog estimates the bytes that Lambda itself logs for an invocation: two lines of JSON, for
// its beginning and its report.
const (
	standardMappings, fifoMappings = 4, 2
	pollers, pollsAMinute          = 5, 3
	alarmMetrics                   = 17 + 3
	platformLog                    = 600
)
