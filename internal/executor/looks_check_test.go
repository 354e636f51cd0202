package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	lookTell   = activity.New("lookTell", func(context.Context, string) (string, error) { return "", nil })
	lookLocal  = activity.NewLocal("lookLocal", func(context.Context, int) (int, error) { return 7, nil })
	lookMemo   = workflow.NewMemo[int]("n")
	lookN      = workflow.NewAttribute[int64]("N")
	lookSignal = workflow.NewSignal[int]("look")
)

// checkedProcess starts a process that checks validators, with one run, w, of code. warnings gets
// its log lines.
func checkedProcess(t *testing.T, o executor.Options, warnings *testbed.Warnings, code workflow.Registration) *tallied {
	t.Helper()
	o.CheckLooks, o.Logger = 100, warnings.Logger()
	w := &tallied{t, testbed.New(t).Start(o, code, lookTell, lookLocal)}
	w.start("w")
	return w
}

func (w *tallied) start(id string) {
	w.t.Helper()
	if a := w.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"`+id+`","type":"tally"}`); a.Status != http.StatusCreated {
		w.t.Fatalf("start: %d %s", a.Status, a.Body)
	}
}

// notNegative is a validator that changes nothing.
func notNegative(n int) error {
	if n < 0 {
		return errors.New("no")
	}
	return nil
}

// handles returns a workflow whose update "add" has this handler and a validator without side
// effects.
func handles(handler func(ctx workflow.Context, n int) (int, error)) workflow.Registration {
	return workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
		tallyAdd.Handle(ctx, handler, workflow.Validate(notNegative))
		return 0, workflow.Await(ctx, func() bool { return false })
	}, workflow.Names(tallyAdd))
}

// tell calls an activity with a text.
func tell(ctx workflow.Context, what string) (int, error) {
	_, err := lookTell.Run(ctx, what)
	return 0, err
}

// If code varies between runs, a validator without side effects is not blamed. The update is
// carried out, and a warning without payloads says what differs.
func TestCodeThatVaries(t *testing.T) {
	t.Parallel()
	const always, perhaps, never = "always", "perhaps", "never"
	for name, test := range map[string]struct {
		code  func() workflow.Registration
		warns string
	}{
		"the order of a map": {func() workflow.Registration {
			stock := map[string]int{"secret a": 1, "secret b": 2, "secret c": 3}
			return handles(func(ctx workflow.Context, n int) (int, error) {
				for key := range stock { //weftvet:ignore maporder the test needs it
					return tell(ctx, key)
				}
				return 0, nil
			})
		}, perhaps},
		"a cache that the first run fills": {func() workflow.Registration {
			var once sync.Once
			return handles(func(ctx workflow.Context, n int) (int, error) {
				where := "secret cache"
				once.Do(func() { where = "secret disk" })
				return tell(ctx, where)
			})
		}, always},
		"every other run": {func() workflow.Registration {
			runs := 0
			return handles(func(ctx workflow.Context, n int) (int, error) {
				runs++
				return tell(ctx, fmt.Sprint("secret ", runs%2))
			})
		}, always},
		"another command": {func() workflow.Registration {
			runs := 0
			return handles(func(ctx workflow.Context, n int) (int, error) {
				if runs++; runs == 1 {
					return tell(ctx, "secret")
				}
				return 0, workflow.Sleep(ctx, time.Second)
			})
		}, always},
		"a side effect": {func() workflow.Registration {
			runs := 0
			return handles(func(ctx workflow.Context, n int) (int, error) {
				workflow.SideEffect(ctx, func() string {
					runs++ //weftvet:ignore readonly the test needs it
					return fmt.Sprint("secret ", runs)
				})
				return 0, nil
			})
		}, never}, // that is the purpose
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 40 {
				synctest.Test(t, func(t *testing.T) {
					var warnings testbed.Warnings
					w := checkedProcess(t, executor.Options{}, &warnings, test.code())
					a := w.p.Do(http.MethodPost, "/v1/workflows/w/updates/add", `{"input":1,"waitFor":"accepted"}`)
					if a.Status >= 300 {
						t.Errorf("the update was not carried out: %d %s", a.Status, a.Body)
					}
					text := warnings.Take()
					if warned := strings.Contains(text, "does not do the same each time") && strings.Contains(text, "run weftvet"); strings.Contains(text, "secret") || test.warns != perhaps && warned != (test.warns == always) {
						t.Errorf("logged %q; want a warning without payloads: %s", text, test.warns)
					}
				})
			}
		})
	}
}

// A change of state by a validator is found, whatever event shows it.
func TestEffectsOfImpureLooks(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(ctx workflow.Context, n int) (int, error){
		"the failure of the handler": func(_ workflow.Context, n int) (int, error) { return 0, fmt.Errorf("number %d", n) },
		"its result":                 func(_ workflow.Context, n int) (int, error) { return n, nil },
		"the length of a timer": func(ctx workflow.Context, n int) (int, error) {
			return 0, workflow.Sleep(ctx, time.Duration(10+n)*time.Second)
		},
		"the input of an activity":      func(ctx workflow.Context, n int) (int, error) { return tell(ctx, fmt.Sprint(n)) },
		"the input of a local activity": func(ctx workflow.Context, n int) (int, error) { return lookLocal.Run(ctx, n) },
		"a memo": func(ctx workflow.Context, n int) (int, error) {
			workflow.UpsertMemo(ctx, lookMemo.Set(n))
			return 0, nil
		},
		"a side effect": func(ctx workflow.Context, n int) (int, error) {
			workflow.SideEffect(ctx, func() int { return n })
			return 0, nil
		},
		"the id of a workflow to signal": func(ctx workflow.Context, n int) (int, error) {
			lookSignal.SendTo(ctx, workflow.External(fmt.Sprint("x", n)), 1)
			return 0, nil
		},
		"a search attribute": func(ctx workflow.Context, n int) (int, error) {
			workflow.UpsertSearchAttributes(ctx, lookN.Set(int64(n)))
			return 0, nil
		},
		"how many ids are drawn": func(ctx workflow.Context, n int) (int, error) {
			for range n {
				workflow.NewID(ctx)
			}
			return 0, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				code := workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
					looked := 0
					tallyAdd.Handle(ctx, func(ctx workflow.Context, _ int) (int, error) { return act(ctx, looked) }, workflow.Validate(func(n int) error {
						looked++ //weftvet:ignore readonly the test needs it
						return notNegative(n)
					}))
					return 0, workflow.Await(ctx, func() bool { return false })
				}, workflow.Names(tallyAdd, lookN, lookMemo))
				w := checkedProcess(t, executor.Options{}, &testbed.Warnings{}, code)
				w.add(-1, http.StatusUnprocessableEntity)
				if body := w.add(1, http.StatusConflict); !strings.Contains(body, `the validator of update \"add\" changes the workflow's state`) {
					t.Error(body)
				}
			})
		})
	}
}

// A finding of a check is logged with who changed state and what differs. The code's own errors are
// not in the log.
func TestFoundLooksAreLogged(t *testing.T) {
	t.Parallel()
	const who = `reason="the validator of update \"add\" changes the workflow's state: when the code runs again without it, `
	for name, test := range map[string]struct {
		act    func(ctx workflow.Context, looked int) (int, error)
		accept func(n, looked int) bool
		status int
		want   string
	}{
		"a verdict": {
			func(_ workflow.Context, looked int) (int, error) { return 0, nil },
			func(n, looked int) bool { return looked > 1 }, http.StatusConflict, `the verdict on update \"add\" differs"`,
		},
		"a commit": {
			func(ctx workflow.Context, looked int) (int, error) { return tell(ctx, fmt.Sprint("secret ", looked)) },
			func(n, looked int) bool { return n > 0 }, http.StatusConflict, `ActivityTaskScheduled(lookTell) at event 9 differs"`,
		},
		"a later commit": {
			func(ctx workflow.Context, looked int) (int, error) {
				_, err := tell(ctx, "secret")
				return looked, err
			},
			func(n, looked int) bool { return n > 0 }, http.StatusOK, `WorkflowExecutionUpdateCompleted(u) at event 14 differs"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				code := workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
					looked := 0
					tallyAdd.Handle(ctx, func(ctx workflow.Context, _ int) (int, error) { return test.act(ctx, looked) }, workflow.Validate(func(n int) error {
						looked++ //weftvet:ignore readonly the test needs it
						if !test.accept(n, looked) {
							return fmt.Errorf("secret %d", n)
						}
						return nil
					}))
					return 0, workflow.Await(ctx, func() bool { return false })
				}, workflow.Names(tallyAdd))
				var warnings testbed.Warnings
				w := checkedProcess(t, executor.Options{}, &warnings, code)
				w.add(-1, http.StatusUnprocessableEntity)
				a := w.p.Do(http.MethodPost, "/v1/workflows/w/updates/add", `{"updateId":"u","input":1}`)
				text := warnings.Take()
				if a.Status != test.status || strings.Count(text, "workflow task failed") != 1 || !strings.Contains(text, who+test.want) ||
					strings.Contains(text, "secret") || strings.Contains(text, "eventId=") {
					t.Errorf("%d %s, and logged\n%s\nwant %d, and one failed task, with %s%s", a.Status, a.Body, text, test.status, who, test.want)
				}
			})
		})
	}
}

// A validator that changes state is found, even if the same update was refused before it was
// accepted.
func TestImpureLooksOfOneUpdate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		code := workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
			looked := 0
			tallyAdd.Handle(ctx, func(workflow.Context, int) (int, error) { return looked, nil }, workflow.Validate(func(n int) error {
				looked++ //weftvet:ignore readonly the test needs it
				return notNegative(n)
			}))
			return 0, workflow.Await(ctx, func() bool { return false })
		}, workflow.Names(tallyAdd))
		w := checkedProcess(t, executor.Options{}, &testbed.Warnings{}, code)
		for _, test := range []struct {
			input  string
			status int
			want   string
		}{
			{"-1", http.StatusUnprocessableEntity, "no"},
			{"-2", http.StatusUnprocessableEntity, "no"},
			{"1", http.StatusConflict, "when the code runs again without it, WorkflowExecutionUpdateCompleted(u) at event 9 differs"},
		} {
			a := w.p.Do(http.MethodPost, "/v1/workflows/w/updates/add", `{"updateId":"u","input":`+test.input+`}`)
			if a.Status != test.status || !strings.Contains(string(a.Body), test.want) {
				t.Errorf("%d %s; want %d, %s", a.Status, a.Body, test.status, test.want)
			}
		}
	})
}

// A task without anything to compare uses up no check.
func TestChecksThatCompareNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := 0
		w := checkedProcess(t, executor.Options{}, &testbed.Warnings{}, tally(&began, func(sum *int) { *sum += 100 }))
		for i := range 150 {
			id := fmt.Sprint("w", i)
			w.start(id)
			if a := w.p.Do(http.MethodPost, "/v1/workflows/"+id+"/updates/add", `{"input":-1}`); a.Status != http.StatusUnprocessableEntity {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		w.add(1, http.StatusConflict)
	})
}

// Each replay of a check may take as long as any code. If the replays take too long, the check ends
// without a verdict.
func TestChecksThatTakeLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := 0
		w := checkedProcess(t, executor.Options{}, &testbed.Warnings{}, workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
			began++
			time.Sleep(6 * time.Second) //weftvet:ignore time a long calculation
			tallyAdd.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }, workflow.Validate(notNegative))
			return 0, workflow.Await(ctx, func() bool { return false })
		}, workflow.Names(tallyAdd)))
		for i := range 4 {
			before, begins := time.Now(), began
			w.add(i, http.StatusOK)
			if took := time.Since(before); took != 6*time.Second || began != begins+1 || w.p.Service.Hung() != 0 {
				t.Errorf("update %d took %v and %d replays, and %d hang; want one replay", i, took, began-begins, w.p.Service.Hung())
			}
		}
	})
}

// A check that hangs gives no verdict, and the update is carried out. The hanging code is counted,
// and still reads the run as it was. The run's code does not run again until the hanging code has
// returned.
func TestCheckThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		w := checkedProcess(t, executor.Options{}, &testbed.Warnings{}, workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
			if began.Add(1) == 2 { // in the first check
				time.Sleep(time.Hour) //weftvet:ignore time the test needs code that hangs
			}
			sum := 0
			tallyAdd.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
				sum += n
				return sum, nil
			}, workflow.Validate(notNegative))
			return 0, workflow.Await(ctx, func() bool { return sum > 10 })
		}, workflow.Names(tallyAdd)))
		for i := range 5 {
			if body := w.add(1, http.StatusOK); !strings.Contains(body, fmt.Sprintf(`"result":%d`, i+1)) {
				t.Errorf("update %d: %s", i, body)
			}
			if i > 0 {
				continue
			}
			if body := w.add(1, http.StatusConflict); !strings.Contains(body, "has not come back since") {
				t.Errorf("an update while the check hangs: %s", body)
			}
			time.Sleep(2 * time.Hour) // the code returns
		}
		if n := w.p.Service.Hung(); n != 1 {
			t.Errorf("%d instances hang, want 1", n)
		}
	})
}

// A process runs one check at a time, because each check keeps another copy of a run's state.
// Nothing waits for a check, unless all updates are checked.
func TestOneCheckAtATime(t *testing.T) {
	t.Parallel()
	for always, want := range map[bool]int{false: 1, true: 5} {
		t.Run(fmt.Sprint("always ", always), func(t *testing.T) { oneCheckAtATime(t, always, want) })
	}
}

func oneCheckAtATime(t *testing.T, always bool, want int) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		began, now, most, checks := map[string]int{}, 0, 0, 0
		w := checkedProcess(t, executor.Options{CheckAlways: always}, &testbed.Warnings{}, workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
			mu.Lock() //weftvet:ignore channel only for a moment
			id := workflow.InfoOf(ctx).WorkflowID
			began[id]++
			check := began[id] > 1
			if check {
				now++
				checks++
				most = max(most, now)
			}
			mu.Unlock()
			if check {
				time.Sleep(time.Second) //weftvet:ignore time a long calculation
				mu.Lock()               //weftvet:ignore channel only for a moment
				now--
				mu.Unlock()
			}
			tallyAdd.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }, workflow.Validate(notNegative))
			return 0, workflow.Await(ctx, func() bool { return false })
		}, workflow.Names(tallyAdd)))
		var group sync.WaitGroup
		for i := range 5 {
			id := fmt.Sprint("x", i)
			w.start(id)
			group.Go(func() {
				if a := w.p.Do(http.MethodPost, "/v1/workflows/"+id+"/updates/add", `{"input":1}`); a.Status != http.StatusOK {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
		group.Wait()
		if most != 1 || checks != want {
			t.Errorf("%d checks ran, up to %d at a time; want %d, one at a time", checks, most, want)
		}
	})
}

// A run with a long history is not checked. Its instance is kept, however often validators run.
func TestLargeRunsAreNotChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := 0
		w := checkedProcess(t, executor.Options{}, &testbed.Warnings{}, workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
			began++
			workflow.SideEffect(ctx, func() string { return strings.Repeat("x", 200<<10) })
			tallyAdd.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
				workflow.SideEffect(ctx, func() string { return strings.Repeat("x", 200<<10) })
				return n, nil
			}, workflow.Validate(notNegative))
			return 0, workflow.Await(ctx, func() bool { return false })
		}, workflow.Names(tallyAdd)))
		for range 5 {
			w.add(1, http.StatusOK)
		}
		before := began
		for range 300 {
			w.add(-1, http.StatusUnprocessableEntity)
		}
		w.add(1, http.StatusOK)
		if before < 5 || began != before {
			t.Errorf("the code ran %d times for five updates, and %d times more for the updates of a large run; want no more", before, began-before)
		}
	})
}

// An instance on which validators run again and again without a commit is replaced, because a check
// has to repeat them all.
func TestRecordedLooksEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := 0
		w := checkedProcess(t, executor.Options{}, &testbed.Warnings{}, tally(&began, func(*int) {}))
		for range 600 {
			w.p.Do(http.MethodPost, "/v1/workflows/w/queries/sum", "")
		}
		if began != 3 {
			t.Errorf("the code ran %d times for 600 queries, want 3: each instance keeps 256", began)
		}
	})
}

// A validator that changes state is found, even if its first update came with the start, or if
// another validator had used up its checks before.
func TestLaterLooksAreChecked(t *testing.T) {
	t.Parallel()
	const checks = 3
	other := workflow.NewUpdate[int, int]("other")
	for name, test := range map[string]struct {
		others int
		start  string
	}{
		"with a start":               {start: `,"start":{"type":"tally","idConflictPolicy":"useExisting"}`},
		"after another one's checks": {others: checks + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
				looked := 0
				other.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }, workflow.Validate(notNegative))
				tallyAdd.Handle(ctx, func(ctx workflow.Context, n int) (int, error) { return tell(ctx, fmt.Sprint(looked)) }, workflow.Validate(func(int) error {
					looked++ //weftvet:ignore readonly the test needs it
					return nil
				}))
				return 0, workflow.Await(ctx, func() bool { return false })
			}, workflow.Names(other, tallyAdd))
			synctest.Test(t, func(t *testing.T) {
				p := testbed.New(t).Start(executor.Options{CheckLooks: checks}, code, lookTell)
				if test.start == "" {
					p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`)
				}
				for range test.others {
					if a := p.Do(http.MethodPost, "/v1/workflows/w/updates/other", `{"input":1}`); a.Status != http.StatusOK {
						t.Fatalf("%d %s", a.Status, a.Body)
					}
				}
				var statuses []int
				for range 2 {
					statuses = append(statuses, p.Do(http.MethodPost, "/v1/workflows/w/updates/add", `{"input":1,"waitFor":"accepted"`+test.start+`}`).Status)
				}
				if !slices.Contains(statuses, http.StatusConflict) {
					t.Errorf("answered %v; want 409", statuses)
				}
			})
		})
	}
}
