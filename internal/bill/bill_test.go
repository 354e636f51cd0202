package bill_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/seed-41655fb1/weft/internal/bill"
)

// queued are the settings with which each step has a message of its own.
func queued() bill.Settings {
	s := bill.Default()
	s.Chain = false
	return s
}

// talkative are the settings with which each invocation logs all that it can.
func talkative() bill.Settings {
	s := bill.Default()
	s.Metrics, s.SystemLogLevel = "emf", "INFO"
	return s
}

// A million canonical runs cost what docs/cost.md says.
func TestMillion(t *testing.T) {
	t.Parallel()
	chained := bill.Bare()
	chained.Chain = true
	for _, c := range []struct {
		name string
		s    bill.Settings
		want float64
	}{
		{"bare", bill.Bare(), 7.71},
		{"bare, chained", chained, 4.60},
		{"everything on", bill.Default(), 11.64},
		{"everything on, each step its own message", queued(), 14.76},
		{"everything on, all logs and metrics", talkative(), 12.68},
	} {
		lines := bill.Month(bill.Canonical(1e6), c.s)
		if sum := bill.Sum(lines); math.Abs(sum-c.want) > 0.005 {
			t.Errorf("%s: $%.4f, want $%.2f", c.name, sum, c.want)
			for _, l := range lines {
				t.Logf("%-12s %-60s %14.2f %-10s %.4f", l.Service, l.Name, l.Count, l.Unit, l.Dollars)
			}
		}
	}
	for _, c := range []struct {
		name string
		s    bill.Settings
		want float64
	}{{"bare", bill.Bare(), 1.79}, {"everything on", bill.Default(), 3.95}, {"everything on, all logs and metrics", talkative(), 7.87}} {
		if sum := bill.Sum(bill.Idle(c.s)); math.Abs(sum-c.want) > 0.005 {
			t.Errorf("%s, idle: $%.4f, want $%.2f", c.name, sum, c.want)
		}
	}
}

// A line is its count at its rate, and no line has a name twice.
func TestLines(t *testing.T) {
	t.Parallel()
	s := talkative()
	s.Key, s.TaskQueues = true, 2
	seen := map[string]bool{}
	for _, l := range append(bill.Month(bill.Canonical(1e6), s), bill.Idle(s)...) {
		if l.Service == "" || l.Name == "" || l.Unit == "" || l.Count <= 0 || l.Rate <= 0 || l.Dollars != l.Count*l.Rate {
			t.Errorf("%+v", l)
		}
		if seen[l.Service+l.Name] {
			t.Errorf("two lines are %s: %s", l.Service, l.Name)
		}
		seen[l.Service+l.Name] = true
	}
	if lines := bill.Month(bill.Canonical(0), s); len(lines) != 0 {
		t.Errorf("no runs cost %+v", lines)
	}
}

// Whatever a workload or a deployment has more of is billed: each of the fields has a price, and
// more of the work costs more.
func TestEveryFieldIsPriced(t *testing.T) {
	t.Parallel()
	whole := func(w bill.Workload, s bill.Settings) float64 {
		return bill.Sum(bill.Month(w, s)) + bill.Sum(bill.Idle(s))
	}
	w, s := bill.Canonical(1e6), bill.Default()
	usual := whole(w, s)
	for i := range reflect.TypeFor[bill.Workload]().NumField() {
		more := w
		f := reflect.ValueOf(&more).Elem().Field(i)
		if f.CanInt() {
			f.SetInt(2*f.Int() + 1)
		} else {
			f.SetFloat(2*f.Float() + 1)
		}
		if sum := whole(more, s); !(sum > usual) {
			t.Errorf("%+v costs $%v, and %+v $%v", more, sum, w, usual)
		}
	}
	words := map[string]string{"API": "url", "Metrics": "emf", "SystemLogLevel": "INFO"}
	for i := range reflect.TypeFor[bill.Settings]().NumField() {
		other, name := s, reflect.TypeFor[bill.Settings]().Field(i).Name
		switch f := reflect.ValueOf(&other).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Int:
			f.SetInt(f.Int() + 1)
		case reflect.Float64:
			f.SetFloat(f.Float() + 1)
		default:
			f.SetString(words[name])
		}
		if sum := whole(w, other); sum == usual || math.IsNaN(sum) {
			t.Errorf("%s: $%v for %+v, and $%v for %+v", name, sum, other, usual, s)
		}
	}
}

// The counts of a run are those of docs/cost.md.
func TestOf(t *testing.T) {
	t.Parallel()
	chained := bill.Default()
	for name, c := range map[string]struct {
		w    bill.Workload
		s    bill.Settings
		want bill.Counts
	}{
		"start, 3 activities, end":          {bill.Canonical(1), queued(), bill.Counts{Commits: 4, WriteUnits: 4, Reads: 4, ReadUnits: 4, Messages: 3, QueueRequests: 9, Requests: 1, Invocations: 4}},
		"chained":                           {bill.Canonical(1), chained, bill.Counts{Commits: 4, WriteUnits: 4, Reads: 2, ReadUnits: 2, Messages: 1, QueueRequests: 3, Requests: 1, Invocations: 2}},
		"a start that ends":                 {bill.Workload{Runs: 1}, chained, bill.Counts{Commits: 1, WriteUnits: 1, Reads: 1, ReadUnits: 1, Requests: 1, Invocations: 1}},
		"payloads of 1 KB":                  {bill.Workload{Runs: 1, Activities: 3, Bytes: 1 << 10}, queued(), bill.Counts{Commits: 4, WriteUnits: 12, Reads: 4, ReadUnits: 6, Messages: 3, QueueRequests: 9, Requests: 1, Invocations: 4}},
		"an update, a refused one, a query": {bill.Workload{Runs: 1, Updates: 1, Refused: 1, Queries: 1}, queued(), bill.Counts{Commits: 2, WriteUnits: 2, Reads: 4, ReadUnits: 4, Requests: 4, Invocations: 4}},
		"a signal and a timer":              {bill.Workload{Runs: 1, Signals: 1, Timers: 1}, queued(), bill.Counts{Commits: 3, WriteUnits: 3, Reads: 3, ReadUnits: 3, Messages: 1, QueueRequests: 3, Requests: 2, Invocations: 3}},
		"a wait of 0.2 s":                   {bill.Workload{Runs: 1, Waited: 0.2}, queued(), bill.Counts{Commits: 1, WriteUnits: 1, Reads: 5, ReadUnits: 5, Requests: 2, Invocations: 2, Seconds: 0.2}},
		"a wait of a second":                {bill.Workload{Runs: 1, Waited: 1}, queued(), bill.Counts{Commits: 1, WriteUnits: 1, Reads: 8, ReadUnits: 8, Requests: 5, Invocations: 5, Seconds: 0.25}},
		"a wait of an hour":                 {bill.Workload{Runs: 1, Waited: 3600}, queued(), bill.Counts{Commits: 1, WriteUnits: 1, Reads: 103, ReadUnits: 103, Requests: 100, Invocations: 100, Seconds: 0.25}},
	} {
		got := bill.Of(c.w, c.s)
		c.want.Seconds += got.Invocations * c.w.Milliseconds / 1000
		same := bill.Counts{
			Commits: got.Commits, WriteUnits: got.WriteUnits, Reads: got.Reads, ReadUnits: got.ReadUnits, Messages: got.Messages, QueueRequests: got.QueueRequests,
			Requests: got.Requests, Invocations: got.Invocations, Seconds: got.Seconds,
		}
		if same != c.want {
			t.Errorf("%s: %+v, want %+v", name, same, c.want)
		}
	}
}

// Inputs of activities are payloads, and a result is in the commit that closes the run: the last
// one in the order of Workload. Averages are what runs with and without a kind have together.
func TestPayloads(t *testing.T) {
	t.Parallel()
	s := bill.Bare()
	s.Deletion = true
	for name, c := range map[string]struct {
		w                bill.Workload
		writes, deletion float64
	}{
		"an activity":              {bill.Workload{Activities: 1, Bytes: 2 << 10}, 5 + 5, 1},
		"a timer":                  {bill.Workload{Timers: 1, Bytes: 2 << 10}, 3 + 3, 0},
		"a signal":                 {bill.Workload{Signals: 1, Bytes: 2 << 10}, 3 + 5, 1},
		"an update":                {bill.Workload{Updates: 1, Bytes: 2 << 10}, 3 + 7, 1},
		"nothing":                  {bill.Workload{Bytes: 2 << 10}, 5, 1},
		"a timer after a signal":   {bill.Workload{Signals: 1, Timers: 1, Bytes: 2 << 10}, 3 + 3 + 3, 0},
		"an activity after both":   {bill.Workload{Signals: 1, Timers: 1, Activities: 1, Bytes: 2 << 10}, 3 + 3 + 3 + 5, 1},
		"an update of each second": {bill.Workload{Updates: 0.5, Bytes: 2 << 10}, (5 + 3 + 7) / 2.0, 1},
		"a timer of each second":   {bill.Workload{Timers: 0.5, Bytes: 2 << 10}, (5 + 3 + 3) / 2.0, 0.5},
	} {
		c.w.Runs = 1
		if n := bill.Of(c.w, s); n.WriteUnits != c.writes || n.DeletionUnits != c.writes+c.deletion {
			t.Errorf("%s: %v write units and %v of the deletion, want %v and %v more", name, n.WriteUnits, n.DeletionUnits, c.writes, c.deletion)
		}
	}
}

// A read finds what the run has so far: the reads of a long run cost more, and half of its size on
// average.
func TestReadUnitsGrowWithTheLog(t *testing.T) {
	t.Parallel()
	n := bill.Of(bill.Workload{Runs: 1, Updates: 1e5, Bytes: 200}, bill.Bare())
	whole := (n.TableBytes - 100*n.Commits) / 4096
	if least, most := whole/2, whole/2+1; n.ReadUnits/n.Reads < least || n.ReadUnits/n.Reads > most {
		t.Errorf("a read takes %v units, and the log %v; want %v to %v", n.ReadUnits/n.Reads, whole, least, most)
	}
}
