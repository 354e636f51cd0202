package limits_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// Task queues on the command line that are accepted, and that are refused.
func TestTaskQueueFlags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]limits.TaskQueue{
		"2": {AtOnce: 2}, "0": {}, "2@50/s": {AtOnce: 2, Rate: limits.Rate{PerSecond: 50}},
		"@30/m+5": {Rate: limits.Rate{PerSecond: 0.5, Burst: 5}}, "8@1/h": {AtOnce: 8, Rate: limits.Rate{PerSecond: 1.0 / 3600}},
		"@0.5/s": {Rate: limits.Rate{PerSecond: 0.5}}, "@1000/s": {Rate: limits.Rate{PerSecond: 1000}},
	} {
		var program struct{ settings.Queues }
		parser, err := kong.New(&program)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parser.Parse([]string{"--task-queues", "a=" + text + ";b=3", "--task-queues", "c=1"})
		if got := program.TaskQueues; err != nil || len(got) != 3 || got["a"] != want || got["b"].AtOnce != 3 {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "2@", "2@50", "2@50/d", "2@x/s", "2@0/s", "2@-1/s", "2@50/s+", "2@50/s+0", "2@50/s+x", "2@1001/s", "2@0.5/h", "2@nan/s", "2@50/s+-1", "2@50/s+100001"} {
		if err := parsed(t, "a="+text); err == nil || !strings.Contains(err.Error(), `task queue "a": `) || !strings.Contains(err.Error(), "give ") {
			t.Errorf("%q: %v, want an error that says what to give", text, err)
		}
	}
	for _, text := range []string{"", "a", "a=1;", "a=1;b"} {
		if err := parsed(t, text); err == nil || !strings.Contains(err.Error(), "give a name") {
			t.Errorf("%q: %v, want an error that says what to give", text, err)
		}
	}
}

// parsed returns the error of task queues on a command line.
func parsed(t *testing.T, text string) error {
	t.Helper()
	parser, err := kong.New(&struct{ settings.Queues }{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse([]string{"--task-queues=" + text})
	return err
}

// rateOf returns the rate that the variables of a function give.
func rateOf(get func(string) string) (limits.Rate, error) {
	var f settings.Function
	err := settings.Read(func(name string) string {
		if _, of := map[string]bool{"WEFT_RATE": true, "WEFT_BURST": true}[name]; of {
			return get(name)
		}
		return map[string]string{"WEFT_TABLE": "t", "WEFT_QUEUE_WORKFLOW": "w", "WEFT_QUEUE_TIMERS": "t", "WEFT_QUEUE_ACTIVITIES": "a"}[name]
	}, &f)
	if err != nil {
		return limits.Rate{}, err
	}
	return f.RateOf()
}

// Variables of a function that are accepted, and that are refused.
func TestRateOfAFunction(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rate, burst string
		want        limits.Rate
		wrong       string
	}{
		{},
		{rate: "50", want: limits.Rate{PerSecond: 50}},
		{rate: "0.25", burst: "7", want: limits.Rate{PerSecond: 0.25, Burst: 7}},
		{burst: "7", wrong: "without a rate"},
		{rate: "fast", wrong: "WEFT_RATE"},
		{rate: "-1", wrong: "WEFT_RATE"},
		{rate: "0", burst: "0"},
		{rate: "2", burst: "0", want: limits.Rate{PerSecond: 2}},
		{rate: "5000", wrong: "1000 in a second"},
		{rate: "50", burst: "-1", wrong: "WEFT_BURST"},
		{rate: "50", burst: "many", wrong: "WEFT_BURST"},
	} {
		got, err := rateOf(func(name string) string {
			return map[string]string{"WEFT_RATE": test.rate, "WEFT_BURST": test.burst}[name]
		})
		if got != test.want || (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%q, %q: %+v, %v", test.rate, test.burst, got, err)
		}
	}
}

// No rate allows more than it says. If no burst is given, it is a second's worth.
func TestRates(t *testing.T) {
	t.Parallel()
	for rate, want := range map[limits.Rate]struct {
		every  time.Duration
		atOnce int
	}{
		{PerSecond: 50}: {20 * time.Millisecond, 50}, {PerSecond: 3}: {333334 * time.Microsecond, 3},
		{PerSecond: 0.5}: {2 * time.Second, 1}, {PerSecond: 1.5, Burst: 9}: {666667 * time.Microsecond, 9},
		{PerSecond: 1.0 / 3600}: {time.Hour, 1}, {PerSecond: 1000}: {time.Millisecond, 1000},
	} {
		if err := rate.Check(); err != nil || !rate.Limited() || rate.Every() != want.every || rate.AtOnce() != want.atOnce {
			t.Errorf("%+v: %v, one each %v, %d at once, want %+v", rate, err, rate.Every(), rate.AtOnce(), want)
		}
	}
	for _, rate := range []limits.Rate{{PerSecond: math.NaN()}, {PerSecond: math.Inf(1)}, {PerSecond: -1}, {Burst: 1}, {PerSecond: 1, Burst: -1}} {
		if rate.Check() == nil {
			t.Errorf("%+v is taken for a rate", rate)
		}
	}
	if (limits.Rate{}).Limited() || (limits.Rate{}).Check() != nil {
		t.Error("no rate is a limit")
	}
}
