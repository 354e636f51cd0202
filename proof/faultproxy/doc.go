// Package faultproxy stands before a server that speaks one of AWS's JSON protocols, and makes of it what a network and a
// busy service make of DynamoDB or SQS, which no local server does: for tests.
//
//	fault         what the client sees      what was done
//	────────────  ────────────────────────  ────────────────────────────────────────────────
//	LoseRequest   the connection is reset   nothing
//	FailBefore    500                       nothing
//	Throttle      the service's error       nothing
//	FailAfter     500                       all
//	LoseAnswer    the connection is reset   all
//	CutAnswer     half of the answer        all
//	Partial       success, entries failed   some entries of a batch: SendMessageBatch, BatchWriteItem
//	Delay         the answer, later         all, before or after the delay
//
// Requests pass with their headers and their bytes, the Host header and the signature included, except those of Partial.
package faultproxy
