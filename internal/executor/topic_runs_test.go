package executor_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// change sends a request that changes the workflow p.
func change(t *testing.T, p *testbed.Process, method, target, body string) {
	t.Helper()
	if a := p.Do(method, "/v1/workflows/p"+target, body); a.Status >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, target, a.Status, a.Body)
	}
}

// resetToLast resets the workflow p to its last task.
func resetToLast(t *testing.T, p *testbed.Process) {
	t.Helper()
	change(t, p, http.MethodPost, "/reset", `{"to":"lastTask","exclude":["signals"]}`)
}

// told are the items of a topic as a reader has them, and the ranges that were withdrawn.
type told struct {
	items     []string
	withdrawn []schema.WithdrawnItems
	first     int64 // of the first answer
	most      int64 // reads of an answer
	answers   int
	ended     bool
}

// kept returns the items without those that were withdrawn.
func (a *told) kept() []string {
	return slices.DeleteFunc(slices.Clone(a.items), func(item string) bool {
		offset := int64(0)
		_, _ = fmt.Sscan(item, &offset) // it begins with a number
		return slices.ContainsFunc(a.withdrawn, func(w schema.WithdrawnItems) bool { return w.From <= offset && offset < w.Before })
	})
}

// readOn reads the topic of p as its contract says, until it has all that there is now.
func readOn(t *testing.T, p *testbed.Process, run history.RunID, from int64) (all told) {
	t.Helper()
	for ; all.answers < 100; all.answers++ {
		query := fmt.Sprintf("/v1/workflows/p/topics/steps?from=%d", from)
		if run != "" {
			query += "&runId=" + string(run)
		}
		a := p.Do(http.MethodGet, query, "")
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, a.Status, a.Body)
		}
		var page schema.TopicResponse
		a.Into(t, &page)
		if all.answers == 0 {
			all.first = page.First
		}
		all.most = max(all.most, a.Cost.Reads)
		for _, item := range page.Items {
			all.items = append(all.items, fmt.Sprint(item.Offset, string(item.Value)))
		}
		if w := page.Withdrawn; w != nil {
			all.withdrawn = append(all.withdrawn, *w)
		}
		run, from = page.RunID, page.Next
		switch {
		case page.NewRunID != "":
			run = page.NewRunID
		case page.More:
		default:
			all.ended = page.Closed
			all.answers++
			return all
		}
	}
	t.Fatal("the reader goes on without end")
	return all
}

// latestRun returns the id of the latest run of p.
func latestRun(t *testing.T, p *testbed.Process) history.RunID {
	t.Helper()
	var page schema.RunsResponse
	p.Do(http.MethodGet, "/v1/workflows/p/runs", "").Into(t, &page)
	return page.Runs[0].RunID
}

// Each run that was reset is read once for an answer, however many items of it a later run has.
func TestTopicReadsEachRunOnce(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
		const items = 60
		for i := range items {
			publish(t, p, fmt.Sprint("i", i))
		}
		for resets := range 5 {
			publish(t, p, fmt.Sprint("again ", resets))
			resetToLast(t, p) // which publishes it again
			for _, process := range []*testbed.Process{p, other} {
				all := readOn(t, process, "", 0)
				if len(all.items) != items+resets+1 || all.answers != 1 || all.most > int64(2+resets) {
					t.Errorf("after %d resets: %d items in %d answers, %d reads", resets+1, len(all.items), all.answers, all.most)
				}
			}
		}
	})
}

// A process that knows a run as closed does not say that nothing follows before it has read:
// another process may have reset the run.
func TestTopicOfARunResetElsewhere(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
		publish(t, p, "a")
		publish(t, p, "b")
		run := latestRun(t, p)
		publish(t, p, "end")
		resetToLast(t, other)
		for _, query := range []string{"from=0", "from=2", "from=0&wait=20s", "from=2&wait=20s"} {
			page, took := topicItems(t, p, fmt.Sprintf("runId=%s&%s", run, query))
			if page.Closed && page.NewRunID == "" || len(page.Items) == 0 && page.NewRunID == "" {
				t.Errorf("%s: %+v", query, page)
			}
			if took > time.Second {
				t.Errorf("%s: in %v", query, took)
			}
			p.Do(http.MethodGet, "/v1/workflows/p/result", "")
		}
	})
}

// The end of a run that a process knows takes one read, a second later at most.
func TestTopicEndTakesARead(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, _ *testbed.Process) {
		publish(t, p, "a")
		run := latestRun(t, p)
		publish(t, p, "end")
		a := p.Do(http.MethodGet, fmt.Sprintf("/v1/workflows/p/topics/steps?runId=%s&from=1&wait=20s", run), "")
		var page schema.TopicResponse
		if a.Into(t, &page); !page.Closed || a.Cost.Reads != 1 {
			t.Errorf("%+v, %v", page, a.Cost)
		}
	})
}

// However many runs continue each other, an answer reads a bounded number of them, and a reader
// that goes on as the answers say gets each item once.
func TestTopicOfManyRuns(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
		var want []string
		first := latestRun(t, p)
		for i := range 3*session.MaxLookBack + 5 {
			publish(t, p, fmt.Sprint("i", i))
			publish(t, p, "next")
			time.Sleep(2 * time.Second)
			want = append(want, fmt.Sprintf("%d\"i%d\"", i, i))
		}
		publish(t, p, "end")
		for _, run := range []history.RunID{"", first, latestRun(t, p)} {
			for _, process := range []*testbed.Process{p, other} {
				all := readOn(t, process, run, 0)
				if !slices.Equal(all.items, want) || !all.ended || all.most > session.MaxLookBack+3 {
					t.Errorf("from run %q: %v in %d answers, %d reads", run, all.items, all.answers, all.most)
				}
			}
		}
	})
}

// The same after more resets than an answer reads runs: a reader is told what was withdrawn if it
// begins in an earlier run.
func TestTopicOfManyResets(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed ", closed), func(t *testing.T) {
			topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
				const resets = 2*session.MaxLookBack + 3
				publish(t, p, "a")
				first, want := latestRun(t, p), []string{`0"a"`}
				for i := range resets {
					publish(t, p, "b") // and the reset publishes it again
					want = append(want, fmt.Sprintf(`%d"b"`, 2*i+2))
					if closed {
						publish(t, p, "end")
						change(t, p, http.MethodPost, "/reset", fmt.Sprintf(`{"eventId":%d,"exclude":["signals"]}`, taskOf(t, p, "b")))
					} else {
						resetToLast(t, p)
					}
				}
				publish(t, p, "c")
				publish(t, p, "end")
				want = append(want, fmt.Sprintf(`%d"c"`, 2*resets+1))
				for _, run := range []history.RunID{"", first} {
					for _, process := range []*testbed.Process{p, other} {
						all := readOn(t, process, run, 0)
						if kept := all.kept(); !slices.Equal(kept, want) || !all.ended || all.most > session.MaxLookBack+3 {
							t.Errorf("from run %q: %v in %d answers, %d reads; want %v", run, kept, all.answers, all.most, want)
						}
					}
				}
			})
		})
	}
}

// taskOf returns an event of the last task that has published a text.
func taskOf(t *testing.T, p *testbed.Process, text string) (id int64) {
	t.Helper()
	var page schema.HistoryResponse
	p.Do(http.MethodGet, "/v1/workflows/p/history", "").Into(t, &page)
	last := int64(0)
	for _, e := range page.Events {
		a, published := e.Attributes.(*history.TopicItemsPublished)
		switch {
		case published && (a.Items == nil || strings.Contains(string(a.Items), text)):
			id = last
		case e.Type == history.TypeWorkflowTaskScheduled:
			last = e.ID
		}
	}
	return id
}

// If the run that was reset is gone, so are its items. The answer says where it begins.
func TestTopicOfARunThatIsGone(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
		publish(t, p, "a")
		publish(t, p, "b")
		first := latestRun(t, p)
		publish(t, p, "c")
		resetToLast(t, p)
		publish(t, p, "d")
		time.Sleep(3 * time.Hour) // a run that has just closed cannot be deleted
		change(t, p, http.MethodDelete, "?runId="+string(first), "")
		for _, process := range []*testbed.Process{p, other} {
			for _, query := range []string{"from=0", "", "from=1", "from=0&wait=20s"} {
				page, _ := topicItems(t, process, query)
				if page.First != 2 || len(page.Items) != 2 || page.Items[0].Offset != 3 || page.Next != 5 {
					t.Errorf("%q: %+v", query, page)
				}
			}
		}
	})
}

// A reader that waits for the items of a run does not look for one that is gone each second.
func TestTopicWaitsBehindARunThatIsGone(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, _ *testbed.Process) {
		publish(t, p, "a")
		first := latestRun(t, p)
		publish(t, p, "hide") // nothing: there is no item before the last one
		resetToLast(t, p)
		time.Sleep(3 * time.Hour) // a run that has just closed cannot be deleted
		change(t, p, http.MethodDelete, "?runId="+string(first), "")
		a := p.Do(http.MethodGet, "/v1/workflows/p/topics/steps?from=0&wait=20s", "")
		var page schema.TopicResponse
		if a.Into(t, &page); page.First != 1 || page.Next != 1 || a.Cost.Reads > 21 || len(page.Items) != 0 {
			t.Errorf("%+v: %v", page, a.Cost)
		}
	})
}

// What a later run of the chain has truncated cannot be read by naming an earlier one, also if the
// chain is not the latest one.
func TestTopicTruncationHoldsForTheChain(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
		publish(t, p, "a")
		publish(t, p, "b")
		first := latestRun(t, p)
		publish(t, p, "next")
		publish(t, p, "c")
		publish(t, p, "d")
		publish(t, p, "hide") // all but d
		look := func(when string) {
			for _, process := range []*testbed.Process{p, other} {
				for _, query := range []string{"from=0", "from=1", ""} {
					page, _ := topicItems(t, process, "runId="+string(first)+"&"+query)
					if len(page.Items) != 0 || page.First != 3 || page.NewRunID == "" || page.Next != 2 {
						t.Errorf("%s, %q: %+v", when, query, page)
					}
				}
				if all := readOn(t, process, first, 0); !slices.Equal(all.items, []string{`3"d"`}) {
					t.Errorf("%s: %v", when, all)
				}
			}
		}
		look("open")
		publish(t, p, "end")
		look("closed")
		if a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"p","type":"publisher","input":0,"requestId":"again"}`); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		look("another chain")
	})
}

var (
	turnerType = workflow.NewWorkflow[int, int]("turner")
	muteType   = workflow.NewWorkflow[int, int]("mute")
)

// A run with a topic may continue as one of a type without it, before it has published anything. A
// reader of the topic follows, and comes to the end, or to the items of a run after that.
func TestTopicOfAnotherType(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next := func(ctx workflow.Context) string {
			text, _ := testbed.Say.Receive(ctx)
			return text
		}
		bind := []workflow.Registration{
			workflow.Bind(turnerType, func(ctx workflow.Context, _ int) (int, error) {
				for text := next(ctx); ; text = next(ctx) {
					switch text {
					case "turn":
						return muteType.ContinueAsNew(ctx, 0)
					case "end":
						return 0, nil
					}
					testbed.Steps.Publish(ctx, text)
				}
			}, workflow.Names(testbed.Say, testbed.Steps)),
			workflow.Bind(muteType, func(ctx workflow.Context, _ int) (int, error) {
				if next(ctx) == "turn" {
					return turnerType.ContinueAsNew(ctx, 0)
				}
				return 0, nil
			}, workflow.Names(testbed.Say)),
		}
		p := testbed.New(t).Start(executor.Options{}, bind...)
		for _, back := range []bool{false, true} {
			if a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"p","type":"turner","input":0}`); a.Status != http.StatusCreated {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			go func() {
				say := []string{"turn", "stop"}
				if back {
					say = []string{"turn", "turn", "x", "end"}
				}
				for _, text := range say {
					time.Sleep(3 * time.Second)
					publish(t, p, text)
				}
			}()
			got := ""
			for item, err := range testbed.Steps.Read(t.Context(), p.Client, "p", 0) {
				if err != nil {
					t.Fatal(err)
				}
				got += item.Value
			}
			if want := map[bool]string{true: "x"}[back]; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

// A name that no topic has is refused with those that there are.
func TestUnknownTopic(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, _ *testbed.Process) {
		a := p.Do(http.MethodGet, "/v1/workflows/p/topics/step", "")
		var refused problem.Problem
		if a.Into(t, &refused); a.Status != http.StatusNotFound || !slices.Equal(refused.Known, []string{"steps"}) || !strings.Contains(refused.Detail, `give one of ["steps"]`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// A reset may withdraw the last items of a topic, and the new run may continue as another before it
// has published any. A reader that begins again right behind them is told in that run, too.
func TestTopicWithdrawnBeforeAnotherRun(t *testing.T) {
	topicBubble(t, executor.Options{}, func(t *testing.T, p, other *testbed.Process) {
		publish(t, p, "a")
		publish(t, p, "b")
		change(t, p, http.MethodPost, "/reset", `{"to":"firstTask","exclude":["signals"]}`)
		publish(t, p, "next")
		publish(t, p, "next")
		for _, process := range []*testbed.Process{p, other} {
			for from, want := range []int{0, 1, 1} { // one that begins at the start has read neither
				if all := readOn(t, process, "", int64(from)); len(all.items) != 0 || len(all.withdrawn) != want {
					t.Errorf("from %d: %+v", from, all)
				}
			}
		}
		publish(t, p, "c")
		if all := readOn(t, other, "", 2); !slices.Equal(all.withdrawn, []schema.WithdrawnItems{{From: 0, Before: 2}}) || !slices.Equal(all.items, []string{`2"c"`}) {
			t.Errorf("%+v", all)
		}
	})
}
