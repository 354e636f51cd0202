package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/workflow"
)

// shape is the input of a run that does what package bill says of a workload, in the same order. It
// gets signals and updates, waits for timers and runs activities. Each payload has Bytes bytes:
// Filling makes the input as long.
type shape struct {
	Signals    int    `json:"signals,omitempty"`
	Updates    int    `json:"updates,omitempty"`
	Timers     int    `json:"timers,omitempty"`
	Activities int    `json:"activities,omitempty"`
	Inline     bool   `json:"inline,omitempty"` // the activities are inline
	Bytes      int    `json:"bytes"`
	Filling    string `json:"filling"`
}

var (
	shaped = workflow.NewWorkflow[shape, string]("shaped")
	nudge  = workflow.NewSignal[string]("nudge")
	change = workflow.NewUpdate[string, string]("change")
	echo   = activity.New("echo", func(_ context.Context, s string) (string, error) { return s, nil })
)

// runShaped passes what it has got on to each activity.
func runShaped(ctx workflow.Context, s shape) (payload string, err error) {
	updates := 0
	change.Handle(ctx, func(_ workflow.Context, sent string) (string, error) {
		updates++
		return sent, nil
	})
	payload = quoted(s.Bytes)
	for range s.Signals {
		if payload, err = nudge.Receive(ctx); err != nil {
			return "", err
		}
	}
	if err := workflow.Await(ctx, func() bool { return updates >= s.Updates }); err != nil {
		return "", err
	}
	for range s.Timers {
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return "", err
		}
	}
	run := echo
	if s.Inline {
		run = echo.With(activity.Options{Inline: true})
	}
	for range s.Activities {
		if payload, err = run.Run(ctx, payload); err != nil {
			return "", err
		}
	}
	return payload, nil
}

// quoted returns a string whose JSON has so many bytes.
func quoted(bytes int) string { return strings.Repeat("x", bytes-len(`""`)) }

// shapeOf returns the input of a run of a workload, which has whole numbers.
func shapeOf(w bill.Workload, inline bool) (shape, error) {
	s := shape{Signals: int(w.Signals), Updates: int(w.Updates), Timers: int(w.Timers), Activities: int(w.Activities), Inline: inline, Bytes: w.Bytes}
	bare, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	if len(bare) > w.Bytes {
		return s, fmt.Errorf("an input of %d bytes cannot say %s", w.Bytes, bare)
	}
	s.Filling = strings.Repeat("x", w.Bytes-len(bare))
	return s, nil
}

// runOf returns what a run of a workload does.
func runOf(w bill.Workload, inline bool) func(context.Context, *deployment, string) error {
	return func(ctx context.Context, d *deployment, id string) error {
		s, err := shapeOf(w, inline)
		if err != nil {
			return err
		}
		if _, err := shaped.Start(ctx, d.Client, id, s); err != nil {
			return err
		}
		for range s.Signals {
			if err := nudge.Send(ctx, d.Client, id, quoted(s.Bytes)); err != nil {
				return err
			}
		}
		for range s.Updates {
			if _, err := change.Call(ctx, d.Client, id, quoted(s.Bytes)); err != nil {
				return err
			}
		}
		return nil
	}
}
