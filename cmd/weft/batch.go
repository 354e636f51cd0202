package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// batchCommand starts, describes and controls batches.
type batchCommand struct {
	Start    batchStart    `cmd:"" help:"Do the same with all runs that a filter selects: weft batch start cancel \"WorkflowType = 'order'\" --dry-run."`
	List     batchList     `cmd:"" help:"List the batches, those started last first."`
	Describe batchDescribe `cmd:"" help:"Describe a batch: how far it is, and which runs it could not act on."`
	Watch    batchWatch    `cmd:"" help:"Show how far a batch is until it has ended, and describe it."`
	Stop     batchStop     `cmd:"" help:"Stop a batch; what it has done stays."`
	Rate     batchRate     `cmd:"" help:"Change how many runs a batch acts on in a second."`
}

type batchStart struct {
	Action    string   `arg:"" enum:"cancel,terminate,signal,reset,delete,retry,pause,resume,move" help:"What is done: cancel, terminate, signal, reset, delete, retry, pause, resume or move."`
	Filter    string   `arg:"" help:"Which runs, as in weft list."`
	ID        string   `name:"id" help:"Id of the batch; without it, one is made."`
	DryRun    bool     `help:"Do nothing, and count the runs by type and status. It waits for the end of the count."`
	Watch     bool     `help:"Show how far the batch is until it has ended."`
	Rate      float64  `placeholder:"N" help:"How many runs in a second, 0.01 to 1000; without it, as many as eight at once can be."`
	MostRuns  int      `placeholder:"N" help:"Act on at most this many runs, then stop; 10000 without it. It does not keep the batch from beginning: --dry-run counts first."`
	Unknown   bool     `name:"allow-unknown" help:"Allow names in the filter that no recent run has."`
	RequestID string   `placeholder:"ID" help:"Identifies the request when it is sent again."`
	Reason    string   `group:"Action" help:"For those who read the histories: of cancel, terminate, reset, pause, resume."`
	Signal    string   `group:"Action" placeholder:"NAME" help:"Name of the signal, for signal. -d is its input."`
	To        string   `group:"Action" enum:",firstTask,lastTask" default:"" placeholder:"TASK" help:"Task that runs are reset to: firstTask or lastTask."`
	Exclude   []string `group:"Action" enum:"updates,signals" placeholder:"WHAT" help:"What a reset leaves out: updates, signals."`
	Build     string   `group:"Action" help:"Build whose first task runs are reset to; or, for move, the only one that runs may be moved to."`
	Unpin     bool     `group:"Action" help:"For move: let the newest build run them."`
	cli.Input `embed:""`

	cli.Remote `embed:"" set:"timeout=-1ns"`
	cli.Output `embed:""`
}

// timeoutHelp implements mayWait.
func (*batchStart) timeoutHelp() string {
	return "without it, 30s, and for ever with --watch and --dry-run."
}

// AfterApply sets the time-out.
func (b *batchStart) AfterApply() error {
	b.MayWait(b.DryRun || b.Watch)
	return nil
}

// Help returns the rest of the help.
func (batchStart) Help() string {
	return "A retry is of the failed task of a stuck run, and of each activity that backs off: \"Retrying OR Stuck\" selects all runs that have something to retry."
}

// Run starts the batch. It is durable when the command ends, and goes on without it.
func (b batchStart) Run(ctx context.Context, s *cli.Session) error {
	input, err := b.Read(s)
	if err != nil {
		return err
	}
	o := client.BatchOptions{
		ID: b.ID, Filter: b.Filter, DryRun: b.DryRun, Rate: b.Rate, MostRuns: b.MostRuns, AllowUnknown: b.Unknown, RequestID: b.RequestID,
		Action: &client.BatchAction{
			Kind: b.Action, Reason: b.Reason, SignalName: b.Signal, Input: input, To: b.To, Exclude: b.Exclude, Build: b.Build, Unpin: b.Unpin,
		},
	}
	return b.Call(ctx, s, "the start of the batch", func(ctx context.Context, c *client.Client) error {
		batch, err := c.StartBatch(ctx, o)
		switch {
		case err != nil:
			return err
		case b.DryRun || b.Watch:
			return watchBatch(ctx, s, b.Output, batch)
		}
		return batched(s, b.Output, batch.ID, "Started the batch %s. %s shows how far it is.", cli.Clean(b.Command("batch watch", batch.ID)))
	})
}

// batched prints what a command has done to a batch.
func batched(s *cli.Session, o cli.Output, id, text string, more ...any) error {
	value := struct {
		BatchID string `json:"batchId"`
	}{id}
	return o.One(s, id, value, func() error { return cli.Line(s, text, append([]any{cli.Clean(id)}, more...)...) })
}

// oneBatch names a batch.
type oneBatch struct {
	cli.Remote `embed:""`
	ID         string `arg:"" help:"Id of the batch."`
}

// call calls f with the batch.
func (o oneBatch) call(ctx context.Context, s *cli.Session, what string, f func(context.Context, client.Batch) error) error {
	return o.Call(ctx, s, what+" of batch "+o.ID, func(ctx context.Context, c *client.Client) error { return f(ctx, c.Batch(o.ID)) })
}

type batchList struct {
	Limit      int `default:"100" help:"How many batches at most."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run prints the batches.
func (l batchList) Run(ctx context.Context, s *cli.Session) error {
	if err := checkLimit(l.Limit); err != nil {
		return err
	}
	return l.Call(ctx, s, "the batches", func(ctx context.Context, c *client.Client) error {
		return batches.Print(s, l.Output, noting(s, "There is no batch.", limited(s, l.Limit, func(token string) ([]client.BatchSummary, string, error) { return c.Batches(ctx, token) })))
	})
}

// batches is how batches are printed.
var batches = cli.List[client.BatchSummary]{
	Columns: []cli.Column{{Name: "BATCH", Least: 12}, {Name: "ACTION"}, {Name: "STATE"}, {Name: "STARTED"}, {Name: "FILTER", Least: 12, First: true}},
	Row: func(one client.BatchSummary) []cli.Cell {
		action := one.Kind
		if one.DryRun {
			action = "dry run"
		}
		return []cli.Cell{{Text: one.BatchID, Style: cli.Bold}, {Text: action}, listedBatchCell(one), {Text: moment(one.StartedAt)}, {Text: one.Filter}}
	},
	ID: func(one client.BatchSummary) string { return one.BatchID },
}

// listedBatchCell returns the state of a listed batch, and how many runs it could not act on.
func listedBatchCell(one client.BatchSummary) cli.Cell {
	cell := statusCell(one.State)
	var parts []string
	if one.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", one.Refused))
	}
	if one.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", one.Failed))
	}
	if len(parts) > 0 {
		cell.Text += " (" + strings.Join(parts, ", ") + ")"
		if cell.Style == cli.Good {
			cell.Style = cli.Warn
		}
	}
	return cell
}

type batchDescribe struct {
	oneBatch   `embed:""`
	cli.Output `embed:""`
}

// Run prints the description.
func (d batchDescribe) Run(ctx context.Context, s *cli.Session) error {
	return d.call(ctx, s, "the description", func(ctx context.Context, batch client.Batch) error {
		known, err := batch.Describe(ctx)
		if err != nil {
			return err
		}
		return d.One(s, d.ID, known, func() error { return batchText(s, known) })
	})
}

type batchWatch struct {
	cli.Remote `embed:"" set:"timeout=0s"`
	ID         string `arg:"" help:"Id of the batch."`
	cli.Output `embed:""`
}

// Run waits for the end of the batch.
func (w batchWatch) Run(ctx context.Context, s *cli.Session) error {
	return w.Call(ctx, s, "the end of batch "+w.ID, func(ctx context.Context, c *client.Client) error {
		return watchBatch(ctx, s, w.Output, c.Batch(w.ID))
	})
}

type batchStop struct {
	oneBatch   `embed:""`
	cli.Output `embed:""`
	Reason     string `help:"For those who look at the batch."`
}

// Run stops the batch.
func (b batchStop) Run(ctx context.Context, s *cli.Session) error {
	return b.call(ctx, s, "the stop", func(ctx context.Context, batch client.Batch) error {
		if err := batch.Stop(ctx, b.Reason); err != nil {
			return err
		}
		return batched(s, b.Output, b.ID, "The batch %s stops.")
	})
}

type batchRate struct {
	oneBatch   `embed:""`
	cli.Output `embed:""`
	Rate       float64 `arg:"" help:"How many runs in a second, 0.01 to 1000; 0 is no limit."`
}

// Run changes the rate.
func (b batchRate) Run(ctx context.Context, s *cli.Session) error {
	return b.call(ctx, s, "the rate", func(ctx context.Context, batch client.Batch) error {
		if err := batch.SetRate(ctx, b.Rate); err != nil {
			return err
		}
		return batched(s, b.Output, b.ID, "The batch %s has %s.", batchRateText(b.Rate))
	})
}

func batchRateText(rate float64) string {
	if rate == 0 {
		return "no rate"
	}
	if rate == 1 {
		return "a rate of 1 run a second"
	}
	return fmt.Sprintf("a rate of %v runs a second", rate)
}
