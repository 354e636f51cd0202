package main

import "github.com/seed-41655fb1/weft/proof/measured"

// The list prices of us-east-1 that package measured does not have. They were read on the same day.
// The prices of other services are next to the operations.
const (
	storage = 0.25 // DynamoDB, a GB-month
	backUp  = 0.20 // DynamoDB, point-in-time recovery, a GB-month of the table

	fifoRequest = 0.50 / measured.Million // SQS, 64 KB
	httpRequest = 1.00 / measured.Million // API Gateway, HTTP API; a function URL costs nothing more

	keyRequest = 3.0 / measured.Million // KMS; a key is $1 a month
	blobPut    = 5.0 / measured.Million // S3, a PUT or a LIST
	blobGet    = 0.4 / measured.Million // S3, a GET

	logged      = 0.50 // CloudWatch Logs, a GB that is taken in, without its tiers
	alarmMetric = 0.10 // CloudWatch, a metric of an alarm and month

	customMetric = 0.30 // CloudWatch, a metric and month

	// Other services: a state transition of Step Functions (Standard), an operation of Lambda
	// durable functions, and an action of Temporal Cloud in its first tier.
	transition       = 25.0 / measured.Million
	durableOperation = 8.0 / measured.Million
	action           = 50.0 / measured.Million
)

// What a task needs of Lambda, unless its duration is measured. This machine is not Lambda.
const (
	taskSeconds   = 0.010
	taskGigabytes = 0.25
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
