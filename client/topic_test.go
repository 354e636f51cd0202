package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// say sends texts to the publishing workflow, one after the other, with pauses.
func say(t *testing.T, c *client.Client, id string, pause time.Duration, texts ...string) {
	t.Helper()
	for _, text := range texts {
		time.Sleep(pause)
		if err := testbed.Say.Send(context.WithoutCancel(t.Context()), c, id, text); err != nil {
			t.Error(text, err)
		}
	}
}

// A reader gets each item once and in order, over runs that continue each other and whatever
// connections break: answers are lost on the way, and each request is repeated.
func TestReadTopic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-1")...), t.Context()
		if _, err := testbed.Publisher.Start(ctx, p.Client, "p", 0); err != nil {
			t.Fatal(err)
		}
		go say(t, p.Client, "p", 700*time.Millisecond, "a", "b", "next", "c", "hide", "d", "next", "next", "e", "f", "end")
		requests := 0
		cut := client.ForHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests++; requests%2 == 1 {
				p.Handler.ServeHTTP(httptest.NewRecorder(), r)
				http.Error(w, "the answer is lost", http.StatusBadGateway)
				return
			}
			p.Handler.ServeHTTP(w, r)
		}))
		var got []string
		for item, err := range testbed.Steps.Read(ctx, cut, "p", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if item.Offset != int64(len(got)) {
				t.Errorf("offset %d, want %d", item.Offset, len(got))
			}
			got = append(got, item.Value)
		}
		if strings.Join(got, "") != "abcdef" {
			t.Errorf("%q", got)
		}
		// Whoever begins later, or again, gets the rest. Truncated items are gone.
		for from, want := range map[int64]string{-1: "cdef", 0: "cdef", 3: "def", 5: "f", 6: ""} {
			rest := ""
			for item, err := range testbed.Steps.Read(ctx, p.Client, "p", from) {
				if err != nil {
					t.Fatal(from, err)
				}
				rest += item.Value
			}
			if rest != want {
				t.Errorf("from %d: %q, want %q", from, rest, want)
			}
		}
		if topics, err := p.Client.Topics(ctx, "p", ""); err != nil || len(topics) != 1 || topics[0].Next != 6 || topics[0].First != 2 {
			t.Errorf("%+v %v", topics, err)
		}
	})
}

// A reset withdraws items. A reader that follows is told once, also if the run had closed before it
// was reset. One that begins at the start does not see them.
func TestReadTopicOverResets(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed ", closed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, ctx := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-1")...), t.Context()
				if _, err := testbed.Publisher.Start(ctx, p.Client, "p", 0); err != nil {
					t.Fatal(err)
				}
				say(t, p.Client, "p", time.Second, "a", "b")
				page, err := p.Client.Topic(ctx, "p", "", "steps", -1)
				if err != nil || len(page.Items) != 2 {
					t.Fatal(page, err)
				}
				first := string(page.RunID)
				say(t, p.Client, "p", time.Second, "c")
				if closed {
					say(t, p.Client, "p", time.Second, "end")
				}
				history, err := p.Client.History(ctx, "p", "")
				if err != nil {
					t.Fatal(err)
				}
				// "b" is the second signal: its task is the third of the run.
				tasks := 0
				event := int64(0)
				for _, e := range history.Events {
					if e.Type.String() == "WorkflowTaskScheduled" {
						if tasks++; tasks == 3 {
							event = e.ID
						}
					}
				}
				if _, err := p.Client.Reset(ctx, "p", client.ResetOptions{EventID: event, Exclude: []string{"signals"}}); err != nil {
					t.Fatal(err)
				}
				say(t, p.Client, "p", time.Second, "next", "x", "end")
				for name, c := range map[string]struct {
					from      int64
					run       string
					want      []string
					withdrawn []string
				}{
					"from the start":                  {0, "", []string{"0a", "3b", "4x"}, nil},
					"from the start of the first run": {0, first, []string{"0a", "1b", "2c", "3b", "4x"}, []string{"1-3"}},
					"after b":                         {2, first, []string{"2c", "3b", "4x"}, []string{"1-3"}},
					"after b, of the latest":          {2, "", []string{"3b", "4x"}, []string{"1-3"}},
					"after c":                         {3, first, []string{"3b", "4x"}, []string{"1-3"}},
					"later":                           {4, "", []string{"4x"}, nil},
				} {
					var got, withdrawn []string
					told := func(from, before int64) { withdrawn = append(withdrawn, fmt.Sprintf("%d-%d", from, before)) }
					for item, err := range testbed.Steps.Read(ctx, p.Client, "p", c.from, client.ReadOptions{RunID: c.run, Withdrawn: told}) {
						if err != nil {
							t.Fatal(name, err)
						}
						got = append(got, fmt.Sprint(item.Offset, item.Value))
					}
					if !slices.Equal(got, c.want) || !slices.Equal(withdrawn, c.withdrawn) {
						t.Errorf("%s: %v, withdrawn %v; want %v, %v", name, got, withdrawn, c.want, c.withdrawn)
					}
				}
			})
		})
	}
}

// A reader that waits reads once a second, asks once in 20 s, and ends with its context. An item
// that does not decode is an error of its own.
func TestReadTopicWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-1")...)
		if _, err := testbed.Publisher.Start(t.Context(), p.Client, "p", 0); err != nil {
			t.Fatal(err)
		}
		requests := 0
		c := client.ForHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			p.Handler.ServeHTTP(w, r)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		var last error
		for _, err := range testbed.Steps.Read(ctx, c, "p", 0) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || requests > 5 {
			t.Errorf("%v after %d requests", last, requests)
		}
		for _, err := range testbed.Steps.Read(t.Context(), c, "p", 7) {
			last = err
		}
		if !strings.Contains(fmt.Sprint(last), "give 0 or less as from") {
			t.Error(last)
		}
		n := 0
		for range testbed.Steps.Read(t.Context(), c, "p", 0, client.ReadOptions{NoWait: true}) {
			n++
		}
		if n != 0 {
			t.Errorf("%d items", n)
		}
	})
}
