package main

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// queueCommand looks at queues.
type queueCommand struct {
	List       queueList       `cmd:"" help:"List the queues, with how many messages each has."`
	Unreadable queueUnreadable `cmd:"" help:"Print the dead letters on AWS that no version of Weft can read, and send them back: weft queue unreadable --stack shop."`
}

type queueList struct {
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run prints the queues.
func (c queueList) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the queues", func(ctx context.Context, api *client.Client) error {
		all, err := api.Queues(ctx)
		if err != nil {
			return err
		}
		return queues.Print(s, c.Output, cli.Pages(all))
	})
}

// queues is how queues are printed.
var queues = cli.List[client.Queue]{
	Columns: []cli.Column{
		{Name: "QUEUE", Least: 10},
		{Name: "WAITING", Right: true},
		{Name: "IN FLIGHT", Right: true},
		{Name: "DELAYED", Right: true},
		{Name: "DEAD", Right: true},
		{Name: "RATE"},
		{Name: "PROBLEM", Least: 10},
	},
	Row: func(q client.Queue) []cli.Cell {
		waiting, inFlight, delayed := depthCells(q.Messages)
		dead := cli.Cell{}
		if q.Dead != nil {
			if dead.Text = itoa(deadOf(q)); deadOf(q) > 0 {
				dead.Style = cli.Bad
			}
		}
		return []cli.Cell{{Text: q.Name, Style: cli.Bold}, waiting, inFlight, delayed, dead, {Text: rateText(q.Rate)}, {Text: q.Problem, Style: cli.Warn}}
	},
	ID: func(q client.Queue) string { return q.Name },
}

func depthCells(depth *client.QueueDepth) (waiting, inFlight, delayed cli.Cell) {
	if depth == nil {
		return waiting, inFlight, delayed
	}
	return cli.Cell{Text: itoa(depth.Waiting)}, cli.Cell{Text: itoa(depth.InFlight)}, cli.Cell{Text: itoa(depth.Delayed)}
}

// deadOf returns how many dead letters a queue has.
func deadOf(q client.Queue) int64 {
	if q.Dead == nil {
		return 0
	}
	return q.Dead.Waiting + q.Dead.InFlight + q.Dead.Delayed
}

// deadCommand is about messages that were received too often.
type deadCommand struct {
	List    deadList    `cmd:"" help:"List the dead letters, or count them where they cannot be listed (SQS)."`
	Redrive deadRedrive `cmd:"" help:"Move the dead letters of a queue back to it."`
}

type deadList struct {
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// deadLetter is a dead letter with its queue.
type deadLetter struct {
	Queue string `json:"queue"`
	client.DeadLetter
	// Count is how many dead letters there are, where they cannot be listed.
	Count int64 `json:"count,omitempty"`
}

// Run prints the dead letters.
func (c deadList) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the dead letters", func(ctx context.Context, api *client.Client) error {
		all, err := api.Queues(ctx)
		if err != nil {
			return err
		}
		var letters []deadLetter
		for _, q := range all {
			for _, l := range q.DeadLetters {
				letters = append(letters, deadLetter{Queue: q.Name, DeadLetter: l})
			}
			if more := deadOf(q) - int64(len(q.DeadLetters)); more > 0 {
				letters = append(letters, deadLetter{Queue: q.Name, Count: more})
			}
		}
		return deadLetters.Print(s, c.Output, noting(s, "There are no dead letters.", cli.Pages(letters)))
	})
}

// deadLetters is how dead letters are printed.
var deadLetters = cli.List[deadLetter]{
	Columns: []cli.Column{{Name: "QUEUE", Least: 10}, {Name: "WORKFLOW", Least: 12}, {Name: "RUN", Least: 6, First: true}, {Name: "KIND", Least: 10}, {Name: "EVENT", Right: true}, {Name: "ATTEMPT", Right: true}, {Name: "FIRST SENT"}},
	Row: func(l deadLetter) []cli.Cell {
		if l.Count > 0 {
			return []cli.Cell{{Text: l.Queue, Style: cli.Bold}, {Text: itoa(l.Count) + " that are not listed", Style: cli.Bad}, {}, {}, {}, {}, {}}
		}
		return []cli.Cell{
			{Text: l.Queue, Style: cli.Bold},
			{Text: l.WorkflowID},
			{Text: string(l.RunID), Style: cli.Dim},
			{Text: l.Kind},
			{Text: numberUnlessZero(int(l.EventID))},
			{Text: itoa(int64(l.Attempt))},
			{Text: moment(l.FirstSent)},
		}
	},
	ID: func(l deadLetter) string {
		if l.Count > 0 {
			return l.Queue
		}
		return l.WorkflowID
	},
}

type deadRedrive struct {
	Queue      string `arg:"" lookup:"queues" help:"Name of the queue, as weft queue list prints it."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (deadRedrive) Help() string {
	return "It counts the dead letters first, as weft queue list does. On AWS the count is approximate and up to a minute behind, and SQS moves the messages after the command has ended: " +
		"weft queue list shows how many are left. Dead letters that a handler has just received stay."
}

// oneRedrive is what a redrive prints as JSON.
type oneRedrive struct {
	Queue   string `json:"queue"`
	Started bool   `json:"started"`
	// DeadLetters is how many were counted that could be moved; absent if they were not counted.
	DeadLetters *int64 `json:"deadLetters,omitempty"`
}

// Run moves the dead letters, and says how many there were.
func (c deadRedrive) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the redrive of "+c.Queue, func(ctx context.Context, api *client.Client) error {
		dead := c.count(ctx, api)
		started, err := api.Redrive(ctx, c.Queue)
		if err != nil {
			return err
		}
		value := oneRedrive{Queue: c.Queue, Started: started}
		if dead != nil {
			value.DeadLetters = &dead.Waiting
		}
		return c.One(s, c.Queue, value, func() error { return cli.Line(s, "%s", redriveText(cli.Clean(c.Queue), started, dead)) })
	})
}

// countTime is how long a redrive waits for the count of the dead letters.
const countTime = 3 * time.Second

// count counts the dead letters of the queue; nil if they cannot be counted at once. They are moved
// anyway.
func (c deadRedrive) count(ctx context.Context, api *client.Client) *client.QueueDepth {
	ctx, cancel := cli.Once(ctx, countTime)
	defer cancel()
	all, err := api.Queues(ctx)
	if err != nil {
		return nil
	}
	for _, q := range all {
		if q.Name == c.Queue {
			return q.Dead
		}
	}
	return nil
}

// redriveText says what a redrive does. dead is nil if the dead letters were not counted.
func redriveText(queue string, started bool, dead *client.QueueDepth) string {
	switch {
	case !started && dead == nil:
		return "The dead letters of " + queue + " are being moved already."
	case !started:
		return "The dead letters of " + queue + " are being moved already: about " + itoa(dead.Waiting) + " are left."
	case dead == nil:
		return "The dead letters of " + queue + " go back to it, if there are any: they could not be counted."
	case *dead == (client.QueueDepth{}):
		return "No dead letters of " + queue + " were counted. Any that it has go back to it."
	}
	text := "About " + counted(dead.Waiting, "dead letter") + " of " + queue + " " + verb(dead.Waiting, "goes", "go") + " back to it."
	if stay := dead.InFlight + dead.Delayed; stay > 0 {
		text += " About " + itoa(stay) + " that a handler has just received " + verb(stay, "stays", "stay") + "."
	}
	return text
}

// verb returns the form of a verb for a number of things.
func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// buildsCommand lists the builds.
type buildsCommand struct {
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// build is a build with the open runs that are pinned to it. The newest one also has how many are
// not pinned, which it runs.
type build struct {
	Build    string `json:"build"`
	Version  string `json:"version,omitempty"`
	OpenRuns int    `json:"openRuns"`
	// NotPinned are open runs that are not pinned to any build.
	NotPinned int  `json:"notPinned,omitempty"`
	Here      bool `json:"here,omitempty"`
}

// Run counts the open runs of each build, page by page.
func (c buildsCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the builds", func(ctx context.Context, api *client.Client) error {
		var all []build
		index := map[string]int{}
		find := func(name string) *build {
			i, ok := index[name]
			if !ok {
				i, index[name] = len(all), len(all)
				all = append(all, build{Build: name})
			}
			return &all[i]
		}
		open := 0
		err := eachPage(ctx, s, "the builds", func(token string) (next, soFar string, err error) {
			page, err := api.Builds(ctx, token)
			if err != nil {
				return "", "", err
			}
			find(page.Here).Here = true
			for _, v := range page.Versions {
				find(v.Build).Version = v.Version
			}
			for _, runs := range page.OpenRuns {
				if runs.Build == "" {
					find(page.Here).NotPinned += runs.Runs
				} else {
					find(runs.Build).OpenRuns += runs.Runs
				}
				open += runs.Runs
			}
			return page.NextPageToken, counted(int64(open), "open run"), nil
		})
		if err != nil {
			return err
		}
		return builds.Print(s, c.Output, cli.Pages(all))
	})
}

// builds is how builds are printed.
var builds = cli.List[build]{
	Columns: []cli.Column{{Name: "BUILD", Least: 12}, {Name: "VERSION"}, {Name: "PINNED RUNS", Right: true}, {Name: "NOT PINNED", Right: true}, {Name: "WHAT"}},
	Row: func(b build) []cli.Cell {
		here, others := "", ""
		if b.Here {
			others, here = itoa(int64(b.NotPinned)), "answers, and runs what is not pinned"
		}
		return []cli.Cell{{Text: b.Build, Style: cli.Bold}, {Text: b.Version}, {Text: itoa(int64(b.OpenRuns))}, {Text: others}, {Text: here, Style: cli.Dim}}
	},
	ID: func(b build) string { return b.Build },
}

// rateText returns the rate of a task queue; empty if it has none.
func rateText(rate *client.QueueRate) string {
	if rate == nil {
		return ""
	}
	text := strconv.FormatFloat(rate.PerSecond, 'g', -1, 64) + "/s"
	if rate.Burst > 0 {
		text += "+" + itoa(int64(rate.Burst))
	}
	return text
}
