package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// A list finds the runs of which an activity is retried, and no others: none whose activity has
// succeeded in the end, none that has closed, none that is stuck.
func TestListOfRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		slow := activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}}
		pay := activity.New("pay", func(context.Context, string) (string, error) { return "", errors.New("no money") }, slow)
		ship := activity.New("ship", func(context.Context, string) (string, error) { return "", errors.New("no ship") }, slow)
		once := activity.New("once", func(ctx context.Context, _ string) (string, error) {
			if activity.InfoOf(ctx).Attempt == 1 {
				return "", errors.New("not yet")
			}
			return "", nil
		}, activity.Options{Retry: activity.Retry{InitialInterval: time.Second}})
		order := workflow.NewWorkflow[string, string]("order")
		d := testbed.New(t)
		p := d.Start(executor.Options{}, pay, ship, once, workflow.Bind(order, func(ctx workflow.Context, does string) (string, error) {
			if strings.Contains(does, "once") {
				if _, err := once.Run(ctx, ""); err != nil {
					return "", err
				}
			}
			if strings.Contains(does, "panic") {
				panic("it is stuck")
			}
			for _, a := range []activity.Activity[string, string]{pay, ship} {
				if strings.Contains(does, a.Name()) {
					a.Start(ctx, "")
				}
			}
			if strings.Contains(does, "ends") {
				return "", nil
			}
			return "", workflow.Sleep(ctx, 240*time.Hour)
		}))
		all := []string{"pay", "ship", "pay-ship", "once", "once-ship", "waits", "once-ends", "panic", "pay-ended"}
		for _, does := range all {
			if _, err := order.Start(ctx, p.Client, does, does, workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if err := p.Client.Terminate(ctx, "pay-ended", "", "by hand"); err != nil {
			t.Fatal(err)
		}
		retrying := []string{"once-ship", "pay", "pay-ship", "ship"}
		for text, want := range map[string][]string{
			"Retrying":                                  retrying,
			"Retrying = TRUE ORDER BY StartTime":        retrying,
			"NOT Retrying":                              {"once", "once-ends", "panic", "pay-ended", "waits"},
			"FailingActivity = 'ship'":                  {"once-ship", "pay-ship", "ship"},
			"FailingActivity IN ('pay', 'once')":        {"pay", "pay-ship"},
			"FailingActivity != 'pay'":                  {"once-ship", "ship"},
			"FailingActivity = 'once'":                  nil,
			"Retrying OR Stuck":                         {"once-ship", "panic", "pay", "pay-ship", "ship"},
			"Retrying AND WorkflowId = 'pay'":           {"pay"},
			"NOT Retrying AND WorkflowId = 'pay'":       nil,
			"Retrying AND ExecutionStatus != 'Running'": nil,
		} {
			for _, size := range []int{1, 2, 100} {
				got := listedIDs(t, p.Client, client.ListOptions{Filter: text, PageSize: size})
				if !slices.Equal(got, want) {
					t.Errorf("%s, in pages of %d: %q, want %q", text, size, got, want)
				}
			}
		}
		page, err := p.Client.ListPage(ctx, client.ListOptions{Filter: "FailingActivity = 'ship'"})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range page.Workflows {
			described, err := p.Client.Describe(ctx, run.WorkflowID, "")
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Count(run.WorkflowID, "pay") + 1; run.State != client.StateRetrying || described.State != run.State || len(run.FailingActivities) != want || !slices.Contains(run.FailingActivities, "ship") {
				t.Errorf("%+v is described as %s", run, described.State)
			}
		}
		counts, err := p.Client.Count(ctx, client.CountOptions{GroupBy: "Retrying"})
		if err != nil || fmt.Sprint(counts.Groups) != "[{false 5} {true 4}]" {
			t.Errorf("%+v, %v", counts, err)
		}
		if counts, err = p.Client.Count(ctx, client.CountOptions{Filter: "FailingActivity = 'ship'"}); err != nil || counts.Count != 3 {
			t.Errorf("%+v, %v", counts, err)
		}
		// A batch acts on the same runs.
		f, err := filter.Parse("NOT Retrying")
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for place := ""; ; {
			page, next, err := p.Service.Service.Lists.Rows(ctx, f, place, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page {
				rows = append(rows, row.Workflow)
			}
			if place = next; place == "" {
				break
			}
		}
		if slices.Sort(rows); !slices.Equal(rows, []string{"once", "once-ends", "panic", "pay-ended", "waits"}) {
			t.Errorf("%q", rows)
		}
		if _, err := p.Client.ListPage(ctx, client.ListOptions{Filter: "Retrying ORDER BY CloseTime"}); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
		if _, err := p.Client.ListPage(ctx, client.ListOptions{Filter: "Retrying AND Regoin = 'eu'"}); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
	})
}

// listedIDs returns the ids in all pages of a list, sorted.
func listedIDs(t *testing.T, c *client.Client, o client.ListOptions) (all []string) {
	t.Helper()
	for {
		page, err := c.ListPage(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", o.Filter, err)
		}
		if len(page.Workflows) > o.PageSize {
			t.Fatalf("%s: a page of %d has %d", o.Filter, o.PageSize, len(page.Workflows))
		}
		for _, run := range page.Workflows {
			all = append(all, run.WorkflowID)
		}
		if o.PageToken = page.NextPageToken; o.PageToken == "" {
			slices.Sort(all)
			return all
		}
	}
}

// unreadable is a store of which reads can fail.
type unreadable struct {
	store.Log
	store.Attempts
	throttled, gone, damaged bool
}

func (u *unreadable) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	if u.throttled {
		return nil, store.ErrThrottled
	}
	return u.Attempts.ReadAttempts(ctx, workflow, run)
}

func (u *unreadable) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	page, err := u.Log.Backward(ctx, workflow, before, until, limit)
	if u.gone {
		page = store.Page{}
	}
	if u.damaged {
		page.Items = slices.Clone(page.Items)
		for i := range page.Items {
			page.Items[i].Body = []byte("\xff")
		}
	}
	return page, err
}

// A run that cannot be read now fails the list, which writes nothing. A run that nobody can read,
// or that was deleted meanwhile, is left out.
func TestListOfRetriesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		u := &unreadable{Log: d.Ports.Log, Attempts: d.Ports.Attempts}
		d.Ports.Log, d.Ports.Attempts = u, u
		jam := activity.New("jam", func(context.Context, int) (string, error) { return "", errors.New("no paper") },
			activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
		printer := workflow.NewWorkflow[int, string]("printer")
		p := d.Start(executor.Options{}, jam, workflow.Bind(printer, func(ctx workflow.Context, n int) (string, error) { return jam.Run(ctx, n) }))
		if _, err := printer.Start(t.Context(), p.Client, "jammed", 1, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		list := func(what string, status int, has string, reads int64) {
			t.Helper()
			a := p.Do(http.MethodGet, "/v1/workflows?filter=Retrying", "")
			if a.Status != status || !strings.Contains(string(a.Body), has) || a.Cost.Reads > reads || a.Cost.Writes != 0 {
				t.Errorf("%s: %d %s, for %v", what, a.Status, a.Body, a.Cost)
			}
		}
		list("a run", http.StatusOK, `"failingActivities":["jam"]`, 3)
		u.throttled = true
		list("throttled", http.StatusServiceUnavailable, "problem:busy", 2)
		u.throttled, u.gone = false, true
		list("deleted", http.StatusOK, `"workflows":[]`, 10)
		u.gone, u.damaged = false, true
		list("damaged", http.StatusOK, `"workflows":[]`, 10)
	})
}
