// Package doctor checks a deployment from end to end, and says what to do about what it finds. It
// only reads.
//
//	API.Check   what the deployment says of itself over its API, wherever it runs
//	AWS.Check   how the table, the queues and the functions of a deployment on AWS are set up
//
// A check never ends the examination: what cannot be found out is a finding, too.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Verdict is what a check comes to.
type Verdict string

// The verdicts.
const (
	// OK is as it should be.
	OK Verdict = "ok"
	// None had nothing to look at.
	None Verdict = "none"
	// Warn works, and may cost money, time or safety; or it could not be found out.
	Warn Verdict = "warn"
	// Bad keeps runs from continuing, or data from being safe.
	Bad Verdict = "bad"
)

// Finding is what a check found.
type Finding struct {
	// Check names what was looked at: "clock", "queue workflow".
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Seen is what was found.
	Seen string `json:"seen"`
	// Do is what to do about it; empty if there is nothing to do.
	Do string `json:"do,omitempty"`
}

// Command returns a command of weft with its arguments, quoted for a shell, for the deployment that
// is checked.
type Command func(name string, args ...string) string

// Worst returns the worst verdict of findings; OK if there are none.
func Worst(all []Finding) Verdict {
	for _, v := range []Verdict{Bad, Warn} {
		if slices.ContainsFunc(all, func(f Finding) bool { return f.Verdict == v }) {
			return v
		}
	}
	return OK
}

// findings collects what checks find.
type findings []Finding

func (f *findings) ok(check, format string, args ...any) {
	*f = append(*f, Finding{Check: check, Verdict: OK, Seen: fmt.Sprintf(format, args...)})
}

func (f *findings) warn(check, do, format string, args ...any) {
	*f = append(*f, Finding{check, Warn, fmt.Sprintf(format, args...), do})
}

func (f *findings) bad(check, do, format string, args ...any) {
	*f = append(*f, Finding{check, Bad, fmt.Sprintf(format, args...), do})
}

// perCheck is how long one check may take.
const perCheck = 8 * time.Second

// within calls fn with the time of one check. Its error is one that fn returns, and says so if the
// time was over; or the cause for which ctx has ended.
func within(ctx context.Context, fn func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, perCheck)
	defer cancel()
	err := fn(limited)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s: %w", perCheck, err)
	}
	return err
}
