package scale

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

var tables = flag.Bool("tables", false, "rewrite the tables of docs/scale.md")

// log counts the requests to a log in units of DynamoDB. Here commits are below 1 KB, and pages
// below 4 KB.
type log struct {
	store.Log
	d *Demand
}

func (l log) Append(ctx context.Context, items ...store.Item) error {
	for _, item := range items {
		l.d.Writes++
		if item.Summary != nil {
			l.d.ListRows++
		}
	}
	return l.Log.Append(ctx, items...)
}

func (l log) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	l.d.Reads++
	return l.Log.Backward(ctx, workflow, before, until, limit)
}

func (l log) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	l.d.Reads++
	return l.Log.Forward(ctx, from, limit)
}

// sender counts messages.
type sender struct {
	queue.Sender
	d *Demand
}

func (s sender) Send(ctx context.Context, name string, messages ...queue.Message) error {
	n := float64(len(messages))
	switch name {
	case queue.Activities:
		s.d.Activities += n
	case queue.Timers:
		s.d.Timers += n
	case queue.Workflow:
		s.d.Ordered += n
	}
	return s.Sender.Send(ctx, name, messages...)
}

// ofAStep counts what a step needs. One process starts a workflow of three steps, and a cold
// process handles each of its messages. That is the most expensive case, because warm processes
// read less.
func ofAStep(t *testing.T) (d Demand) {
	t.Helper()
	const steps = 3
	synctest.Test(t, func(t *testing.T) {
		code := measured.Registrations()
		deployment := testbed.New(t)
		deployment.Ports.Log, deployment.Ports.Queue = log{deployment.Ports.Log, &d}, sender{deployment.Ports.Queue, &d}
		if _, err := measured.Steps.Start(t.Context(), deployment.Idle(executor.Options{}, code...).Client, "w", steps); err != nil {
			t.Fatal(err)
		}
		deployment.Drain(t.Context(), func(string) *testbed.Process { return deployment.Idle(executor.Options{}, code...) })
	})
	return Demand{
		Writes: d.Writes / steps, Reads: d.Reads / steps, ListRows: d.ListRows / steps,
		Activities: d.Activities / steps, Timers: d.Timers / steps, Ordered: d.Ordered / steps, Requests: 1. / steps,
	}
}

// A step is a commit, a message and an invocation, plus a third of a start.
func TestDemand(t *testing.T) {
	got := ofAStep(t)
	want := Demand{Writes: 4. / 3, Reads: got.Reads, ListRows: 2. / 3, Activities: 1, Requests: 1. / 3}
	if got != want || got.Reads > 4./3 {
		t.Errorf("a step needs %+v; want %+v, and at most 4/3 reads", got, want)
	}
}

// work is how long the activities of the tables take. Each is one call of another service.
const work = 0.1

// The load and the requested increases decide which limit is reached first.
func TestFirstLimit(t *testing.T) {
	d := ofAStep(t)
	raised := DefaultQuotas()
	raised.Concurrency, raised.PollersMost, raised.TableWrites, raised.TableReads = 20_000, 20_000, 400_000, 400_000
	raised.WarmWrites, raised.WarmReads, raised.PollersFirst = 400_000, 400_000, 20_000 // provisioned
	raised.ConcurrencyRamp = 20_000                                                     // provisioned, too
	unlimited := DefaultQuotas()
	unlimited.PollersMost = 1_250
	unlisted := d
	unlisted.ListRows = 0
	ordered := unlisted
	ordered.Ordered = 1
	for _, c := range []struct {
		name          string
		demand        Demand
		load          Load
		quotas        Quotas
		first, binds  string
		passesPercent float64
	}{
		{"one step a second", d, Load{Steps: 1}, DefaultQuotas(), "", "", 100},
		{"a thousand at once", d, Load{Steps: 1_000}, DefaultQuotas(), "Lambda: mapping of the activity queue", "", 100},
		{"a hundred thousand", d, Load{Steps: 100_000}, DefaultQuotas(), "Lambda: mapping of the activity queue", "Lambda: mapping of the activity queue", 500. / 12_000 * 100},
		{"... without a maximum", d, Load{Steps: 100_000}, unlimited, "Lambda: mapping of the activity queue", "Lambda: concurrency of the account", 1_000. / 12_666.67 * 100},
		{"... with all of that raised", d, Load{Steps: 100_000}, raised, "DynamoDB: partitions of the list", "DynamoDB: partitions of the list", 12},
		{"... and no list", unlisted, Load{Steps: 100_000}, raised, "", "", 100},
		{"... whose results go through the FIFO queue", ordered, Load{Steps: 100_000}, raised, "SQS: calls of the FIFO queue", "SQS: calls of the FIFO queue", 70},
		{"long timers", unlisted, Load{Steps: 1_000, LongTimers: 4_000}, raised, "DynamoDB: partitions of the timers", "DynamoDB: partitions of the timers", 50},
		{"one run, each update alone", unlisted, Load{Steps: 1, HotUpdates: 5_000, TogetherUpdates: 1}, raised, "DynamoDB: partition of one run", "DynamoDB: partition of one run", 20},
		{"one run, updates that share commits", unlisted, Load{Steps: 1, HotUpdates: 5_000, TogetherUpdates: 30}, raised, "", "", 100},
	} {
		o := Simulate(c.demand, c.load, c.quotas, work)
		if o.First != c.first || o.Binding != c.binds {
			t.Errorf("%s: %q is reached first and %q delays it for good; want %q and %q", c.name, o.First, o.Binding, c.first, c.binds)
		}
		if got := 100 * o.Passes / c.load.Steps; got < c.passesPercent-0.1 || got > c.passesPercent+0.1 {
			t.Errorf("%s: %.1f %% pass; want %.1f %%", c.name, got, c.passesPercent)
		}
	}
}

// A load that begins at once waits only until Lambda has grown.
func TestRamp(t *testing.T) {
	o := Simulate(ofAStep(t), Load{Steps: 1_000}, DefaultQuotas(), work)
	// The mapping needs 120 at once. It has them after 23 s, and then works off the backlog.
	if o.Steady <= 23 || o.Longest <= 0 {
		t.Errorf("%+v", o)
	}
	slow := Simulate(ofAStep(t), Load{Steps: 1}, DefaultQuotas(), work)
	if slow.Steady != 0 || slow.Longest != 0 {
		t.Errorf("one step a second: %+v", slow)
	}
}

// gigabytes is the memory of a function.
const gigabytes = 0.5

// The tables of the document match the simulation. Rewrite them with `go test ./proof/scale
// -tables`.
func TestTables(t *testing.T) {
	d := ofAStep(t)
	var out strings.Builder
	loads := []float64{1, 1_000, 100_000}
	out.WriteString("| primitive | quota | needed at 1 step a second | 1,000 | 100,000 |\n|---|---|---|---|---|\n")
	for i, limit := range Limits(d, Load{Steps: 1}, DefaultQuotas(), work) {
		if limit.Needs == 0 {
			continue
		}
		fmt.Fprintf(&out, "| %s | %s", limit.Name, number(limit.Limit))
		for _, steps := range loads {
			at := Limits(d, Load{Steps: steps}, DefaultQuotas(), work)[i]
			mark := ""
			if at.Needs > at.Limit {
				mark = "**"
			}
			fmt.Fprintf(&out, " | %s%s%s", mark, number(at.Needs), mark)
		}
		out.WriteString(" |\n")
	}
	out.WriteString("\n| steps a second | met first | holds it for good | passes | steady after | longest wait | dollars an hour |\n|---|---|---|---|---|---|---|\n")
	for _, steps := range loads {
		o := Simulate(d, Load{Steps: steps}, DefaultQuotas(), work)
		steady := "never"
		if o.Steady >= 0 {
			steady = fmt.Sprintf("%d s", o.Steady)
		}
		wait := fmt.Sprintf("%.0f s", o.Longest)
		if o.Binding != "" {
			wait = "grows"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %.2f |\n", number(steps), or(o.First), or(o.Binding), number(o.Passes), steady, wait, dollars(d, o.Passes))
	}
	replaceTables(t, out.String())
}

// dollars returns the cost of steps a second for an hour.
func dollars(d Demand, steps float64) float64 {
	invocations := d.Requests + d.Activities + d.Timers + d.Ordered
	seconds := d.Activities*work + invocations*invocationSeconds
	step := (d.Writes+d.ListRows)*price.WriteUnit + d.Reads*price.ReadUnit + 3*(d.Activities+d.Timers+d.Ordered)*price.StandardRequest + // sent, received, deleted
		invocations*price.Invocation + seconds*gigabytes*price.GigaSecond
	return 3600 * steps * step
}

func or(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// number formats a number with commas, and with two digits if it is below ten.
func number(v float64) string {
	if v < 10 {
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	}
	return measured.Commas(fmt.Sprintf("%.0f", v))
}

const document = "../../docs/scale.md"

func replaceTables(t *testing.T, text string) {
	t.Helper()
	section, err := measured.ReadSection(document, "<!-- tables: go test ./proof/scale -tables -->\n", "<!-- end of the tables -->")
	if err != nil {
		t.Fatal(err)
	}
	if *tables {
		if err := section.Replace(text); err != nil {
			t.Fatal(err)
		}
		return
	}
	if section.Text != text {
		t.Errorf("the tables of %s differ from the simulation: run go test ./proof/scale -tables\n%s", document, text)
	}
}

// The document has the current numbers of partitions.
func TestDocumentHasTheShards(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("%d partitions of the list", dynamo.ListShards), fmt.Sprintf("%d partitions of the timers", dynamo.TimerShards)} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %q", document, want)
		}
	}
}
