package executor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow of these tests uses a text as its kind says. Each text meets another one of its size
// in one task.
type meeting struct {
	Kind string
	Text string
}

var (
	meet     = workflow.NewWorkflow[meeting, string]("meet")
	meetKid  = workflow.NewWorkflow[string, string]("meet.kid")
	meetEcho = workflow.NewUpdate[string, string]("meet.echo")
	meetSay  = workflow.NewSignal[string]("meet.say")
	meetStop = workflow.NewSignal[workflow.None]("meet.stop")
	meetCopy = activity.New("meet.copy", func(_ context.Context, s string) (string, error) { return s, nil })
	meetNap  = activity.New("meet.nap", func(context.Context, int) (workflow.None, error) { return workflow.None{}, nil })
)

func runMeet(ctx workflow.Context, m meeting) (string, error) {
	echo(ctx)
	switch m.Kind {
	case "activity": // the input goes to an activity, its result to another one, whose result is that of the run
		text, err := meetCopy.Run(ctx, m.Text)
		if err != nil {
			return "", err
		}
		return meetCopy.Run(ctx, text)
	case "parallel": // five activities have the input, and return it
		var all []workflow.Future[string]
		for range 5 {
			all = append(all, meetCopy.Start(ctx, m.Text))
		}
		for _, one := range all {
			if text, err := one.Get(ctx); err != nil || text != m.Text {
				return "", errors.Join(err, fmt.Errorf("a result of %d bytes", len(text)))
			}
		}
		return m.Text, nil
	case "child":
		return meetKid.RunChild(ctx, m.Text)
	case "signal": // the signal is the result
		return meetSay.Receive(ctx)
	case "again": // unread signals are passed to the next run, which receives them
		if _, err := meetStop.Receive(ctx); err != nil {
			return "", err
		}
		return meet.ContinueAsNew(ctx, meeting{"collect", m.Text})
	case "collect":
		var text string
		for range 4 {
			next, err := meetSay.Receive(ctx)
			if err != nil {
				return "", err
			}
			text = next
		}
		return text, nil
	}
	_, err := meetStop.Receive(ctx)
	return m.Text, err
}

func echo(ctx workflow.Context) {
	meetEcho.Handle(ctx, func(_ workflow.Context, s string) (string, error) { return s, nil })
}

func meetings() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(meet, runMeet, workflow.Names(meetEcho, meetSay, meetStop)), meetCopy,
		workflow.Bind(meetKid, func(_ workflow.Context, s string) (string, error) { return s, nil }),
	}
}

// came starts a run, calls the functions in then, and returns the run's result.
func came(ctx context.Context, c *client.Client, m meeting, then ...func() error) (string, error) {
	run, err := meet.Start(ctx, c, "a", m)
	for _, do := range then {
		if err == nil {
			err = do()
		}
	}
	if err != nil {
		return "", err
	}
	return run.Result(ctx)
}

// meets are the ways in which payloads meet. In each, a text goes in and comes out again.
var meets = map[string]func(ctx context.Context, c *client.Client, text string) (string, error){
	"an input that goes on to activities": func(ctx context.Context, c *client.Client, text string) (string, error) {
		return came(ctx, c, meeting{"activity", text})
	},
	"an input that five activities have, and five results": func(ctx context.Context, c *client.Client, text string) (string, error) {
		return came(ctx, c, meeting{"parallel", text})
	},
	"an input that goes on to a child": func(ctx context.Context, c *client.Client, text string) (string, error) {
		return came(ctx, c, meeting{"child", text})
	},
	"a signal that is the result": func(ctx context.Context, c *client.Client, text string) (string, error) {
		return came(ctx, c, meeting{"signal", ""}, func() error { return meetSay.Send(ctx, c, "a", text) })
	},
	"a start with a signal": func(ctx context.Context, c *client.Client, text string) (string, error) {
		if err := meetSay.Send(ctx, c, "a", text, workflow.SendOptions{Start: meet.WithStart(meeting{"signal", text})}); err != nil {
			return "", err
		}
		return meet.Get(c, "a").Result(ctx)
	},
	"an update that answers with its input": func(ctx context.Context, c *client.Client, text string) (string, error) {
		if _, err := meet.Start(ctx, c, "a", meeting{}); err != nil {
			return "", err
		}
		return meetEcho.Call(ctx, c, "a", text)
	},
	"the same with a start": func(ctx context.Context, c *client.Client, text string) (string, error) {
		return meetEcho.Call(ctx, c, "a", text, workflow.CallOptions{Start: meet.WithStart(meeting{"", text})})
	},
	"signals that go along": func(ctx context.Context, c *client.Client, text string) (string, error) {
		say := func() error { return meetSay.Send(ctx, c, "a", text) }
		return came(ctx, c, meeting{"again", text}, say, say, say, say, func() error { return meetStop.Send(ctx, c, "a", workflow.None{}) })
	},
}

// A payload of the largest size is accepted, whatever other payloads of that size it meets. A
// payload with one byte more is refused with an error that names the limit and says what to do.
func TestLargestPayloadsMeet(t *testing.T) {
	t.Parallel()
	// The text is in quotes, after the meeting's kind.
	const most = engine.MaxPayload - len(`{"Kind":"parallel","Text":""}`)
	// The payloads of the short form meet in a task, and on the way to the next run.
	names := shortform.Or(slices.Sorted(maps.Keys(meets)), []string{"an input that five activities have, and five results", "signals that go along"})
	for _, name := range names {
		way := meets[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				p := d.Start(executor.Options{}, meetings()...)
				defer d.Replay(meetings()...)
				defer p.Stop()
				text := strings.Repeat("x", most)
				got, err := way(t.Context(), p.Client, text)
				if err != nil || got != text {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				events, err := p.History(t.Context(), "a")
				if n := testbed.Count(events, history.TypeWorkflowTaskFailed); err != nil || n > 0 {
					t.Errorf("%d tasks failed, %v", n, err)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				p := testbed.One(t, meetings()...)
				_, err := way(t.Context(), p.Client, strings.Repeat("x", engine.MaxPayload-1))
				if err == nil || !strings.Contains(err.Error(), "262144") || !strings.Contains(err.Error(), "WEFT_BUCKET") {
					t.Errorf("one byte more: %v", err)
				}
			})
		})
	}
}

// A run that starts twenty thousand activities in one task writes several commits. The events of
// each fit into a commit, and the messages of each are sent within one request.
func TestLargeFanOut(t *testing.T) {
	t.Parallel()
	fan := workflow.NewWorkflow[int, int]("meet.fan")
	for name, code := range map[string]func(ctx workflow.Context, n int) (int, error){
		"from one coroutine": func(ctx workflow.Context, n int) (int, error) {
			var all []workflow.Future[workflow.None]
			for i := range n {
				all = append(all, meetNap.Start(ctx, i))
			}
			for i, one := range all {
				if _, err := one.Get(ctx); err != nil {
					return i, err
				}
			}
			return n, nil
		},
		"from as many": func(ctx workflow.Context, n int) (int, error) {
			done := 0
			for i := range n {
				workflow.Go(ctx, func(ctx workflow.Context) {
					if _, err := meetNap.Run(ctx, i); err == nil {
						done++
					}
				})
			}
			err := workflow.Await(ctx, func() bool { return done == n })
			return done, err
		},
		"of timers": func(ctx workflow.Context, n int) (int, error) {
			done := 0
			for range n {
				workflow.Go(ctx, func(ctx workflow.Context) {
					if workflow.Sleep(ctx, time.Second) == nil {
						done++
					}
				})
			}
			err := workflow.Await(ctx, func() bool { return done == n })
			return done, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := shortform.Or(2000, 700)
				d := testbed.New(t)
				registrations := []workflow.Registration{workflow.Bind(fan, code), meetNap}
				p := d.Start(executor.Options{MaxCommit: 40 << 10, Engine: engine.Options{MaxStarts: 300}}, registrations...)
				defer d.Replay(registrations...)
				defer p.Stop()
				run, err := fan.Start(t.Context(), p.Client, "a", n)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := run.Result(t.Context()); err != nil || got != n {
					t.Fatalf("%d, %v", got, err)
				}
				for _, c := range d.Commits("a", 1) {
					if len(c.Commands) > 301 {
						t.Errorf("the commit in slot %d starts %d", c.Slot, len(c.Commands))
					}
				}
			})
		})
	}
}

var (
	meetBig  = workflow.NewWorkflow[meeting, string]("meet.big")
	meetBusy = workflow.NewUpdate[workflow.None, workflow.None]("meet.busy")
)

// runBig writes several things of the size of a text in one task, and closes in it.
func runBig(ctx workflow.Context, m meeting) (string, error) {
	text := strings.Repeat("x", len(m.Text))
	switch m.Kind {
	case "activity": // started, and not waited for
		meetCopy.Start(ctx, text)
	case "effect":
		return workflow.SideEffect(ctx, func() string { return text }), nil
	case "coroutines": // the signal that arrives meanwhile is passed on
		meetCopy.Start(ctx, text)
		workflow.Go(ctx, func(ctx workflow.Context) { _, _ = meetSay.Receive(ctx) }) // nothing runs after the return, so this receives nothing
		return meetBig.ContinueAsNew(ctx, meeting{"receive", m.Text})
	case "receive":
		return meetSay.Receive(ctx)
	case "fails":
		meetCopy.Start(ctx, text)
		return "", errors.New(text)
	case "update":
		meetBusy.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
			return workflow.None{}, workflow.Sleep(ctx, time.Hour)
		})
		if _, err := meetStop.Receive(ctx); err != nil {
			return "", err
		}
		meetCopy.Start(ctx, text)
	}
	return text, nil
}

// A task's writes that the code does not wait for, and the end of its run, go into two commits if
// they do not fit into one. No task fails, and each history replays, even if the process keeps
// nothing between the two commits.
func TestLargeThingsOfOneTask(t *testing.T) {
	t.Parallel()
	const most = engine.MaxPayload - len(`{"Kind":"coroutines","Text":""}`)
	registrations := append(meetings(), workflow.Bind(meetBig, runBig, workflow.Names(meetBusy, meetSay, meetStop)))
	for _, kind := range []string{"activity", "effect", "coroutines", "fails", "update"} {
		for _, cached := range shortform.Or([]int{0, -1}, []int{0}) {
			t.Run(fmt.Sprint(kind, " ", cached), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := testbed.New(t)
					p := d.Start(executor.Options{CacheEntries: cached}, registrations...)
					defer d.Replay(registrations...)
					defer p.Stop()
					text := strings.Repeat("x", most)
					run, err := meetBig.Start(t.Context(), p.Client, "a", meeting{kind, text})
					if err != nil {
						t.Fatal(err)
					}
					switch kind {
					case "coroutines":
						err = meetSay.Send(t.Context(), p.Client, "a", "along")
						text = "along"
					case "update":
						if _, err = p.Client.Update(t.Context(), "a", "meet.busy", nil, client.UpdateOptions{ID: "u"}); err == nil {
							err = meetStop.Send(t.Context(), p.Client, "a", workflow.None{})
						}
					}
					if err != nil {
						t.Fatal(err)
					}
					got, err := run.Result(t.Context())
					if kind == "fails" {
						text = ""
						if err == nil {
							t.Error("the run has not failed")
						}
						err = nil
					}
					if err != nil || got != text {
						t.Errorf("%d bytes, %.200v", len(got), err)
					}
					events, err := p.History(t.Context(), "a")
					if n := testbed.Count(events, history.TypeWorkflowTaskFailed); err != nil || n > 0 {
						t.Errorf("%d tasks failed, %v", n, err)
					}
				})
			})
		}
	}
}
