package flow_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// After a long outage a schedule starts runs for all moments, or skips moments, by its policy. Each
// of its tasks handles a bounded number of moments and fits into a commit, whatever the runs' input
// is.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	const outage, open = 400 * time.Second, 7 * time.Minute
	padding := strings.Repeat(" ", 20<<10) // makes the inputs large
	if testing.Short() {
		padding = ""
	}
	for name, test := range map[string]struct {
		overlap         client.Overlap
		window          time.Duration
		input           string // how long a run takes
		started, missed int    // at least
	}{
		"overlapping": {client.OverlapAllowAll, 0, padding, 400, 0},
		"missed":      {client.OverlapAllowAll, time.Minute, "", 60, 300},
		"skipped":     {client.OverlapSkip, 0, open.String(), 1, 0},
		"one waits":   {client.OverlapBufferOne, 0, open.String(), 2, 0},
		"all wait":    {client.OverlapBufferAll, 0, open.String(), 2, 0},
		"terminated":  {client.OverlapTerminate, 0, open.String(), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				p := d.Start(executor.Options{}, registrations()...)
				began := time.Now()
				_, err := job.Schedule(t.Context(), p.Client, "s", test.input, workflow.ScheduleOptions{
					Every: []client.Every{{Interval: time.Second}}, Overlap: test.overlap, CatchUpWindow: test.window,
				})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(1500 * time.Millisecond) // the first run has begun
				p.Stop()
				time.Sleep(outage)
				p = d.Start(executor.Options{}, registrations()...)
				defer d.Replay(registrations()...)
				defer p.Stop()
				time.Sleep(open - outage + 20*time.Second)
				s := p.Schedule("s")
				if err := s.Pause(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				got := describe(t, s)
				all := got.Started + got.Skipped + got.Missed + len(got.Buffered)
				if moments := int(time.Since(began) / time.Second); got.Started < test.started || got.Missed < test.missed || all != moments {
					t.Errorf("%d started, %d skipped, %d missed, %d wait, of %d moments", got.Started, got.Skipped, got.Missed, len(got.Buffered), moments)
				}
				for _, run := range d.Runs("weft.schedule:s") {
					for _, c := range run.Log {
						body, err := history.Encode(c)
						if err != nil || len(body) > executor.Defaults().MaxCommit {
							t.Errorf("the commit in slot %d has %d commands and %d bytes, %v", c.Slot, len(c.Commands), len(body), err)
						}
					}
				}
			})
		})
	}
}

// The commits in which a schedule catches up are small under each policy, whether a run is open or
// not. A run that is followed by others at once is asked to end once, not for each of them.
func TestOutageInSmallCommits(t *testing.T) {
	t.Parallel()
	for _, overlap := range []client.Overlap{
		client.OverlapSkip, client.OverlapBufferOne, client.OverlapBufferAll, client.OverlapAllowAll, client.OverlapCancel, client.OverlapTerminate,
	} {
		for _, takes := range []string{"", "30m"} {
			t.Run(string(overlap)+" "+takes, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d, o := testbed.New(t), executor.Options{MaxCommit: 16 << 10}
					p := d.Start(o, registrations()...)
					began := time.Now()
					every := []client.Every{{Interval: time.Second}}
					_, err := job.Schedule(t.Context(), p.Client, "s", takes, workflow.ScheduleOptions{Every: every, Overlap: overlap})
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(1500 * time.Millisecond)
					p.Stop()
					time.Sleep(350 * time.Second)
					p = d.Start(o, registrations()...)
					defer d.Replay(registrations()...)
					defer p.Stop()
					time.Sleep(20 * time.Second)
					s := p.Schedule("s")
					if err := s.Pause(t.Context(), ""); err != nil {
						t.Fatal(err)
					}
					got := describe(t, s)
					all := got.Started + got.Skipped + got.Missed + len(got.Buffered)
					waits := overlap == client.OverlapBufferAll || overlap == client.OverlapBufferOne || overlap == client.OverlapSkip
					if moments := int(time.Since(began) / time.Second); all != moments && (takes == "" || !waits) {
						t.Errorf("%d started, %d skipped, %d missed, %d wait, of %d moments", got.Started, got.Skipped, got.Missed, len(got.Buffered), moments)
					}
					ends := 0
					for _, run := range d.Runs("weft.schedule:s") {
						for _, c := range run.Log {
							for _, e := range c.Commands {
								if _, asks := e.Attributes.(*history.RequestCancelExternalWorkflowExecutionInitiated); asks {
									ends++
								}
							}
						}
					}
					if ends > got.Started {
						t.Errorf("%d runs were started, and runs were asked to end %d times", got.Started, ends)
					}
				})
			})
		}
	}
}

// A pause stops a schedule that catches up after an outage: the moments that it has not handled are
// missed.
func TestPauseDuringCatchUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		_, err := job.Schedule(t.Context(), p.Client, "s", "", workflow.ScheduleOptions{
			Every: []client.Every{{Interval: time.Second}}, Overlap: client.OverlapAllowAll,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Stop()
		time.Sleep(time.Hour + 500*time.Millisecond)
		p = d.Start(executor.Options{}, registrations()...)
		defer d.Replay(registrations()...)
		defer p.Stop()
		time.Sleep(2 * time.Second)
		s := p.Schedule("s")
		if err := s.Pause(t.Context(), "too many"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := describe(t, s); got.Started < 200 || got.Started > 500 || got.Started+got.Missed != 3602 {
			t.Errorf("%d started, %d missed", got.Started, got.Missed)
		}
	})
}
