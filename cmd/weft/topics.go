package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// topicsCommand lists the topics of a run, or prints the items of one.
type topicsCommand struct {
	oneRun     `embed:""`
	Topic      string `arg:"" optional:"" lookup:"topics" help:"The topic whose items are printed; without it, the topics are listed."`
	From       int64  `default:"-1" placeholder:"OFFSET" help:"The first item to print; without it, the oldest that can be read."`
	Follow     bool   `short:"f" help:"Print the items as they come, until no run goes on with the topic."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (topicsCommand) Help() string {
	return "An item is printed with its offset and with what has published it: the workflow, or an attempt at an activity, by the event that scheduled it. Items that were truncated cannot be read; the history keeps their bytes. What a reset has withdrawn, and an attempt that starts over, is said on standard error."
}

// Run prints them. The time-out is that of a command which waits if it follows.
func (c topicsCommand) Run(ctx context.Context, s *cli.Session) error {
	switch {
	case c.Topic == "" && (c.Follow || c.From >= 0):
		return cli.Errorf(cli.Usage, "--follow and --from are for the items of a topic: name it, as in weft topics %s progress", c.WorkflowID)
	case c.Topic == "":
		return c.Call(ctx, s, "the topics of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
			all, err := api.Topics(ctx, c.WorkflowID, c.RunID)
			if err != nil {
				return err
			}
			return topicList.Print(s, c.Output, cli.Pages(all))
		})
	}
	if c.Follow {
		c.Timeout = 0
	}
	return c.Call(ctx, s, "items of topic "+c.Topic+" of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		return suggest(itemList.Print(s, c.Output, c.items(ctx, s, api)), c.Topic, nil)
	})
}

// items returns the items as they come.
func (c *topicsCommand) items(ctx context.Context, s *cli.Session, api *client.Client) func(yield func([]client.TopicItem, error) bool) {
	return func(yield func([]client.TopicItem, error) bool) {
		withdrawn := func(from, before int64) {
			s.Note(fmt.Sprintf("a reset has withdrawn the items from %d to %d", from, before-1))
		}
		executions := map[activityKey]client.TopicActivity{}
		for item, err := range api.ReadTopic(ctx, c.WorkflowID, c.Topic, c.From, client.ReadOptions{RunID: c.RunID, NoWait: !c.Follow, Withdrawn: withdrawn}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if note := startsOver(executions, &item); note != "" {
				s.Note(note)
			}
			if !yield([]client.TopicItem{item}, nil) {
				return
			}
		}
	}
}

// activityKey identifies an activity among those of the runs that follow each other.
type activityKey struct {
	run       string
	scheduled int64
}

// startsOver returns what to say if an item is the first one of another execution of an activity
// than the one before it. It keeps the last execution of each activity.
func startsOver(executions map[activityKey]client.TopicActivity, item *client.TopicItem) string {
	by := item.Activity
	if by == nil {
		return ""
	}
	key := activityKey{string(by.RunID), by.ScheduledEventID}
	before, again := executions[key]
	executions[key] = *by
	if !again || before.Execution == by.Execution {
		return ""
	}
	return fmt.Sprintf("attempt %d at activity %d starts over with item %d, which replaces the items of attempt %d", by.Attempt, by.ScheduledEventID, item.Offset, before.Attempt)
}

// publisherOf returns what has published an item.
func publisherOf(item *client.TopicItem) string {
	if by := item.Activity; by != nil {
		return fmt.Sprintf("activity %d, attempt %d", by.ScheduledEventID, by.Attempt)
	}
	return "workflow"
}

// topicList is how topics are printed.
var topicList = cli.List[client.TopicSummary]{
	Columns: []cli.Column{{Name: "TOPIC", Least: 10}, {Name: "FIRST", Right: true}, {Name: "NEXT", Right: true}, {Name: "ITEMS", Right: true}, {Name: "BYTES", Right: true}},
	Row: func(t client.TopicSummary) []cli.Cell {
		return []cli.Cell{{Text: t.Name, Style: cli.Bold}, {Text: itoa(t.First)}, {Text: itoa(t.Next)}, {Text: strconv.Itoa(t.Items)}, {Text: itoa(t.Bytes)}}
	},
	ID: func(t client.TopicSummary) string { return t.Name },
}

// itemList is how items of a topic are printed.
var itemList = cli.List[client.TopicItem]{
	Columns: []cli.Column{{Name: "OFFSET", Right: true}, {Name: "PUBLISHED"}, {Name: "BY"}, {Name: "ITEM", Least: 20}},
	Row: func(item client.TopicItem) []cli.Cell {
		return []cli.Cell{{Text: itoa(item.Offset)}, {Text: moment(item.At), Style: cli.Dim}, {Text: publisherOf(&item), Style: cli.Dim}, {Text: string(item.Value)}}
	},
	ID: func(item client.TopicItem) string { return itoa(item.Offset) },
}
