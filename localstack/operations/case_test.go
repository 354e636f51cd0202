package operations_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/localstack/operations"
	"github.com/seed-41655fb1/weft/proof/alarms"
)

// deployed is a deployment that a case breaks, without servers. Its alarm begins five minutes after
// the fault, and ends five minutes after its end.
type deployed struct {
	broken, loses  bool
	ignores        bool // the doctor says nothing of alarms
	since          int  // the last change of broken, in minutes
	states         map[string]alarms.State
	minutes        int
	alarm, another string // which begin
	repairs        string // the commands that end the fault
	ran            []string
	sick           int // so many minutes an alarm is on at first
	failsAt        string
}

func newDeployed() *deployed { return &deployed{alarm: "stuck-runs", repairs: "make deploy-sam\n"} }

func (d *deployed) Minute(context.Context) error {
	d.minutes++
	d.since++
	d.states = map[string]alarms.State{"stuck-runs": alarms.OK, "errors-api": alarms.OK, "age-workflow": alarms.OK}
	if d.minutes <= d.sick || d.broken && d.since >= 5 || !d.broken && len(d.ran) > 0 && d.since < 5 {
		d.states[d.alarm] = alarms.Alarming
	}
	if d.broken && d.another != "" {
		d.states[d.another] = alarms.Alarming
	}
	return d.failure("minute")
}

func (d *deployed) States(context.Context) (map[string]alarms.State, error) {
	return d.states, d.failure("states")
}

func (d *deployed) Doctor(context.Context) (string, error) {
	if d.ignores {
		return "ok    alarms   21 are off", nil
	}
	return "bad   alarms   on: weft-" + d.alarm + ", weft-" + d.another, d.failure("doctor")
}

func (d *deployed) Run(_ context.Context, commands string) error {
	d.ran = append(d.ran, commands)
	if commands == d.repairs && d.broken {
		d.broken, d.since = false, 0
	}
	return d.failure("run")
}

func (d *deployed) Audit(context.Context) error {
	if d.loses {
		return errors.New("an update is lost")
	}
	return d.failure("audit")
}

func (d *deployed) failure(at string) error {
	if d.failsAt == at {
		return errors.New(at + " fails")
	}
	return nil
}

func (d *deployed) damage(context.Context) error {
	d.broken, d.since = true, 0
	return d.failure("break")
}

func TestPlay(t *testing.T) {
	t.Parallel()
	page := operations.Page{Alarm: "stuck-runs", Commands: []string{"weft list Stuck\n", "make deploy-sam\n"}}
	for what, test := range map[string]struct {
		change func(*deployed, *operations.Case, *operations.Page)
		err    string
	}{
		"everything holds":         {func(*deployed, *operations.Case, *operations.Page) {}, ""},
		"an alarm is on at first":  {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.sick = 40 }, ""},
		"an alarm is on before":    {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.sick = 1000 }, "not healthy before the fault: stuck-runs"},
		"the alarm does not begin": {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.alarm = "none" }, "the alarm none begins, too"},
		"no alarm begins": {func(_ *deployed, c *operations.Case, _ *operations.Page) {
			c.Break = func(context.Context) error { return nil }
		}, "the alarm stuck-runs does not begin: too late"},
		"one of two does not begin": {func(_ *deployed, c *operations.Case, _ *operations.Page) { c.Also = []string{"age-workflow"} }, "the alarm age-workflow does not begin: too late"},
		"both begin": {func(d *deployed, c *operations.Case, _ *operations.Page) {
			c.Also, d.another = []string{"errors-api"}, "errors-api"
		}, ""},
		"another one is not allowed": {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.another = "errors-api" }, "the alarm errors-api begins, too"},
		"another one is allowed":     {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.another = "age-workflow" }, ""},
		"the page resolves nothing":  {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.repairs = "" }, "after the steps of the page: too late"},
		"the page has no commands":   {func(_ *deployed, _ *operations.Case, p *operations.Page) { p.Commands = nil }, "no commands for the alarm stuck-runs"},
		"the page is of another":     {func(_ *deployed, _ *operations.Case, p *operations.Page) { p.Alarm = "errors-api" }, "no commands for the alarm stuck-runs"},
		"a run is lost":              {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.loses = true }, "after the steps of the page: an update is lost"},
		"the fault cannot be caused": {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.failsAt = "break" }, "the fault: break fails"},
		"the repair fails": {func(_ *deployed, c *operations.Case, _ *operations.Page) {
			c.Repair = func(context.Context) error { return errors.New("no") }
		}, "the repair: no"},
		"a command of the page fails": {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.failsAt = "run" }, "the commands of the page: run fails"},
		"the doctor names no alarm":   {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.ignores = true }, "the doctor does not name the alarm stuck-runs:\nok    alarms"},
		"the doctor fails":            {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.failsAt = "doctor" }, "the doctor: doctor fails"},
		"the load fails":              {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.failsAt = "minute" }, "minute fails"},
		"the alarms cannot be judged": {func(d *deployed, _ *operations.Case, _ *operations.Page) { d.failsAt = "states" }, "states fails"},
	} {
		d, p := newDeployed(), page
		c := operations.Case{Name: what, Alarm: "stuck-runs", Allowed: []string{"age-*"}, Break: d.damage}
		test.change(d, &c, &p)
		err := c.Play(t.Context(), d, p)
		if test.err == "" && (err != nil || !slices.Equal(d.ran, page.Commands)) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v after %q; want %q", what, err, d.ran, test.err)
		}
	}
}

// The repair comes before the commands: a page deploys code that was corrected.
func TestRepairFirst(t *testing.T) {
	t.Parallel()
	d := newDeployed()
	repaired := false
	c := operations.Case{Alarm: "stuck-runs", Break: d.damage, Repair: func(context.Context) error {
		repaired = len(d.ran) == 0
		return nil
	}}
	if err := c.Play(t.Context(), d, operations.Page{Alarm: "stuck-runs", Commands: []string{d.repairs}}); err != nil || !repaired {
		t.Errorf("%v; repaired before the commands: %v", err, repaired)
	}
}

const text = "# Operations\n\n```sh\nno page\n```\n\n## Alarms\n\nThey ring.\n\n### `weft-a`, `weft-b-c`\n\n- **Means**: it.\n- **Do**: look:\n\n" +
	"  ```sh\n  aws logs tail\n  make deploy-sam\n  ```\n\n  And then:\n\n```sh\nweft list\n```\n\n  ```json\n  {}\n  ```\n- **Heals itself**: no.\n\n  ```sh\n  never\n  ```\n\n" +
	"### `weft-d`\n\n- **Do**: nothing.\n\n## Stuck runs\n\n### `weft-e`\n\n```sh\nnever\n```\n"

func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := operations.Pages(text)
	if err != nil || len(pages) != 3 {
		t.Fatalf("%q, %v; want a, b-c and d", pages, err)
	}
	want := []string{"  aws logs tail\n  make deploy-sam\n", "weft list\n"}
	for _, name := range []string{"a", "b-c"} {
		if p := pages[name]; p.Alarm != name || !slices.Equal(p.Commands, want) {
			t.Errorf("%s: %q, want %q", name, p, want)
		}
	}
	if p := pages["d"]; p.Alarm != "d" || len(p.Commands) > 0 {
		t.Errorf("d: %q, want no commands", p)
	}
	for _, bad := range []string{"", "\n## Alarms\n\n## More\n", strings.Replace(text, "- **Do**: nothing", "- **Means**: nothing", 1)} {
		if pages, err := operations.Pages(bad); err == nil {
			t.Errorf("%q: %q, want an error", bad, pages)
		}
	}
}

// Each page of docs/operations.md has commands that can be run, and a case for each of its alarms.
// Cases name only alarms that have a page.
func TestPagesOfOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := operations.Pages(string(text))
	if err != nil || pages["stuck-runs"].Alarm == "" {
		t.Errorf("%q, %v; want a page of stuck-runs", pages, err)
	}
	played := map[string]bool{}
	names := map[string]bool{}
	for _, c := range operations.Cases() {
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
		for _, name := range append(c.Also, c.Alarm) {
			played[name] = true
			if pages[name].Alarm == "" {
				t.Errorf("the case %s is about %s, which has no page", c.Name, name)
			}
		}
		for _, pattern := range c.Allowed {
			prefix, _ := strings.CutSuffix(pattern, "*")
			if !slices.ContainsFunc(slices.Collect(maps.Keys(pages)), func(name string) bool { return strings.HasPrefix(name, prefix) }) {
				t.Errorf("the case %s allows %s, which has no page", c.Name, pattern)
			}
		}
	}
	for name, page := range pages {
		if len(page.Commands) == 0 {
			t.Errorf("the page of %s has no block of commands that says what to do", name)
		}
		if !played[name] {
			t.Errorf("no case plays the page of %s", name)
		}
	}
}

// CI names the cases that it plays. Each part of its pattern has to be in the name of a case.
func TestCIPlaysCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	_, pattern, _ := strings.Cut(string(text), `make operations-check ONLY="`)
	pattern, _, found := strings.Cut(pattern, `"`)
	if !found {
		t.Fatal(".ci/run does not play operations-check")
	}
	for part := range strings.SplitSeq(pattern, "|") {
		if !slices.ContainsFunc(operations.Names(), func(name string) bool { return strings.Contains(name, part) }) {
			t.Errorf("CI plays %q, and no case has such a name", part)
		}
	}
}
