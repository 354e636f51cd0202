package engine_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/workflow"
)

// Price is the local activity of the scripts. Its code does not run: the script supplies its
// outcome.
var Price = activity.NewLocal("Price", func(context.Context, string) (string, error) { return "", nil })

// pricer looks up the prices of the words of its input, all at once, and sets the handler of an
// update that looks up another.
func pricer(ctx workflow.Context, words string) (string, error) {
	Slow.Handle(ctx, func(ctx workflow.Context, item string) (string, error) { return Price.Run(ctx, item) })
	var prices []workflow.Future[string]
	for _, word := range strings.Fields(words) {
		prices = append(prices, Price.Start(ctx, word))
	}
	var seen []string
	for _, price := range prices {
		text, err := price.Get(ctx)
		if err != nil {
			text = err.Error()
		}
		seen = append(seen, text)
	}
	_, err := Poke.Receive(ctx)
	return fmt.Sprint(seen), err
}

// outcomes sets the outcomes of the next local activities, one on a line: ok with a result, fail,
// or again after some time. A local activity without such a line succeeds with its input as its
// result.
func (p *player) outcomes(d *datadriven.TestData) {
	p.locals = strings.Split(strings.TrimSpace(d.Input), "\n")
}

// runLocals runs the local activities that a task waits for.
func (p *player) runLocals(in *engine.Instance, t *engine.Transition) *engine.Transition {
	for len(t.Locals) > 0 {
		var results []engine.LocalResult
		for _, a := range t.Locals {
			p.printf("runs here: local activity %d %s(%s), attempt %d", a.Number, a.ActivityType, a.Input, a.Attempt)
			results = append(results, p.outcome(a))
		}
		t = p.run.Resume(in, t, results)
	}
	return t
}

func (p *player) outcome(a *engine.LocalActivity) engine.LocalResult {
	r := engine.LocalResult{Number: a.Number, Attempt: a.Attempt}
	what, rest := "ok", string(a.Input)
	if len(p.locals) > 0 {
		what, rest, _ = strings.Cut(p.locals[0], " ")
		p.locals = p.locals[1:]
	}
	switch what {
	case "fail":
		r.Failure = failure.FromError(failure.New(rest, "it failed"))
	case "again":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		r.RetryAt = p.clock.Add(d)
	default:
		r.Result = history.Payload(rest)
	}
	return r
}
