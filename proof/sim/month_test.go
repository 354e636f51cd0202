package sim

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/billed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// monthly is the workflow of the canonical run: three activities, one after the other, with
// payloads of 200 bytes. Its names are as long as those of proof/cost.
var (
	monthly     = workflow.NewWorkflow[string, string]("sequence")
	monthlyWork = activity.New("work", func(context.Context, string) (string, error) { return payload, nil }, activity.Options{})
	payload     = strings.Repeat("x", 198)

	monthlyCode = []workflow.Registration{monthlyWork, workflow.Bind(monthly, func(ctx workflow.Context, _ string) (string, error) {
		for range 3 {
			if _, err := monthlyWork.Run(ctx, payload); err != nil {
				return "", err
			}
		}
		return payload, nil
	})}
)

// month is a deployment that runs for a month on a moved clock, with a sweep each minute. Each of
// its invocations has a process of its own.
type month struct {
	*testing.T
	d           *testbed.Deployment
	table       *billed.Table
	work, sweep billed.Counts
	invocations float64
	bytes, rows float64 // what is stored, added up every six hours
	weighed     float64

	settings bill.Settings
	// The mistakes that TestMonthFinds makes: further deletions of each commit, and walks a day.
	again, walks int
}

var daysOfMonth = flag.Int("days", 7, "how many days TestMonth counts, after the seventeen that fill the table")

const (
	retentionOfMonth = 7 * 24 * time.Hour
	betweenRuns      = 30 * time.Minute
)

// process returns a new process, whose calls count into n.
func (m *month) process(n *billed.Counts) *testbed.Process {
	ports := m.d.Ports
	m.d.Ports = m.table.Over(ports, n)
	defer func() { m.d.Ports = ports }()
	m.d.Ports.Scanner = again{m.d.Ports.Scanner, m.again}
	return m.d.Idle(executor.Options{
		Retention: retentionOfMonth, CheckEvery: 24 * time.Hour / time.Duration(max(1, m.walks)), Engine: engine.Options{Chain: m.settings.Chain},
	}, monthlyCode...)
}

// again deletes more often than it has to.
type again struct {
	store.Scanner
	times int
}

// Delete implements store.Eraser.
func (a again) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	for range a.times {
		if err := a.Scanner.Delete(ctx, items, attempts); err != nil {
			return err
		}
	}
	return a.Scanner.Delete(ctx, items, attempts)
}

// run starts a run, and delivers its messages.
func (m *month) run(number int) {
	ctx := context.Background()
	invoked := func(string) *testbed.Process {
		m.invocations++
		return m.process(&m.work)
	}
	p := invoked("")
	if _, err := monthly.Start(ctx, p.Client, fmt.Sprintf("order-of-the-month-%06d", number), payload, workflow.StartOptions{}); err != nil {
		m.Fatal(err)
	}
	p.Stop()
	m.d.DrainFor(ctx, 0, func(name string) *testbed.Process { return invoked(name) })
}

// live lets some time pass.
func (m *month) live(days int, first int) {
	ctx := context.Background()
	sweeper := m.process(&m.sweep)
	defer sweeper.Stop()
	number := first
	for minute := range days * 24 * 60 {
		if time.Duration(minute)*time.Minute%betweenRuns == 0 {
			m.run(number)
			number++
		}
		time.Sleep(time.Minute)
		if _, err := sweeper.Service.Service.Deliveries.Sweep(ctx); err != nil {
			m.Fatal(err)
		}
		if did, err := sweeper.Service.Service.Maintenance.Maintain(ctx); err != nil || did.Failed > 0 {
			m.Fatalf("%+v, %v", did, err)
		}
		if minute%360 == 0 {
			for m.d.Store.DeleteExpired(func(int) int { return 0 }) {
			}
			m.weigh()
		}
	}
}

// weigh adds up what is stored.
func (m *month) weigh() {
	m.weighed++
	for cursor, more := "", true; more; more = cursor != "" {
		items, next, err := m.d.Store.Scan(context.Background(), cursor, 1000)
		if err != nil {
			m.Fatal(err)
		}
		for _, item := range items {
			bytes, row := m.table.Size(item)
			m.bytes += float64(bytes + 100)
			if row > 0 {
				m.rows += float64(row + 100)
			}
		}
		cursor = next
	}
}

// line is a line of the bill, as it was counted and as package bill has it.
type line struct {
	name            string
	counted, billed float64
	within          float64
}

// off returns by which part a line is off.
func (l line) off() float64 { return l.counted/l.billed - 1 }

// play lets a month pass in its steady state, and returns the lines that are not as package bill
// says. It needs the settings.
func (m *month) play(days int) (wrong []line) {
	m.d, m.table = testbed.New(m.T), &billed.Table{Namespace: "default", Listed: m.settings.List}
	m.d.Ports.Scanner = m.d.Store
	m.live(17, 0) // the runs of a week, and what is left of those of the week before
	m.work, m.sweep, m.invocations, m.bytes, m.rows, m.weighed = billed.Counts{}, billed.Counts{}, 0, 0, 0, 0
	m.live(days, 100_000)
	each, s := float64(days), m.settings
	n := bill.Of(bill.Canonical(each*float64(24*time.Hour/betweenRuns)), s)
	for _, l := range []line{
		{"commits", m.work.WriteUnits, n.WriteUnits, 0},
		{"rows of the list", m.work.IndexUnits, n.IndexUnits, 0},
		{"reads before commits", m.work.ReadUnits, n.ReadUnits, 0},
		{"messages", m.work.QueueRequests, n.QueueRequests, 0},
		{"invocations", m.invocations, n.Invocations, 0},
		{"deletion of commits", m.sweep.WriteUnits, n.DeletionUnits, 0.01},
		{"deletion of rows of the list", m.sweep.IndexUnits, n.DeletionIndexUnits, 0.01},
		{"deletion: reads", m.sweep.ReadUnits, n.DeletionReads, 0.04}, // a page of the slow check may end in a run
		{"slow check", m.sweep.ScanUnits, n.ScanUnits, 0.04},
		{"sweep each minute", m.sweep.TimerUnits, each * 24 * 60 * 5, 0},
		{"bytes in the table", m.bytes / m.weighed, (n.TableBytes*(s.RetentionDays+0.5) + n.VoidBytes*s.RetentionDays) / each, 0.03},
		{"bytes in the list", m.rows / m.weighed, n.IndexBytes * (s.RetentionDays + 0.5) / each, 0.03},
		{"places of the slow check", min(m.sweep.MarkUnits, 3*each), m.sweep.MarkUnits, 0},
	} {
		if l.counted != l.billed && math.Abs(l.off()) > l.within {
			wrong = append(wrong, l)
		}
	}
	return wrong
}

// A month of canonical runs, on a moved clock, is billed what package bill says, line by line.
func TestMonth(t *testing.T) {
	t.Parallel()
	bare := bill.Bare()
	bare.Deletion = true // so that the month ends as it began
	for name, s := range map[string]bill.Settings{"bare": bare, "everything on": bill.Default()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, l := range (&month{T: t, settings: s}).play(shortform.Or(*daysOfMonth, 2)) {
					t.Errorf("%s: %v were counted, and the bill says %v: %+.2f %%", l.name, l.counted, l.billed, 100*l.off())
				}
			})
		})
	}
}

// A month shows what costs more than the bill says.
func TestMonthFinds(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]*month{"deletion of commits": {again: 1}, "slow check": {walks: 2}} {
		synctest.Test(t, func(t *testing.T) {
			m.T, m.settings = t, bill.Default()
			wrong := m.play(2)
			if !slices.ContainsFunc(wrong, func(l line) bool { return l.name == want && l.off() > 0.5 }) {
				t.Errorf("the line %q is as usual: %+v", want, wrong)
			}
		})
	}
}
