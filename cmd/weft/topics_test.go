package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
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
		if text == "last" {
			return text, nil
		}
	}
}

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
	go func() {
		if err := spoken.Send(t.Context(), c, "t", "last"); err != nil {
			t.Error(err)
		}
	}()
	if got, err := command(t, "topics t words -f -q --url="+url); err != nil || got != "0\n1\n2\n" {
		t.Errorf("%q, %v", got, err)
	}
}
