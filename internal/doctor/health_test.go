package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// beating is the history of a run that has accepted and completed a beat seven minutes before noon,
// and one two minutes before.
func beating() *client.History {
	h := &client.History{}
	happened(h, 50*time.Minute, &history.WorkflowExecutionStarted{})
	for id, ago := range map[string]time.Duration{"beat-1": 7 * time.Minute, "beat-2": 2 * time.Minute} {
		happened(h, ago, &history.WorkflowExecutionUpdateAccepted{UpdateID: id})
		happened(h, ago, &history.WorkflowExecutionUpdateCompleted{UpdateID: id})
	}
	slices.SortStableFunc(h.Events, func(a, b client.HistoryEvent) int { return a.Time.Compare(b.Time) })
	return h
}

// happened adds an event from some time before noon.
func happened(h *client.History, ago time.Duration, a history.Attributes) {
	h.Events = append(h.Events, client.HistoryEvent{Time: noon.Add(-ago), Attributes: a})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	accepted := func(id string) history.Attributes { return &history.WorkflowExecutionUpdateAccepted{UpdateID: id} }
	completed := func(id string) history.Attributes {
		return &history.WorkflowExecutionUpdateCompleted{UpdateID: id}
	}
	const page = " -> docs/operations.md says what to do under weft-probe"
	for what, c := range map[string]struct {
		change func(d *AWS, timer *deployedFunction, api *recorded)
		want   string
	}{
		"healthy":                   {func(*AWS, *deployedFunction, *recorded) {}, "ok probe: the last synthetic update was accepted 2m0s ago"},
		"off":                       {func(_ *AWS, timer *deployedFunction, _ *recorded) { delete(timer.variables, "WEFT_PROBE") }, "ok probe: there is none (Probe is off)"},
		"the function is not known": {func(_ *AWS, timer *deployedFunction, _ *recorded) { timer.variables = nil }, ""},
		"no API":                    {func(d *AWS, _ *deployedFunction, _ *recorded) { d.API = nil }, ""},
		"it has not been asked":     {func(_ *AWS, _ *deployedFunction, api *recorded) { api.noBeats = errors.New("no answer") }, "warn probe: not checked: no answer -> try again"},
		"no beat": {func(_ *AWS, _ *deployedFunction, api *recorded) {
			api.noBeats = problem.Of(refusal.NotFound.New("there is no workflow"))
		}, "bad probe: no synthetic update was ever accepted: the timer function sends one within 5m0s" + page},
		"no beat of a deployment that is new": {func(_ *AWS, timer *deployedFunction, api *recorded) {
			timer.changed, api.noBeats = noon.Add(-time.Minute), problem.Of(refusal.NotFound.New("there is no workflow"))
		}, "warn probe: no synthetic update was ever accepted: the timer function was deployed 1m0s ago, and sends one within 5m0s -> ask again in five minutes"},
		"an old beat": {
			func(d *AWS, _ *deployedFunction, _ *recorded) { d.Now = noon.Add(10 * time.Minute) },
			"bad probe: the last synthetic update was accepted 12m0s ago: one is due each 5m0s" + page,
		},
		"a clock that lags": {func(d *AWS, _ *deployedFunction, _ *recorded) { d.Now = noon.Add(-3 * time.Minute) }, "ok probe: the last synthetic update was accepted 0s ago"},
		"a run that continues another": {func(_ *AWS, _ *deployedFunction, api *recorded) {
			api.beats = &client.History{}
			happened(api.beats, 3*time.Minute, &history.WorkflowExecutionStarted{})
		}, "ok probe: the last synthetic update was accepted 3m0s ago"},
		"one is in progress": {func(_ *AWS, _ *deployedFunction, api *recorded) {
			happened(api.beats, time.Minute, accepted("beat-3"))
		}, "ok probe: the last synthetic update was accepted 1m0s ago"},
		"one has not completed": {func(_ *AWS, _ *deployedFunction, api *recorded) {
			api.beats = &client.History{}
			happened(api.beats, 9*time.Minute, accepted("beat-1"))
			happened(api.beats, 6*time.Minute, accepted("beat-2"))
			happened(api.beats, 1*time.Minute, accepted("beat-3"))
			happened(api.beats, 1*time.Minute, completed("beat-3"))
		}, "bad probe: the synthetic update of 9m0s ago has not completed: activities do not run, or are late" + page},
	} {
		api := &recorded{beats: beating()}
		d, timer := &AWS{API: api, Now: noon}, deployedFunction{variables: map[string]string{"WEFT_PROBE": "weft-api"}}
		c.change(d, &timer, api)
		var f findings
		f.probe(t.Context(), d, timer)
		if got := strings.Join(text(f), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// The alarms that are looked for are those of the template, each of which has a page.
func TestExpectedAlarms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Alarms\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var want []string
	for _, heading := range regexp.MustCompile("(?m)^### (.*)$").FindAllString(section, -1) {
		for _, name := range regexp.MustCompile("`weft-([^`]+)`").FindAllStringSubmatch(heading, -1) {
			want = append(want, name[1])
		}
	}
	got := slices.Concat(healthAlarms, []string{probeAlarm}, awsAlarms)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the doctor looks for\n%q\nand docs/operations.md has\n%q", got, want)
	}
	with := func(metrics, probe string) map[string]deployedFunction {
		return map[string]deployedFunction{"timer": {variables: map[string]string{"WEFT_METRICS": metrics, "WEFT_PROBE": probe}}, "api": {}}
	}
	a := &AWS{Name: "shop"}
	for what, c := range map[string]struct {
		functions map[string]deployedFunction
		want      int
	}{
		"all": {with("health", "shop-api"), len(want)}, "by default": {with("", "shop-api"), len(want)}, "without a probe": {with("emf", ""), len(want) - 1},
		"without metrics": {with("off", "shop-api"), len(awsAlarms)}, "unknown functions": {nil, len(want) - 1},
	} {
		if names := expectedAlarms(a, c.functions); len(names) != c.want || !slices.Contains(names, "shop-errors-api") {
			t.Errorf("%s: %q, want %d", what, names, c.want)
		}
	}
}
