package bridge

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Retry has the fields of client.Retry, which converts to it.
type Retry struct {
	InitialInterval    time.Duration
	BackoffCoefficient float64
	MaxInterval        time.Duration
	MaxAttempts        int
	NonRetryable       []*failure.Error
}

// Policy returns the form that the retry policy has in a history, without the defaults.
func (r Retry) Policy() history.RetryPolicy {
	p := history.RetryPolicy{
		InitialInterval: history.Duration(r.InitialInterval), BackoffCoefficient: r.BackoffCoefficient,
		MaximumInterval: history.Duration(r.MaxInterval), MaximumAttempts: r.MaxAttempts,
	}
	for _, e := range r.NonRetryable {
		typ := ""
		if e != nil {
			typ = e.Type
		}
		p.NonRetryableTypes = append(p.NonRetryableTypes, typ)
	}
	return p
}
