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
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// manyTopics are two more than a run may have.
func manyTopics() (all []workflow.Topic[string], names []workflow.Name) {
	for i := range engine.MaxTopics + 2 {
		all = append(all, workflow.NewTopic[string](fmt.Sprint("topic", i)))
		names = append(names, all[i])
	}
	return all, names
}

// A batch of an activity's last items is refused for good: the run cannot have another topic, or
// the batch is too large. The attempt has failed, and is not made again. What else was collected
// is there once.
func TestLastBatchesRefusedForGood(t *testing.T) {
	t.Parallel()
	topics, names := manyTopics()
	old, free, over := topics[0], topics[engine.MaxTopics-1], topics[engine.MaxTopics]
	large := strings.Repeat("x", 120<<10)
	for name, test := range map[string]struct {
		collect func(add func(workflow.Topic[string], string) error) error
		want    string
		items   map[string]int // by topic
		besides bool           // another activity is pending
		meddle  bool           // another topic begins while the result is put, and that put fails
	}{
		"a topic too many, in the middle": {
			func(add func(workflow.Topic[string], string) error) error {
				return errors.Join(add(free, "a"), add(over, "b"), add(old, "c"))
			}, `topic "topic100" is one too many: a run has at most 100`, map[string]int{"topic99": 1, "topic100": 0, "topic0": 2}, false, false,
		},
		"a topic too many, last": {
			func(add func(workflow.Topic[string], string) error) error {
				return errors.Join(add(free, "a"), add(over, "b"))
			}, `topic "topic100" is one too many`, map[string]int{"topic99": 1, "topic100": 0}, false, false,
		},
		"two topics too many": {
			func(add func(workflow.Topic[string], string) error) error {
				return errors.Join(add(free, "a"), add(over, "b"), add(topics[engine.MaxTopics+1], "c"))
			}, `topic "topic100" is one too many`, map[string]int{"topic99": 1, "topic100": 0, "topic101": 0}, false, false,
		},
		"a topic too many, last, and the result goes through the queue": {
			func(add func(workflow.Topic[string], string) error) error {
				return errors.Join(add(free, "a"), add(over, "b"))
			}, `topic "topic100" is one too many`, map[string]int{"topic99": 1, "topic100": 0}, true, false,
		},
		"a topic too many, after the commit of the result has failed": {
			func(add func(workflow.Topic[string], string) error) error { return add(free, "a") },
			`topic "topic99" is one too many`,
			map[string]int{"topic99": 0, "topic100": 1},
			false, true,
		},
		"too large, first": {
			func(add func(workflow.Topic[string], string) error) error {
				return errors.Join(add(old, large), add(free, "b"))
			}, "larger than a commit may be", map[string]int{"topic0": 1, "topic99": 1}, false, false,
		},
		"too large, last": {
			func(add func(workflow.Topic[string], string) error) error {
				return errors.Join(add(free, "a"), add(old, large))
			}, "larger than a commit may be", map[string]int{"topic0": 1, "topic99": 1}, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				hooks, attempts, began := d.Hook(), 0, make(chan bool)
				say := workflow.NewUpdate[string, int]("say")
				act := activity.New("stream", func(ctx context.Context, _ int) (string, error) {
					attempts++
					began <- true
					<-began
					return "done", test.collect(func(topic workflow.Topic[string], item string) error {
						return activity.Publisher(ctx, topic).Add(item)
					})
				})
				slow := activity.New("slow", func(context.Context, int) (string, error) {
					time.Sleep(20 * time.Second)
					return "slow", nil
				})
				registrations := []workflow.Registration{act, slow, workflow.Bind(streaming, func(ctx workflow.Context, in int) (string, error) {
					say.Handle(ctx, func(ctx workflow.Context, name string) (int, error) {
						workflow.NewTopic[string](name).Publish(ctx, "said")
						return 0, nil
					})
					for _, topic := range topics[:engine.MaxTopics-1] {
						topic.Publish(ctx, "first")
					}
					if test.besides {
						slow.Start(ctx, 0)
					}
					return act.Run(ctx, in)
				}, workflow.Names(append(names, say)...))}
				p, other := d.Start(executor.Options{MaxCommit: 100 << 10}, registrations...), d.Idle(executor.Options{}, registrations...)
				run, err := streaming.Start(t.Context(), p.Client, "s", 0)
				if err != nil {
					t.Fatal(err)
				}
				<-began
				if test.meddle {
					hooks.Next(testbed.OnPut, func(func() error) error {
						hooks.Next(testbed.OnPut, func(do func() error) error { return do() })
						if a := other.Do(http.MethodPost, "/v1/workflows/s/updates/say", `{"input":"topic100"}`); a.Status != http.StatusOK {
							t.Errorf("%d %s", a.Status, a.Body)
						}
						return errors.New("the store is down")
					})
				}
				began <- true
				if _, err := run.Result(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, want %q", err, test.want)
				}
				if attempts != 1 {
					t.Errorf("%d attempts", attempts)
				}
				for topic, want := range test.items {
					items, err := other.Topic(t.Context(), "s", "", topic, 0)
					if err != nil || len(items.Items) != want {
						t.Errorf("%s has %+v, want %d: %v", topic, items, want, err)
					}
				}
			})
		})
	}
}

// Publish sends what was collected in its own batch. If both do not fit together, by the limit of a
// batch or by that of a commit, there are two batches, in order.
func TestPublishAfterCollected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ collected, published, batches int }{
		"together":                      {10 << 10, 100 << 10, 1},
		"beyond a batch":                {200 << 10, 250 << 10, 2},
		"beyond a commit, not a batch":  {380<<10 - 200<<10 - 4 - 3, 200 << 10, 2},
		"nothing is collected":          {0, 250 << 10, 1},
		"what was collected is as much": {255 << 10, 255 << 10, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				p := d.Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
					if test.collected > 0 {
						if err := activity.Publisher(ctx, tokensOf).Add(strings.Repeat("c", test.collected)); err != nil {
							return "", err
						}
					}
					return "done", activity.Publish(ctx, tokensOf, strings.Repeat("p", test.published))
				})...)
				run, err := streaming.Start(t.Context(), p.Client, "s", 0)
				if err != nil {
					t.Fatal(err)
				}
				if result, err := run.Result(t.Context()); err != nil || result != "done" {
					t.Fatal(result, err)
				}
				text := ""
				for item, err := range tokensOf.Read(t.Context(), p.Client, "s", 0, client.ReadOptions{NoWait: true}) {
					if err != nil {
						t.Fatal(err)
					}
					text += item.Value
				}
				if got := strings.Count(logOf(d, "s"), "ActivityItemsPublished"); got != test.batches || text != strings.Repeat("c", test.collected)+strings.Repeat("p", test.published) {
					t.Errorf("%d batches, want %d, with %d bytes", got, test.batches, len(text))
				}
			})
		})
	}
}

// The store refuses a batch for now when its time has come. The collector tries again, with longer
// waits, while the attempt goes on, and later items follow in order. What Publish and a full batch
// meet meanwhile is ErrBusy, and nothing is lost or there twice.
func TestCollectedItemsAreTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		var began time.Time
		var tries []time.Duration
		p := d.Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
			began = time.Now()
			hooks.Always(testbed.OnPut, func(do func() error) error {
				took := time.Since(began)
				if tries = append(tries, took); took < 20*time.Second {
					return errors.New("the store is down")
				}
				return do()
			})
			tokens := activity.Publisher(ctx, tokensOf)
			for i := range 12 {
				if err := tokens.Add(fmt.Sprint("-", i)); err != nil {
					return "", err
				}
				time.Sleep(500 * time.Millisecond)
			}
			if err := activity.Publish(ctx, tokensOf, "refused"); !errors.Is(err, activity.ErrBusy) {
				t.Errorf("Publish: %v", err)
			}
			for range collected - 12 {
				if err := tokens.Add("-"); err != nil {
					return "", err
				}
			}
			if err := tokens.Add("refused"); !errors.Is(err, activity.ErrBusy) {
				t.Errorf("Add to a full batch: %v", err)
			}
			time.Sleep(80 * time.Second)
			return "done", tokens.Add("last")
		}, activity.Options{StartToClose: time.Hour})...)
		run, err := streaming.Start(t.Context(), p.Client, "s", 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if items, _ := itemsRead(t, p.Client, "s"); len(items) != collected || items[11] != "11-111" {
			t.Errorf("after a minute: %v", items)
		}
		if _, err := run.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		items, n := itemsRead(t, p.Client, "s")
		if len(items) != collected+1 || items[collected] != fmt.Sprint(collected, "last1") || n != 1 {
			t.Errorf("%v of %d executions", items, n)
		}
		for i := range tries {
			tries[i] = tries[i].Truncate(time.Second)
		}
		want := []time.Duration{1, 3, 6, 6, 7, 15, 31} // at 6 s, Publish and the full batch try, too
		for i := range want {
			want[i] *= time.Second
		}
		if len(tries) != len(want)+1 || !slices.Equal(tries[:len(want)], want) {
			t.Errorf("tries after %v, want %v and the result's", tries, want)
		}
	})
}

// collected is how many items a batch collects.
const collected = 100

// Code that goes on after its activity's function has returned cannot publish: the items would be
// lost, or follow the result.
func TestPublishAfterTheReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errs := make(chan error, 2)
		p := testbed.New(t).Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
			go func() {
				time.Sleep(time.Second)
				errs <- activity.Publish(context.WithoutCancel(ctx), tokensOf, "late")
				errs <- activity.Publisher(context.WithoutCancel(ctx), tokensOf).Add("late")
			}()
			return "done", activity.Publish(ctx, tokensOf, "a")
		})...)
		run, err := streaming.Start(t.Context(), p.Client, "s", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, activity.ErrActivityEnded) || !strings.Contains(err.Error(), "before the activity's function returns") {
				t.Error(err)
			}
		}
		if items, _ := itemsRead(t, p.Client, "s"); !slices.Equal(items, []string{"0a1"}) {
			t.Error(items)
		}
	})
}
