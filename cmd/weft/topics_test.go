package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	talker = workflow.NewWorkflow[int, string]("talker")
	words  = workflow.NewTopic[string]("words")
	spoken = workflow.NewSignal[string]("word")
)

// talk publishes each word that it is told, until the last one.
func talk(ctx workflow.Context, _ int) (string, error) {
	for {
		text, err := spoken.Receive(ctx)
		if err != nil {
			return "", err
		}
		words.Publish(ctx, text)
		switch text {
		case "last":
			return text, nil
		case "next":
			return talker.ContinueAsNew(ctx, 0)
		case "broken":
			return "", errors.New("the run fails")
		case "think":
			if _, err := think.Run(ctx, text); err != nil {
				return "", err
			}
		}
	}
}

// think is an activity whose first attempt fails after it has published.
var think = activity.New("think", func(ctx context.Context, _ string) (int, error) {
	attempt := activity.InfoOf(ctx).Attempt
	if err := activity.Publish(ctx, words, fmt.Sprint("thought ", attempt)); err != nil || attempt > 1 {
		return attempt, err
	}
	return 0, errors.New("the thought is lost")
}, activity.Options{Retry: activity.Retry{InitialInterval: time.Millisecond}})

// weft topics lists the topics of a run, and prints the items of one, also as they come.
func TestTopicsCommand(t *testing.T) {
	t.Parallel()
	url := work(t, filepath.Join(t.TempDir(), "data"), workflow.Bind(talker, talk, workflow.Names(words, spoken)))
	c := client.New(url)
	if _, err := talker.Start(t.Context(), c, "t", 0); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := spoken.Send(t.Context(), c, "t", text); err != nil {
			t.Fatal(err)
		}
		awaitWord(t, c, text)
	}
	for line, want := range map[string]string{
		"topics t -q":                      "words\n",
		"topics t words -q":                "0\n1\n",
		"topics t words --from 1 -o jsonl": `{"offset":1,"at":"`,
		"topics t words --from 2":          "",
		"topics t -o json":                 `"next": 2`,
	} {
		if got, err := command(t, line+" --url="+url); err != nil || !strings.Contains(got, want) || want == "" && strings.Contains(got, "second") {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
	for line, want := range map[string]cli.Code{
		"topics t --follow": cli.Usage, "topics t --from 0": cli.Usage, "topics t other": cli.NotFound, "topics u": cli.NotFound, "topics t words --from 9": cli.Refused,
	} {
		if _, err := command(t, line+" --url="+url); cli.CodeOf(err) != want {
			t.Errorf("%s: code %v (%v), want %v", line, cli.CodeOf(err), err, want)
		}
	}
	var sender sync.WaitGroup
	defer sender.Wait() // the run may end, and with it the command, before the signal's sender has its answer
	sender.Go(func() {
		if err := spoken.Send(t.Context(), c, "t", "last"); err != nil {
			t.Error(err)
		}
	})
	if got, err := command(t, "topics t words -f -q --url="+url); err != nil || got != "0\n1\n2\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// weft topics follows a run that continues as new, one that is retried, and a reset. It says which
// attempt has published an item, when a later one starts over, and what was withdrawn.
func TestTopicsOverRuns(t *testing.T) {
	t.Parallel()
	url := work(t, filepath.Join(t.TempDir(), "data"), think, workflow.Bind(talker, talk, workflow.Names(words, spoken)))
	c, ctx := client.New(url), t.Context()
	if _, err := talker.Start(ctx, c, "t", 0, workflow.StartOptions{Retry: &workflow.Retry{InitialInterval: time.Millisecond}}); err != nil {
		t.Fatal(err)
	}
	first, err := c.Describe(ctx, "t", "")
	if err != nil {
		t.Fatal(err)
	}
	say := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := spoken.Send(ctx, c, "t", text); err != nil {
				t.Fatal(err)
			}
			awaitWord(t, c, text)
		}
	}
	say("one", "think", "next", "two", "broken", "three")
	if _, err := c.Reset(ctx, "t", client.ResetOptions{To: "lastTask"}); err != nil { // "three" is published again
		t.Fatal(err)
	}
	say("four", "last")
	for args, want := range map[string]struct{ offsets, notes string }{
		"":                                      {"0 1 2 3 4 5 6 8 9 10", "attempt 2 at activity N starts over with item 3, which replaces the items of attempt 1\n"},
		"--follow":                              {"0 1 2 3 4 5 6 8 9 10", "attempt 2 at activity N starts over with item 3, which replaces the items of attempt 1\n"},
		"--from 5":                              {"5 6 8 9 10", ""},
		"--from 8":                              {"8 9 10", "a reset has withdrawn the items from 7 to 7\n"},
		"--from 4 --run=" + string(first.RunID): {"4 5 6 7 8 9 10", "a reset has withdrawn the items from 7 to 7\n"},
	} {
		var out, notes bytes.Buffer
		s := &cli.Session{In: strings.NewReader(""), Out: &out, Err: &notes, Getenv: func(string) string { return "" }}
		if err := execute(ctx, s, strings.Fields("topics t words -o jsonl "+args+" --url="+url)); err != nil {
			t.Fatal(err)
		}
		var offsets []string
		for line := range strings.Lines(out.String()) {
			var item client.TopicItem
			if err := json.Unmarshal([]byte(line), &item); err != nil {
				t.Fatal(err)
			}
			offsets = append(offsets, fmt.Sprint(item.Offset))
		}
		said := activityEvent.ReplaceAllString(notes.String(), "activity N")
		if got := strings.Join(offsets, " "); got != want.offsets || said != want.notes {
			t.Errorf("%q: %s, %q; want %s, %q", args, got, said, want.offsets, want.notes)
		}
	}
	got, err := command(t, "topics t words --url="+url)
	for _, want := range []string{"  activity N, attempt 1  ", "  activity N, attempt 2  ", "  workflow "} {
		if err != nil || !strings.Contains(activityEvent.ReplaceAllString(got, "activity N"), want) {
			t.Errorf("%q, %v; want %q in it", got, err, want)
		}
	}
	if _, err := command(t, "topics t word --url="+url); err == nil || !strings.Contains(err.Error(), `did you mean "words"?`) {
		t.Error(err)
	}
}

// activityEvent is the event of an activity, which depends on how many signals a task has.
var activityEvent = regexp.MustCompile(`activity \d+`)

// awaitWord waits until a text is published.
func awaitWord(t *testing.T, c *client.Client, text string) {
	t.Helper()
	for item, err := range words.Read(t.Context(), c, "t", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Value == text {
			return
		}
	}
}

// An activity starts over if another execution of it publishes. An activity of a run that follows
// may have the same event.
func TestStartsOver(t *testing.T) {
	t.Parallel()
	executions := map[activityKey]client.TopicActivity{}
	for i, c := range []struct {
		run, execution string
		attempt        int
		over           bool
	}{
		{"r1", "a", 1, false}, {"r1", "a", 1, false}, {"r1", "b", 1, true}, {"r1", "b", 1, false}, {"r1", "c", 2, true}, {"r2", "d", 3, false}, {"r2", "d", 3, false},
	} {
		note := startsOver(executions, &client.TopicItem{Offset: int64(i), Activity: &client.TopicActivity{RunID: history.RunID(c.run), ScheduledEventID: 5, Attempt: c.attempt, Execution: c.execution}})
		if note != "" != c.over {
			t.Errorf("%d: %q", i, note)
		}
	}
	if note := startsOver(executions, &client.TopicItem{Offset: 9}); note != "" {
		t.Error(note)
	}
}
