// Package faultproxy is a proxy before a server that speaks one of AWS's JSON protocols. It
// disturbs requests like a network and a busy DynamoDB or SQS, which no local server does: for
// tests.
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
// A [Guard] denies requests as IAM does: the client sees AccessDeniedException, and nothing is
// done.
//
// The proxy forwards requests with their headers and bytes, including the Host header and the
// signature, except those of Partial.
package faultproxy
