package executor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// readBytes counts the bytes of the commits read from a log.
type readBytes struct {
	store.Log
	n atomic.Int64
}

func (r *readBytes) count(page store.Page, err error) (store.Page, error) {
	for _, item := range page.Items {
		r.n.Add(int64(len(item.Body)))
	}
	return page, err
}

func (r *readBytes) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	return r.count(r.Log.Backward(ctx, workflow, before, until, limit))
}

func (r *readBytes) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	return r.count(r.Log.Forward(ctx, from, limit))
}

// The workflow diary counts the bytes of its words and does what they say. At the word next it
// continues as new.
var (
	diary     = workflow.NewWorkflow[int, int]("long.diary")
	diaryPage = workflow.NewWorkflow[string, string]("long.page")
	diaryWord = workflow.NewSignal[string]("long.word")
	diaryAdd  = workflow.NewUpdate[string, int]("long.add")
	diarySum  = workflow.NewQuery[workflow.None, int]("long.sum")
)

const (
	diaryWords = 300              // more events than a page of a history has, and more commits than a first read asks for
	diaryBytes = diaryWords * 500 // the total size of the words
	diaryLog   = 16 << 10         // how many bytes of a log are kept
)

// diaryCode is the code of diary. Its activity stores its tokens in tokens.
func diaryCode(tokens *[]string) []workflow.Registration {
	echo := activity.New("long.echo", func(_ context.Context, word string) (string, error) { return word, nil })
	outside := activity.New("long.outside", func(ctx context.Context, _ activity.None) (string, error) {
		token, err := activity.Token(ctx)
		*tokens = append(*tokens, token)
		return "", cmp.Or(err, activity.ErrPending)
	}, activity.Options{StartToClose: 1000 * time.Hour, Pending: 1000 * time.Hour})
	return []workflow.Registration{
		echo, outside,
		workflow.Bind(diaryPage, func(ctx workflow.Context, word string) (string, error) { return word, workflow.Sleep(ctx, time.Minute) }),
		workflow.Bind(diary, func(ctx workflow.Context, sum int) (int, error) {
			diarySum.Handle(ctx, func(workflow.None) (int, error) { return sum, nil })
			diaryAdd.Handle(ctx, func(ctx workflow.Context, word string) (int, error) {
				word, err := echo.Run(ctx, word)
				sum += len(word)
				return sum, err
			})
			first := outside.Start(ctx, activity.None{}) // pending until the end, so its commit is needed until then
			for {
				word, err := diaryWord.Receive(ctx)
				switch word {
				case "sleep":
					err = workflow.Sleep(ctx, time.Hour)
				case "page":
					word, err = diaryPage.RunChild(ctx, word)
				case "next":
					return diary.ContinueAsNew(ctx, sum)
				case "end":
					word, err = first.Get(ctx)
					return sum + len(word), err
				}
				if err != nil {
					return 0, err
				}
				sum += len(word)
			}
		}, workflow.Names(diaryAdd, diarySum, diaryWord)),
	}
}

// longTestbed is a deployment with a diary whose log is too long to be kept.
type longTestbed struct {
	*testing.T
	d      *testbed.Deployment
	p      *testbed.Process
	read   *readBytes
	code   []workflow.Registration
	tokens []string
}

func newLongTestbed(t *testing.T) *longTestbed {
	t.Helper()
	s := &longTestbed{T: t, d: testbed.New(t)}
	s.read = &readBytes{Log: s.d.Ports.Log}
	s.d.Ports.Log = s.read
	s.code = diaryCode(&s.tokens)
	s.restart()
	if _, err := diary.Start(t.Context(), s.p.Client, "a", 0); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	for range diaryWords {
		s.say(strings.Repeat("x", 500))
	}
	return s
}

// restart replaces the running process by a new one.
func (s *longTestbed) restart() {
	s.Helper()
	if s.p != nil {
		s.p.Stop()
	}
	s.p = s.d.Start(executor.Options{LogBytes: diaryLog}, s.code...)
}

func (s *longTestbed) say(word string, o ...client.SignalOptions) {
	s.Helper()
	if err := diaryWord.Send(s.Context(), s.p.Client, "a", word, o...); err != nil {
		s.Fatal(err)
	}
}

// cheap calls an operation. It fails the test if the operation reads more than a few commits, or if
// the run's log is kept afterwards.
func (s *longTestbed) cheap(name string, operation func() error) {
	s.Helper()
	before := s.read.n.Load()
	if err := operation(); err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	if read := s.read.n.Load() - before; read > diaryBytes/20 {
		s.Errorf("%s: %d bytes of the log were read, want only a few commits", name, read)
	}
	s.wantTrimmed(name)
}

// wantTrimmed fails the test if the process keeps more than the last commits.
func (s *longTestbed) wantTrimmed(name string) {
	s.Helper()
	if kept, all := s.p.Service.Service.Process.KeptCommits("a"); all < diaryWords || kept > 10 {
		s.Errorf("%s: %d of %d commits are kept, want the last ones", name, kept, all)
	}
}

func (s *longTestbed) wantSum(want int) {
	s.Helper()
	if got, err := diarySum.Ask(s.Context(), s.p.Client, "a", workflow.None{}); err != nil || got != want {
		s.Errorf("the sum is %d, %v, want %d", got, err, want)
	}
}

// operations sends signals, an update with an activity and a query, and lets a timer and a child
// run. Each reads only a few commits.
func (s *longTestbed) operations(sum int) int {
	s.Helper()
	ctx := s.Context()
	s.cheap("query", func() error { s.wantSum(sum); return nil })
	s.cheap("signal", func() error { s.say("word"); return nil })
	s.cheap("update and activity", func() error {
		got, err := diaryAdd.Call(ctx, s.p.Client, "a", "update")
		if want := sum + 4 + 6; got != want {
			s.Errorf("the update returned %d, want %d", got, want)
		}
		return err
	})
	s.cheap("timer", func() error { s.say("sleep"); time.Sleep(2 * time.Hour); return nil })
	s.cheap("child", func() error { s.say("page"); time.Sleep(2 * time.Minute); return nil })
	s.cheap("describe", func() error {
		about, err := s.p.Describe(ctx, "a", "")
		if err == nil && (len(about.PendingActivities) != 1 || about.HistoryLength < 4*diaryWords) {
			s.Errorf("described as %+v", about)
		}
		return err
	})
	sum += 4 + 6 + 5 + 4
	s.cheap("query", func() error { s.wantSum(sum); return nil })
	return sum
}

// wantHistory compares the pages of the history with the log.
func (s *longTestbed) wantHistory() {
	s.Helper()
	var got []schema.HistoryEvent
	pages, token := 0, ""
	for more := true; more; pages++ {
		var page schema.HistoryResponse
		s.p.Do(http.MethodGet, "/v1/workflows/a/history?pageToken="+token, "").Into(s.T, &page)
		got = append(got, page.Events...)
		token, more = page.NextPageToken, page.NextPageToken != ""
	}
	runs := s.d.Runs("a")
	want, _ := schema.Events(runs[len(runs)-1].Log, 1, math.MaxInt, math.MaxInt)
	text := func(all []schema.HistoryEvent) string {
		body, err := json.MarshalIndent(all, "", " ")
		if err != nil {
			s.Fatal(err)
		}
		return string(body)
	}
	if diff := gocmp.Diff(text(want), text(got)); diff != "" || pages < 2 {
		s.Errorf("%d pages of the history differ from the log:\n%s", pages, diff)
	}
}

// A page of a history reads the commits of its events, and no others.
func TestAPageReadsItsCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLongTestbed(t)
		log := s.d.Runs("a")[0].Log
		for _, restarted := range []bool{false, true} {
			if restarted {
				s.restart()
			}
			s.p.Do(http.MethodGet, "/v1/workflows/a", "")
			for _, c := range []struct {
				query      string
				from, size int64
			}{
				{"pageSize=1&from=100", 100, 1},
				{"pageSize=1&from=1&wait=1s", 1, 1},
				{"pageSize=7&from=150&wait=1s", 150, 7},
				{"pageSize=40&from=3", 3, 40},
			} {
				most := int64(0) // the size of the commits that have events of the page
				for _, commit := range log {
					if commit.NextEventID() > c.from && commit.FirstEventID < c.from+c.size {
						body, err := history.Encode(commit)
						if err != nil {
							t.Fatal(err)
						}
						most += int64(len(body))
					}
				}
				before := s.read.n.Load()
				var page schema.HistoryResponse
				s.p.Do(http.MethodGet, "/v1/workflows/a/history?"+c.query, "").Into(t, &page)
				if read := s.read.n.Load() - before; read > most || int64(len(page.Events)) != c.size || page.Events[0].ID != c.from || page.NextPageToken == "" {
					t.Errorf("%s: %d events, and %d bytes of the log were read, want %d at most", c.query, len(page.Events), read, most)
				}
			}
		}
	})
}

// A run with a long log continues from its state. Each operation reads a few commits, even in a new
// process.
func TestALongLogIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLongTestbed(t)
		s.wantTrimmed("the words")
		sum := s.operations(diaryBytes)
		s.wantHistory()
		s.restart()
		s.wantHistory()
		s.wantSum(sum)
		s.wantTrimmed("restart")
		sum = s.operations(sum)
		s.say("last", client.SignalOptions{RequestID: "once"})
		s.cheap("the same signal", func() error { s.say("last", client.SignalOptions{RequestID: "once"}); return nil })
		s.cheap("activity from outside", func() error { return s.p.CompleteActivity(t.Context(), s.tokens[0], history.Payload(`"outside"`)) })
		s.cheap("the same result", func() error { return s.p.CompleteActivity(t.Context(), s.tokens[0], history.Payload(`"outside"`)) })
		s.say("more", client.SignalOptions{RequestID: "many"})
		s.cheap("end", func() error { s.say("end"); return nil })
		if got, err := diary.Get(s.p.Client, "a").Result(t.Context()); err != nil || got != sum+4+4+7 {
			t.Errorf("the result is %d, %v, want %d", got, err, sum+4+4+7)
		}
		s.cheap("the same signal after the end", func() error { s.say("more", client.SignalOptions{RequestID: "many"}); return nil })
		s.wantHistory()
		s.p.Stop()
		s.d.Replay(s.code...)
	})
}

// A run with a long log is reset to tasks at its beginning, in its middle and at its end.
func TestResetOfARunWhoseLogIsNotKept(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]struct {
		options client.ResetOptions
		sum     int
	}{
		"to the last task":                  {client.ResetOptions{To: "lastTask"}, diaryBytes},
		"to the first task":                 {client.ResetOptions{To: "firstTask"}, diaryBytes},
		"to the first task without signals": {client.ResetOptions{To: "firstTask", Exclude: []string{"signals"}}, 0},
		"to the first task of a build":      {client.ResetOptions{Build: "build-1", Exclude: []string{"signals"}}, 0},
		"to a task":                         {client.ResetOptions{EventID: 4*100 + 3, Exclude: []string{"signals"}}, 100 * 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newLongTestbed(t)
				s.wantTrimmed("the words")
				if _, err := s.p.Reset(t.Context(), "a", reset.options); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				s.wantSum(reset.sum)
				s.p.Stop()
				s.d.Replay(s.code...)
			})
		})
	}
}

// A run with a long log continues as new. The next run has the signals of the first, and reads none
// of its commits.
func TestAfterARunWhoseLogIsNotKept(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} {
		t.Run(fmt.Sprintf("cold=%v", cold), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newLongTestbed(t)
				s.say("once", client.SignalOptions{RequestID: "once"})
				s.say("next")
				s.wantSum(diaryBytes + 4)
				if cold {
					s.restart()
				}
				s.say("again", client.SignalOptions{RequestID: "again"})
				before := s.read.n.Load()
				s.say("once", client.SignalOptions{RequestID: "once"})
				if read := s.read.n.Load() - before; read > diaryBytes/20 {
					t.Errorf("%d bytes of the logs were read, want only a few commits", read)
				}
				s.wantSum(diaryBytes + 4 + 5)
				first := s.d.Runs("a")[0].State.RunID
				if page := s.p.Do(http.MethodGet, "/v1/workflows/a/history?runId="+string(first), ""); page.Status != http.StatusOK {
					t.Errorf("the history of the first run: %d %s", page.Status, page.Body)
				}
				s.p.Stop()
				s.d.Replay(s.code...)
			})
		})
	}
}

// A query of an earlier run with a long log is answered, and so is a query of the latest run after
// it.
func TestQueryOfAnEarlierRunWithALongLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLongTestbed(t)
		first := s.d.Runs("a")[0].State.RunID
		s.say("next")
		s.say("word")
		for range 2 {
			answer := s.p.Do(http.MethodPost, "/v1/workflows/a/queries/long.sum?runId="+string(first), "")
			if answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), fmt.Sprint(diaryBytes)) {
				t.Errorf("the query of the earlier run: %d %s", answer.Status, answer.Body)
			}
			s.wantSum(diaryBytes + 4)
			s.restart()
		}
	})
}

// pagedLog is a log whose forward reads return at most 40 commits.
type pagedLog struct{ store.Log }

func (l pagedLog) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	page, err := l.Log.Forward(ctx, from, min(cmp.Or(limit, 40), 40))
	page.More = page.More || len(page.Items) == 40
	return page, err
}

// A closed run with a long log is being deleted, beginning with any of its commits. A start opens
// the next run, even if the first commit still exists.
func TestStartAfterARunWithALongLogThatVanishes(t *testing.T) {
	t.Parallel()
	for _, slot := range []int{0, 1, 30, 100, diaryWords} {
		for _, paged := range []bool{false, true} {
			t.Run(fmt.Sprintf("slot=%d,paged=%v", slot, paged), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newLongTestbed(t)
					if err := s.p.Service.Terminate(t.Context(), "a", "", ""); err != nil {
						t.Fatal(err)
					}
					time.Sleep(3 * time.Hour) // by then nothing of the run is recent
					items, err := testbed.Items(t.Context(), s.d.Ports.Log, "a")
					if err != nil {
						t.Fatal(err)
					}
					if err := s.d.Store.Delete(t.Context(), items[slot:slot+1], nil); err != nil {
						t.Fatal(err)
					}
					if paged {
						s.d.Ports.Log = pagedLog{s.d.Ports.Log}
					}
					s.restart()
					if _, err := diary.Start(t.Context(), s.p.Client, "a", 7); err != nil {
						t.Errorf("the start: %v", err)
					}
					s.wantSum(7)
				})
			})
		}
	}
}

// failingLog is a log that can fail forward reads from a slot on.
type failingLog struct {
	store.Log
	fails *atomic.Bool
}

func (l failingLog) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	if from.Slot > 0 && l.fails.Load() {
		return store.Page{}, errors.New("the store does not answer")
	}
	return l.Log.Forward(ctx, from, limit)
}

// A read of a closed run's long log fails, so a process holds only its beginning. Then the deletion
// of that run begins. The process finds that the run before it is the latest one, as a cold process
// does.
func TestRunBeforeALongOneThatVanishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLongTestbed(t)
		s.say("next")
		for range diaryWords {
			s.say(strings.Repeat("x", 500))
		}
		if err := s.p.Service.Terminate(t.Context(), "a", "", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour) // by then nothing of the run is recent
		runs := s.d.Runs("a")
		items, err := testbed.Items(t.Context(), s.d.Ports.Log, "a")
		if err != nil {
			t.Fatal(err)
		}
		log := failingLog{pagedLog{s.d.Ports.Log}, &atomic.Bool{}}
		s.d.Ports.Log = log
		s.restart()
		log.fails.Store(true)
		if _, err := s.p.Service.Describe(t.Context(), "a", ""); !errors.Is(err, refusal.Busy) {
			t.Fatalf("the description while the store does not answer: %v", err)
		}
		log.fails.Store(false)
		gone := len(runs[0].Log) + 100
		if err := s.d.Store.Delete(t.Context(), items[gone:gone+1], nil); err != nil {
			t.Fatal(err)
		}
		about, err := s.p.Service.Describe(t.Context(), "a", "")
		if err != nil || about.RunID != runs[0].State.RunID {
			t.Errorf("the description is %+v, %v; want the first run", about, err)
		}
	})
}

var (
	hangingLog    = workflow.NewWorkflow[workflow.None, int]("long.hanging")
	hangingLogSum = workflow.NewQuery[workflow.None, int]("long.sum")
	hangingLogAdd = workflow.NewUpdate[workflow.None, int]("long.add")
)

// hangingLogTestbed calls fn with a process that holds nothing of the workflow "a", whose log is
// too long to be kept. The workflow's code counts the words that it receives, and calls stop at the
// given number.
func hangingLogTestbed(t *testing.T, at int, stop func(), fn func(t *testing.T, d *testbed.Deployment, p *testbed.Process)) {
	synctest.Test(t, func(t *testing.T) {
		var stops atomic.Bool
		code := workflow.Bind(hangingLog, func(ctx workflow.Context, _ workflow.None) (int, error) {
			n := 0
			hangingLogSum.Handle(ctx, func(workflow.None) (int, error) { return n, nil })
			hangingLogAdd.Handle(ctx, func(workflow.Context, workflow.None) (int, error) { return n, nil })
			for ; ; n++ {
				if n == at && stops.Load() {
					stop()
				}
				if _, err := diaryWord.Receive(ctx); err != nil {
					return n, err
				}
			}
		}, workflow.Names(hangingLogAdd, hangingLogSum, diaryWord))
		d := testbed.New(t)
		p := d.Start(executor.Options{LogBytes: diaryLog}, code)
		if _, err := hangingLog.Start(t.Context(), p.Client, "a", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		for range diaryWords {
			if err := diaryWord.Send(t.Context(), p.Client, "a", strings.Repeat("x", 500)); err != nil {
				t.Fatal(err)
			}
		}
		p.Stop()
		p = d.Start(executor.Options{LogBytes: diaryLog}, code)
		stops.Store(true)
		fn(t, d, p)
		stops.Store(false)
		time.Sleep(3 * time.Hour) // code that still runs returns
		if _, err := hangingLogSum.Ask(t.Context(), p.Client, "a", workflow.None{}); err != nil {
			t.Errorf("a query afterwards: %v", err)
		}
	})
}

// Code hangs while a long log is replayed. Only one replay hangs. Every caller is answered after
// the time that code may take, and the failure says where the code hangs.
func TestCodeThatHangsInALongLog(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string]func(ctx context.Context, d *testbed.Deployment, p *testbed.Process) (*failure.Failure, error){
		"query": func(ctx context.Context, _ *testbed.Deployment, p *testbed.Process) (*failure.Failure, error) {
			_, err := p.Service.Query(ctx, "a", "", "long.sum", nil)
			return refusedFailure(err)
		},
		"update": func(ctx context.Context, _ *testbed.Deployment, p *testbed.Process) (*failure.Failure, error) {
			_, err := p.Service.Update(ctx, "a", "", "long.add", schema.UpdateRequest{})
			return refusedFailure(err)
		},
		"signal": func(ctx context.Context, d *testbed.Deployment, p *testbed.Process) (*failure.Failure, error) {
			err := diaryWord.Send(ctx, p.Client, "a", "word")
			return d.Runs("a")[0].Last().Task.Failure, err
		},
	} {
		for _, at := range []int{0, 100} {
			t.Run(fmt.Sprintf("%s,at=%d", name, at), func(t *testing.T) {
				t.Parallel()
				var hung atomic.Int32
				hangingLogTestbed(t, at, func() { hung.Add(1); time.Sleep(time.Hour) }, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
					began := time.Now()
					f, err := wants(t.Context(), d, p)
					if took := time.Since(began); err != nil || took != 10*time.Second || hung.Load() != 1 {
						t.Errorf("answered after %v, with %d hanging replays: %v; want one, after 10s", took, hung.Load(), err)
					}
					if f == nil || f.Kind != failure.KindDeadlock || !strings.Contains(f.Stack, "hangingLogTestbed") {
						t.Errorf("the failure is %+v; want a deadlock with the place where the code hangs", f)
					}
				})
			})
		}
	}
}

// refusedFailure returns the code's failure from the error of a refused request.
func refusedFailure(err error) (*failure.Failure, error) {
	var refused *refusal.Error
	if !errors.As(err, &refused) || !errors.Is(err, refusal.NotReady) {
		return nil, fmt.Errorf("want a refusal: %w", err)
	}
	return refused.Failure, nil
}

// slowReads makes reads of a log slow after its next write, once it is armed.
type slowReads struct {
	store.Log
	armed, on atomic.Bool
}

func (s *slowReads) Append(ctx context.Context, items ...store.Item) error {
	err := s.Log.Append(ctx, items...)
	s.on.Store(s.armed.Load())
	return err
}

func (s *slowReads) wait(ctx context.Context) error {
	if s.on.Load() {
		select {
		case <-time.After(15 * time.Second):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (s *slowReads) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	if err := s.wait(ctx); err != nil {
		return store.Page{}, err
	}
	return s.Log.Backward(ctx, workflow, before, until, limit)
}

func (s *slowReads) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	if err := s.wait(ctx); err != nil {
		return store.Page{}, err
	}
	return s.Log.Forward(ctx, from, limit)
}

// A wait for events of a long log ends within 29 s, also if the store becomes slow just when the
// events have come: API Gateway waits no longer.
func TestAWaitForALongHistoryEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLongTestbed(t)
		slow := &slowReads{Log: s.d.Ports.Log}
		s.d.Ports.Log = slow
		s.restart()
		about, err := s.p.Describe(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(19 * time.Second)
			slow.armed.Store(true)
			s.say("late")
		}()
		began := time.Now()
		a := s.p.Do(http.MethodGet, fmt.Sprintf("/v1/workflows/a/history?from=%d&wait=20s", about.HistoryLength+1), "")
		if took := time.Since(began); took < 19*time.Second || took > 25*time.Second {
			t.Errorf("the answer %d took %s", a.Status, took)
		}
		slow.armed.Store(false)
		slow.on.Store(false)
		time.Sleep(time.Minute)
	})
}
