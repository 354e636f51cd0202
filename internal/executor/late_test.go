package executor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	lateNote = workflow.NewSignal[string]("note")
	hears    = workflow.NewWorkflow[bool, string]("hears")
	speaks   = workflow.NewWorkflow[string, string]("speaks")
)

// lateCode is a workflow that notes signals until it is canceled, and one whose last task does what
// its input says.
func lateCode() []workflow.Registration {
	listen := func(ctx workflow.Context, again bool) (string, error) {
		if again {
			if err := workflow.Sleep(ctx, time.Hour); err != nil {
				return "", err
			}
			return hears.ContinueAsNew(ctx, false)
		}
		for {
			if _, err := lateNote.Receive(ctx); err != nil {
				return "", err
			}
		}
	}
	speak := func(ctx workflow.Context, does string) (string, error) {
		switch does {
		case "signals":
			lateNote.SendTo(ctx, workflow.External("h"), "text")
		case "cancels":
			workflow.External("h").Cancel(ctx, "")
		case "starts":
			hears.StartChild(ctx, false, workflow.ChildOptions{WorkflowID: "h", ParentClosePolicy: workflow.AbandonChild})
		case "signals a child":
			child := hears.StartChild(ctx, false, workflow.ChildOptions{WorkflowID: "h", ParentClosePolicy: workflow.AbandonChild})
			lateNote.SendTo(ctx, child, "text")
		}
		return "", nil
	}
	return []workflow.Registration{workflow.Bind(hears, listen, workflow.Names(lateNote)), workflow.Bind(speaks, speak)}
}

// notes counts the signals in all runs of a workflow.
func notes(d *testbed.Deployment, id string) (n int) {
	for _, run := range d.Runs(id) {
		for _, c := range run.Log {
			for _, e := range c.Events() {
				if _, ok := e.Attributes.(*history.WorkflowExecutionSignaled); ok {
					n++
				}
			}
		}
	}
	return n
}

// The messages that a run's last task sends to other workflows are lost. The slow check sends them
// again a day later. They take effect once, although the check repeats them each time the age has
// doubled.
func TestLostMessagesOfTheLastTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		does     string
		receiver string // the workflow that starts first
		kinds    []engine.MessageKind
		lost     int
		check    func(t *testing.T, d *testbed.Deployment)
	}{
		{"signals", "waits", []engine.MessageKind{engine.DeliverExternal}, 1, func(t *testing.T, d *testbed.Deployment) {
			if n := notes(d, "h"); n != 1 {
				t.Errorf("the signal arrived %d times", n)
			}
		}},
		{"signals", "continues", []engine.MessageKind{engine.DeliverExternal}, 1, func(t *testing.T, d *testbed.Deployment) {
			if n := notes(d, "h"); n != 1 {
				t.Errorf("the signal arrived %d times", n)
			}
		}},
		{"cancels", "waits", []engine.MessageKind{engine.DeliverExternal}, 1, func(t *testing.T, d *testbed.Deployment) {
			if status := d.Runs("h")[0].State.Status; status != history.Canceled {
				t.Errorf("the receiver is %v", status)
			}
		}},
		{"starts", "", []engine.MessageKind{engine.StartOrCloseChild}, 1, func(t *testing.T, d *testbed.Deployment) {
			if n := len(d.Runs("h")); n != 1 {
				t.Errorf("the child was started %d times", n)
			}
		}},
		{"signals a child", "", []engine.MessageKind{engine.DeliverExternal, engine.StartOrCloseChild}, 2, func(t *testing.T, d *testbed.Deployment) {
			if n := notes(d, "h"); n != 1 {
				t.Errorf("the signal arrived %d times", n)
			}
		}},
	} {
		t.Run(c.does+" "+c.receiver, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := maintained(t)
				q := &forgetful{Sender: d.Ports.Queue, kinds: c.kinds}
				d.Ports.Queue = q
				p := d.Start(executor.Options{}, lateCode()...)
				if c.receiver != "" {
					if _, err := hears.Start(t.Context(), p.Client, "h", c.receiver == "continues"); err != nil {
						t.Fatal(err)
					}
				}
				q.lose(true)
				if _, err := speaks.Start(t.Context(), p.Client, "s", c.does); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if lost := q.lose(false); lost != c.lost || d.Runs("s")[0].State.Status != history.Completed {
					t.Fatalf("%d messages are lost, and the sender is %v: the test does not test anything", lost, d.Runs("s")[0].State.Status)
				}
				time.Sleep(5 * 24 * time.Hour)
				c.check(t, d)
				p.Stop()
				d.CheckReplay(p)
			})
		})
	}
}

// The check repeats even messages that arrived, because the log does not record their arrival. A
// repeated message has no effect, neither on the run that got it, nor on a later run after that one
// was deleted.
func TestLateMessagesArriveOnce(t *testing.T) {
	t.Parallel()
	for _, does := range []string{"signals", "cancels", "starts"} {
		all := []string{"stays", "is deleted and followed by another", "closes", "is deleted", "is followed by another"}
		for _, next := range shortform.Or(all, all[:2]) {
			t.Run(does+", "+next, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { sendLateAgain(t, does, next) })
			})
		}
	}
}

func sendLateAgain(t *testing.T, does, next string) {
	d := maintained(t)
	p := d.Start(executor.Options{CheckEvery: time.Hour}, lateCode()...)
	if does != "starts" {
		if _, err := hears.Start(t.Context(), p.Client, "h", false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := speaks.Start(t.Context(), p.Client, "s", does); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	first := d.Runs("h")[0].State
	if next != "stays" && !first.Status.Closed() {
		if err := hears.Get(p.Client, "h").Terminate(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Hour)
	if next == "is deleted" || next == "is deleted and followed by another" {
		if err := p.Client.Delete(t.Context(), "h", string(first.RunID)); err != nil {
			t.Fatal(err)
		}
	}
	follows := next == "is followed by another" || next == "is deleted and followed by another"
	if follows {
		if _, err := hears.Start(t.Context(), p.Client, "h", false); err != nil {
			t.Fatal(err)
		}
	}
	before := d.Runs("h")
	time.Sleep(6 * 24 * time.Hour)
	after := d.Runs("h")
	if len(after) != len(before) {
		t.Errorf("there are %d runs, and there were %d", len(after), len(before))
	}
	for i := range min(len(before), len(after)) {
		if len(after[i].Log) != len(before[i].Log) {
			t.Errorf("run %d has %d commits, and had %d: a message took effect twice", i, len(after[i].Log), len(before[i].Log))
		}
	}
	p.Stop()
	d.CheckReplay(p)
}

// An outage lasts longer than closed runs are kept. Meanwhile the messages of a run's last task
// have waited in their queues. The slow check runs first, and does not delete the run before they
// are handled.
func TestMessagesOfTheLastTaskOutlastAnOutage(t *testing.T) {
	t.Parallel()
	for does, kind := range map[string]engine.MessageKind{"signals": engine.DeliverExternal, "cancels": engine.DeliverExternal, "starts": engine.StartOrCloseChild} {
		t.Run(does, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := maintained(t)
				q := &forgetful{Sender: d.Ports.Queue, kinds: []engine.MessageKind{kind}, loses: true}
				d.Ports.Queue = q
				before := d.Idle(executor.Options{}, lateCode()...)
				if does != "starts" {
					if _, err := hears.Start(t.Context(), before.Client, "h", false); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := speaks.Start(t.Context(), before.Client, "s", does); err != nil {
					t.Fatal(err)
				}
				before.Stop()
				waits := q.last
				time.Sleep(10 * 24 * time.Hour)
				after := d.Idle(executor.Options{}, lateCode()...)
				check := func() {
					t.Helper()
					for ended := false; !ended; {
						did, err := after.Service.Service.Maintenance.Maintain(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						ended = did.Ended
					}
				}
				check()
				handleOnce(t, after, waits, 2)
				runs := d.Runs("h")
				switch {
				case len(runs) != 1:
					t.Errorf("the other workflow has %d runs", len(runs))
				case does == "signals" && notes(d, "h") != 1:
					t.Errorf("the signal arrived %d times", notes(d, "h"))
				case does == "cancels" && runs[0].State.Status != history.Canceled:
					t.Errorf("the receiver is %v", runs[0].State.Status)
				}
				time.Sleep(25 * time.Hour)
				check()
				for _, run := range d.Runs("s") {
					if !run.Void() {
						t.Errorf("run %s is still there", run.State.RunID)
					}
				}
			})
		})
	}
}
