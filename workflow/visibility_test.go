package workflow_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	shows  = workflow.NewWorkflow[workflow.None, int]("shows")
	turnUp = workflow.NewSignal[string]("turn-up")

	place = workflow.NewAttribute[string]("Place")
	level = workflow.NewAttribute[float64]("Level")
	when  = workflow.NewAttribute[time.Time]("When")
	words = workflow.NewAttribute[[]string]("Words")
	about = workflow.NewMemo[any]("about")
)

// showing registers a workflow that runs, for each signal, the function of that name. The functions
// change its visibility.
func showing(does map[string]func(workflow.Context)) workflow.Registration {
	return workflow.Bind(shows, func(ctx workflow.Context, _ workflow.None) (n int, err error) {
		for ; err == nil; n++ {
			var what string
			if what, err = turnUp.Receive(ctx); what == "end" {
				return n, nil
			}
			if do := does[what]; do != nil && err == nil {
				do(ctx)
			}
		}
		return n, err
	}, workflow.Names(turnUp, place, level, when, words, about))
}

// failing sends a signal to a run, and returns the failure of its task, or an empty text.
func failing(t *testing.T, c *client.Client, what string) string {
	t.Helper()
	if err := turnUp.Send(t.Context(), c, "shows-1", what); err != nil {
		t.Fatal(err)
	}
	d, err := c.Describe(t.Context(), "shows-1", "")
	if err != nil {
		t.Fatal(err)
	}
	if d.StuckTask == nil {
		return ""
	}
	return d.StuckTask.Failure.Message
}

// Invalid visibility fails the task, and not the run.
func TestInvalidVisibility(t *testing.T) {
	t.Parallel()
	for want, do := range map[string]func(workflow.Context){
		"no finite number": func(ctx workflow.Context) { workflow.UpsertSearchAttributes(ctx, level.Set(math.NaN())) },
		"no moment":        func(ctx workflow.Context) { workflow.UpsertSearchAttributes(ctx, when.Set(time.Time{})) },
		"not UTF-8":        func(ctx workflow.Context) { workflow.UpsertSearchAttributes(ctx, place.Set("\xff")) },
		"letters, digits and underscores": func(ctx workflow.Context) {
			workflow.UpsertSearchAttributes(ctx, workflow.NewAttribute[bool]("so what").Set(true))
		},
		"that word already": func(ctx workflow.Context) {
			workflow.UpsertSearchAttributes(ctx, workflow.NewAttribute[bool]("between").Set(true))
		},
		"33 search attributes": func(ctx workflow.Context) {
			for n := range 33 {
				workflow.UpsertSearchAttributes(ctx, workflow.NewAttribute[bool](strings.Repeat("x", n+1)).Set(true))
			}
		},
		"2053 bytes":        func(ctx workflow.Context) { workflow.UpsertSearchAttributes(ctx, place.Set(strings.Repeat("x", 2048))) },
		"4097 bytes":        func(ctx workflow.Context) { workflow.UpsertMemo(ctx, about.Set(strings.Repeat("x", 4090))) },
		"cannot be encoded": func(ctx workflow.Context) { workflow.UpsertMemo(ctx, about.Set(func() {})) },
		"33 fields": func(ctx workflow.Context) {
			for n := range 33 {
				workflow.UpsertMemo(ctx, workflow.NewMemo[bool](strings.Repeat("x", n+1)).Set(true))
			}
		},
		"a child of workflow type": func(ctx workflow.Context) {
			shows.StartChild(ctx, workflow.None{}, workflow.ChildOptions{SearchAttributes: []workflow.SearchAttribute{level.Set(math.Inf(1))}})
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := testbed.New(t).Start(executor.Options{}, showing(map[string]func(workflow.Context){"bad": do}))
				if _, err := shows.Start(t.Context(), p.Client, "shows-1", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				if got := failing(t, p.Client, "bad"); !strings.Contains(got, want) {
					t.Errorf("the task fails with %q", got)
				}
			})
		})
	}
}

// Values at the limits are accepted. If a name is changed several times, the last change counts. An
// upsert without changes does nothing.
func TestVisibilityAtTheLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, showing(map[string]func(workflow.Context){
			"most": func(ctx workflow.Context) {
				workflow.UpsertSearchAttributes(ctx, place.Set(strings.Repeat("x", 2043)))
				workflow.UpsertMemo(ctx, about.Set(strings.Repeat("x", 4089)))
			},
			"few": func(ctx workflow.Context) {
				workflow.UpsertSearchAttributes(ctx, place.Set("a"), place.Unset(), level.Set(1), level.Unset(), level.Set(2))
				workflow.UpsertSearchAttributes(ctx, words.Set([]string{"c", "d"}))
				workflow.UpsertSearchAttributes(ctx, words.Set([]string{}))
				workflow.UpsertMemo(ctx, about.Unset(), about.Set("b"))
				workflow.UpsertSearchAttributes(ctx)
				workflow.UpsertMemo(ctx)
			},
		}))
		ctx, c := t.Context(), p.Client
		run, err := shows.Start(ctx, c, "shows-1", workflow.None{})
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"most", "few"} {
			if got := failing(t, c, what); got != "" {
				t.Fatalf("%s: %s", what, got)
			}
		}
		d, err := c.Describe(ctx, "shows-1", "")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := about.Of(d.Memo)
		n, _ := level.Of(d.SearchAttributes)
		if _, ok := place.Of(d.SearchAttributes); ok || n != 2 || text != "b" || len(d.SearchAttributes) != 1 {
			t.Errorf("%+v", d.WorkflowRun)
		}
		if _, ok := workflow.NewAttribute[string]("Level").Of(d.SearchAttributes); ok {
			t.Error("a number is read as a text")
		}
		if err := run.Terminate(ctx, ""); err != nil {
			t.Error(err)
		}
	})
}

// Code that upserts other names than its history, or none, is not deterministic. Other values are
// allowed.
func TestChangedVisibility(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now  func(workflow.Context)
		want string
	}{
		"another name":  {func(ctx workflow.Context) { workflow.UpsertSearchAttributes(ctx, level.Set(1)) }, "UpsertWorkflowSearchAttributes(Place), the code now issues UpsertWorkflowSearchAttributes(Level)"},
		"nothing":       {nil, "UpsertWorkflowSearchAttributes(Place), the code now issues nothing more here"},
		"a memo":        {func(ctx workflow.Context) { workflow.UpsertMemo(ctx, about.Set(1)) }, "WorkflowPropertiesModified(about)"},
		"another value": {func(ctx workflow.Context) { workflow.UpsertSearchAttributes(ctx, place.Set("there")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				before := d.Start(executor.Options{Build: "before"}, showing(map[string]func(workflow.Context){
					"show": func(ctx workflow.Context) { workflow.UpsertSearchAttributes(ctx, place.Set("here")) },
				}))
				if _, err := shows.Start(t.Context(), before.Client, "shows-1", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				if got := failing(t, before.Client, "show"); got != "" {
					t.Fatal(got)
				}
				after := d.Start(executor.Options{Build: "after"}, showing(map[string]func(workflow.Context){"show": c.now}))
				if got := failing(t, after.Client, "nothing"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
					t.Errorf("the task fails with %q, want %q", got, c.want)
				}
			})
		})
	}
}
