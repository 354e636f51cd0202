package testbed

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// bulky is a workflow whose payloads have the sizes that callers ask for.
var (
	bulky    = workflow.NewWorkflow[workflow.None, string]("bulky")
	at       = workflow.NewUpdate[int, string]("at")              // returns so many bytes at once
	later    = workflow.NewUpdate[int, string]("later")           // ... after an activity
	fetch    = workflow.NewUpdate[int, string]("fetch")           // ... which an activity has returned
	hold     = workflow.NewUpdate[int, string]("hold")            // ... when it is let go
	echo     = workflow.NewUpdate[string, string]("echo")         // returns its input
	feed     = workflow.NewUpdate[int, int]("feed")               // passes so many bytes to an activity
	spread   = workflow.NewUpdate[int, int]("spread")             // passes a kilobyte to so many activities at once
	jot      = workflow.NewUpdate[int, int]("jot")                // records so many side effects of a kilobyte
	engrave  = workflow.NewUpdate[int, int]("engrave")            // records a side effect of so many kilobytes
	publish  = workflow.NewUpdate[int, int]("publish")            // ... after an activity; from build-2 on a tenth of them
	complain = workflow.NewUpdate[int, workflow.None]("complain") // fails with a text of so many bytes
	blame    = workflow.NewUpdate[int, string]("blame")           // ... with which an activity has failed
	doubt    = workflow.NewUpdate[int, workflow.None]("doubt")    // is refused with a text of so many bytes
	weigh    = workflow.NewQuery[string, int]("weigh")            // returns how many bytes its input has
	letGo    = workflow.NewSignal[workflow.None]("letGo")
	end      = workflow.NewSignal[int]("end")   // the run returns so many bytes
	goOn     = workflow.NewSignal[int]("again") // the run continues with so many bytes

	measure = activity.New("measure", func(_ context.Context, s string) (int, error) { return len(s), nil })
	text    = activity.New("text", func(_ context.Context, n int) (string, error) { return ofBytes(n), nil })
	fail    = activity.New("fail", func(_ context.Context, n int) (string, error) {
		return "", activity.NewError("long", ofBytes(n)).Final()
	})
)

func ofBytes(n int) string { return strings.Repeat("x", n) }

func runBulky(build string) func(workflow.Context, workflow.None) (string, error) {
	return func(ctx workflow.Context, _ workflow.None) (string, error) {
		handleBulky(ctx, build)
		weigh.Handle(ctx, func(s string) (int, error) { return len(s), nil })
		var free bool
		var holds int
		hold.Handle(ctx, func(ctx workflow.Context, n int) (string, error) {
			holds++
			place := holds
			err := workflow.Await(ctx, func() bool { return free && (build != "reversed" || place == holds) })
			holds--
			return ofBytes(n), err
		})
		return waitBulky(ctx, &free)
	}
}

// waitBulky waits for the signals.
func waitBulky(ctx workflow.Context, free *bool) (string, error) {
	for {
		size, next := -1, -1
		err := workflow.Select(ctx,
			workflow.OnSignal(letGo, func(workflow.None) { *free = true }),
			workflow.OnSignal(end, func(n int) { size = n }),
			workflow.OnSignal(goOn, func(n int) { next = n }))
		switch {
		case err != nil:
			return "", err
		case size >= 0:
			return ofBytes(size), nil
		case next >= 0:
			return large.ContinueAsNew(ctx, ofBytes(next))
		}
	}
}

// large is the workflow that bulky continues as.
var large = workflow.NewWorkflow[string, string]("large")

func handleBulky(ctx workflow.Context, build string) {
	at.Handle(ctx, func(_ workflow.Context, n int) (string, error) { return ofBytes(n), nil })
	echo.Handle(ctx, func(_ workflow.Context, s string) (string, error) { return s, nil })
	later.Handle(ctx, func(ctx workflow.Context, n int) (string, error) {
		_, err := measure.Run(ctx, "")
		return ofBytes(n), err
	})
	fetch.Handle(ctx, func(ctx workflow.Context, n int) (string, error) { return text.Run(ctx, n) })
	feed.Handle(ctx, func(ctx workflow.Context, n int) (int, error) { return measure.Run(ctx, ofBytes(n)) })
	spread.Handle(ctx, fanOut)
	publish.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		if _, err := measure.Run(ctx, ""); err != nil {
			return 0, err
		}
		if build != "build-1" {
			n /= 10
		}
		return sideEffects(ctx, 1, n), nil
	})
	engrave.Handle(ctx, func(ctx workflow.Context, n int) (int, error) { return sideEffects(ctx, 1, n), nil })
	jot.Handle(ctx, func(ctx workflow.Context, n int) (int, error) { return sideEffects(ctx, n, 1), nil })
	complain.Handle(ctx, func(_ workflow.Context, n int) (workflow.None, error) { return workflow.None{}, errors.New(ofBytes(n)) })
	blame.Handle(ctx, func(ctx workflow.Context, n int) (string, error) { return fail.Run(ctx, n) })
	doubt.Handle(ctx, func(workflow.Context, int) (workflow.None, error) { return workflow.None{}, nil },
		workflow.Validate(func(n int) error { return errors.New(ofBytes(n)) }))
}

// fanOut passes a kilobyte to each of n activities at once.
func fanOut(ctx workflow.Context, n int) (sum int, err error) {
	var all []workflow.Future[int]
	for range n {
		all = append(all, measure.Start(ctx, ofBytes(1<<10)))
	}
	for _, one := range all {
		size, err := one.Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += size
	}
	return sum, nil
}

// sideEffects records n values of this many kilobytes.
func sideEffects(ctx workflow.Context, n, kilobytes int) (sum int) {
	for range n {
		sum += len(workflow.SideEffect(ctx, func() string { return ofBytes(kilobytes << 10) }))
	}
	return sum
}

// largeWorkload is what case 99 needs.
func largeWorkload(build string) []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(bulky, runBulky(build), workflow.Names(hold, at, echo, later, fetch, feed, spread, publish, engrave, jot, complain, blame, doubt, weigh, letGo, end, goOn)), workflow.Bind(large, func(_ workflow.Context, s string) (string, error) { return s, nil }),
		measure, text, fail,
	}
}
