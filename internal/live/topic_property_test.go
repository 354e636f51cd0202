package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/live"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	tellerType = workflow.NewWorkflow[int, int]("teller")
	muse       = activity.New("muse", func(ctx context.Context, text string) (string, error) {
		attempt := activity.InfoOf(ctx).Attempt
		if err := activity.Publish(ctx, testbed.Steps, fmt.Sprint(text, " by attempt ", attempt)); err != nil {
			return "", err
		}
		if attempt == 1 {
			return "", errors.New("the first attempt fails")
		}
		p := activity.Publisher(ctx, testbed.Steps)
		return text, p.Add("the last of " + text) // in the commit of the result
	}, activity.Options{Retry: activity.Retry{InitialInterval: time.Second}})
)

// tell publishes what it is told, and what an activity makes of it.
func tell(ctx workflow.Context, laps int) (int, error) {
	for {
		text, err := testbed.Say.Receive(ctx)
		verb, _, _ := strings.Cut(text, " ")
		switch {
		case err != nil || verb == "end":
			return laps, err
		case verb == "fail":
			return 0, errors.New("the run fails")
		case verb == "next":
			return tellerType.ContinueAsNew(ctx, laps+1)
		case verb == "hide":
			testbed.Steps.Truncate(ctx, testbed.Steps.Next(ctx)-1)
		case verb == "muse":
			if _, err := muse.Run(ctx, text); err != nil {
				return 0, err
			}
		default:
			testbed.Steps.Publish(ctx, text)
		}
	}
}

// story is what happens to a workflow that publishes, and to its readers.
type story struct {
	Cron, Retry bool
	Steps       []step
	Cuts        []int // of each reader, in turn: after how many items or bytes its connection breaks
	Away        []int // in turn: how many seconds a reader is away
	Limit       int   // items of an answer
}

// step is what a caller does after a pause of so many seconds.
type step struct {
	Do    string
	Pause int
}

func drawStory(t *rapid.T) story {
	return story{
		Cron: rapid.Bool().Draw(t, "cron"), Retry: rapid.Bool().Draw(t, "retry"),
		Steps: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.SampledFrom([]string{"say", "say", "say", "muse", "next", "fail", "end", "hide", "reset", "reset without signals"}).Draw(t, "do"), rapid.IntRange(0, 3).Draw(t, "pause")}
		}), 1, 14).Draw(t, "steps"),
		Cuts: rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "cuts"), Away: rapid.SliceOfN(rapid.IntRange(1, 9), 1, 4).Draw(t, "away"),
		Limit: rapid.IntRange(1, 4).Draw(t, "limit"),
	}
}

// Whatever happens to a run, and wherever its connection breaks, a reader has in the end the items
// that the log has, without those that a reset has withdrawn: each once, and in order. It holds for
// the iterator of the Go client, and for server-sent events with Last-Event-ID.
func TestTopicReadersHaveTheLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, seed := drawStory(rt), rapid.Uint64().Draw(rt, "seed")
		var problems []string
		synctest.Test(t, func(t *testing.T) { problems = s.play(t, seed) })
		if len(problems) > 0 {
			rt.Fatalf("%+v\n%s", s, strings.Join(problems, "\n"))
		}
	})
}

// play plays the story, and returns what the readers lack.
func (s *story) play(t *testing.T, seed uint64) []string {
	d := testbed.New(t)
	o := executor.Options{Retention: 30 * 24 * time.Hour}
	bind := []workflow.Registration{muse, workflow.Bind(tellerType, tell, workflow.Names(testbed.Say, testbed.Steps))}
	writer, reader := d.Start(o, bind...), d.Start(o, bind...)
	cron, retry := "", ""
	if s.Cron {
		cron = `,"cronSchedule":"* * * * *"`
	}
	if s.Retry {
		retry = `,"retryPolicy":{"initialInterval":"2s","maximumAttempts":3}`
	}
	post(t, writer, "", `{"workflowId":"p","type":"teller","input":0`+cron+retry+`}`)
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.write(t, writer, rand.New(rand.NewPCG(seed, 0)))
	}()
	readers := map[string]*audience{"Go": {}, "Go in the writer's process": {}, "events": {}}
	ended := make(chan struct{})
	go func() { readers["Go"].iterate(t, s, reader.Client, over); ended <- struct{}{} }()
	go func() {
		readers["Go in the writer's process"].iterate(t, s, writer.Client, over)
		ended <- struct{}{}
	}()
	go func() { readers["events"].listen(t, s, reader, over); ended <- struct{}{} }()
	for range readers {
		<-ended
	}
	var problems []string
	for name, a := range readers {
		for _, problem := range a.compare(d) {
			problems = append(problems, name+": "+problem)
		}
	}
	return problems
}

// write carries out the steps, and then ends the chain.
func (s *story) write(t *testing.T, p *testbed.Process, random *rand.Rand) {
	for i, step := range s.Steps {
		time.Sleep(time.Duration(step.Pause) * time.Second)
		if strings.HasPrefix(step.Do, "reset") {
			var page schema.HistoryResponse
			p.Do(http.MethodGet, workflows+"/p/history", "").Into(t, &page)
			var tasks []int64
			for _, e := range page.Events {
				if e.Type == history.TypeWorkflowTaskScheduled {
					tasks = append(tasks, e.ID)
				}
			}
			if len(tasks) > 0 {
				exclude := ""
				if step.Do != "reset" {
					exclude = `,"exclude":["signals"]`
				}
				post(t, p, "/p/reset", fmt.Sprintf(`{"eventId":%d%s}`, tasks[random.IntN(len(tasks))], exclude))
			}
			continue
		}
		p.Do(http.MethodPost, workflows+"/p/signals/say", fmt.Sprintf(`{"input":"%s %d"}`, step.Do, i)) // it may have closed
	}
	time.Sleep(5 * time.Minute)
	p.Do(http.MethodPost, workflows+"/p/terminate", "")
}

// audience is what a reader has.
type audience struct {
	items   []string
	offsets []int64
	// withdrawn are the offsets of items that an answer has reported as withdrawn by a reset.
	withdrawn map[int64]bool
	next      int64
	cuts      int
	failed    []string
}

func (a *audience) add(offset int64, value string) {
	if offset < a.next {
		a.failed = append(a.failed, fmt.Sprintf("item %d comes after %d", offset, a.next-1))
	}
	a.items, a.offsets, a.next = append(a.items, value), append(a.offsets, offset), offset+1
}

func (a *audience) withdraw(from, before int64) {
	if a.withdrawn == nil {
		a.withdrawn = map[int64]bool{}
	}
	for ; from < before; from++ {
		a.withdrawn[from] = true
	}
}

// cut returns when the connection breaks next.
func (a *audience) cut(s *story) int { return s.Cuts[a.cuts%len(s.Cuts)] }

// away lets time pass.
func (a *audience) away(s *story) {
	time.Sleep(time.Duration(s.Away[a.cuts%len(s.Away)]) * time.Second)
	a.cuts++
}

// iterate reads with the client's iterator, which begins again with what follows the last item.
func (a *audience) iterate(t *testing.T, s *story, c *client.Client, over <-chan struct{}) {
	for {
		last := isOver(over)
		left := a.cut(s)
		for item, err := range c.ReadTopic(t.Context(), "p", "steps", a.next, client.ReadOptions{Withdrawn: a.withdraw}) {
			if err != nil {
				a.failed = append(a.failed, err.Error())
				return
			}
			a.add(item.Offset, string(item.Value))
			if left--; left == 0 {
				break
			}
		}
		if left > 0 && last {
			return
		}
		a.away(s)
	}
}

// listen reads server-sent events, and connects again with the id of the last one. A stream that
// has ended begins again after the last item, because a reset may have opened another run.
func (a *audience) listen(t *testing.T, s *story, p *testbed.Process, over <-chan struct{}) {
	h := live.Handler(p.Process.API, live.Options{For: 20 * time.Second})
	for id := ""; ; {
		last := isOver(over)
		target := fmt.Sprintf("%s/p/topics/steps?limit=%d&from=%d", workflows, s.Limit, a.next)
		got := connect(t, h, target, id, 150*a.cut(s)+60*a.cuts, time.Hour)
		if got.status != http.StatusOK {
			a.failed = append(a.failed, fmt.Sprintf("%s, Last-Event-ID %q: %d %s", target, id, got.status, got.text.String()))
			return
		}
		events, _ := parsed(got.text.String())
		for _, e := range events {
			if e.name == "end" {
				if last {
					return
				}
				id = ""
				continue
			}
			var page schema.TopicResponse
			if err := json.Unmarshal([]byte(e.data), &page); err != nil || e.name != "items" && e.name != "withdrawn" {
				a.failed = append(a.failed, fmt.Sprintf("%+v: %v", e, err))
				return
			}
			for _, item := range page.Items {
				a.add(item.Offset, string(item.Value))
			}
			if w := page.Withdrawn; w != nil {
				a.withdraw(w.From, w.Before)
			}
			if id = e.id; strings.HasSuffix(id, ":end") && !last {
				id = ""
			}
		}
		a.away(s)
	}
}

func isOver(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}

// compare returns how what the reader has differs from the log.
func (a *audience) compare(d *testbed.Deployment) []string {
	all, withdrawn, first := logged(d)
	want, got := map[int64]string{}, map[int64]string{}
	for offset, value := range all {
		if !withdrawn[offset] && offset >= first {
			want[offset] = value
		}
	}
	for i, offset := range a.offsets {
		if all[offset] != a.items[i] {
			a.failed = append(a.failed, fmt.Sprintf("item %d is %s, and %s in the log", offset, a.items[i], all[offset]))
		}
		if !a.withdrawn[offset] && offset >= first {
			got[offset] = a.items[i]
		}
	}
	if !maps.Equal(got, want) {
		a.failed = append(a.failed, fmt.Sprintf("it has %v, want %v; read %v", ordered(got), ordered(want), a.offsets))
	}
	return a.failed
}

func ordered(items map[int64]string) (all []string) {
	for _, offset := range slices.Sorted(maps.Keys(items)) {
		all = append(all, fmt.Sprint(offset, items[offset]))
	}
	return all
}

// logged returns all items that the runs of p have published, the offsets of those that a reset has
// withdrawn, and the offset before which some run has truncated them.
func logged(d *testbed.Deployment) (all map[int64]string, withdrawn map[int64]bool, first int64) {
	all, withdrawn = map[int64]string{}, map[int64]bool{}
	publish := func(offset int64, count int, items history.Payload) {
		if split, err := history.SplitItems(items, count); items != nil && err == nil {
			for i, item := range split {
				all[offset+int64(i)] = string(item)
			}
		}
	}
	for _, run := range d.Runs("p") {
		for c := range run.Commits() {
			for part := range c.Parts() {
				for _, e := range slices.Concat(part.InputEvents, part.Commands) {
					if a, ok := e.Attributes.(*history.TopicItemsPublished); ok {
						publish(a.Offset, a.Count, a.Items)
					}
					if a, ok := e.Attributes.(*history.ActivityItemsPublished); ok {
						publish(a.Offset, a.Count, a.Items)
					}
				}
			}
		}
		if topic := run.State.Topics["steps"]; topic != nil {
			first = max(first, topic.First)
			for _, w := range topic.Withdrawn {
				for offset := w.From; offset < w.Before; offset++ {
					withdrawn[offset] = true
				}
			}
		}
	}
	return all, withdrawn, first
}
