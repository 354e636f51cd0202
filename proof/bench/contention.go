package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// contenderCommand is the argument that makes this program a contender, which is one of several
// processes that send an update to the same run at the same time.
const contenderCommand = "contender"

// outcome is how a contender's update ended.
type outcome struct {
	Tries int           `json:"tries"`
	Took  time.Duration `json:"took"`
	Busy  bool          `json:"busy"`
}

// contention measures processes that each send one update to the same run, all at once, as Lambda
// would run them.
func contention() error {
	const rounds = 5
	return withTable("64 processes that send one update each to one run at once", func(server, table string) error {
		for _, processes := range []int{8, 64} {
			var all []outcome
			for round := range rounds {
				outcomes, err := race(table, fmt.Sprintf("race-%d-%d", processes, round), processes)
				if err != nil {
					return err
				}
				all = append(all, outcomes...)
			}
			reportContention(fmt.Sprintf("%d processes, one update each to one run at once, on %s", processes, server), all)
		}
		return nil
	})
}

func reportContention(name string, all []outcome) {
	var tries []int
	var took []time.Duration
	busy := 0
	for _, o := range all {
		tries, took = append(tries, o.Tries), append(took, o.Took)
		if o.Busy {
			busy++
		}
	}
	slices.Sort(tries)
	report(figure{
		name, fmt.Sprintf("tries p50 %d, p99 %d, most %d; %d busy", tries[len(tries)/2], tries[len(tries)*99/100], tries[len(tries)-1], busy),
		tail(took), "tries 10 at p99, none busy",
	})
}

// race starts processes. When all are ready, it lets them send their updates.
func race(table, workflowID string, processes int) (outcomes []outcome, err error) {
	p, err := openProcess(table)
	if err != nil {
		return nil, err
	}
	defer p.Service.Process.Close()
	if _, err := edge.Of(p.Service).Start(context.Background(), schema.StartRequest{WorkflowID: &workflowID, Type: measured.Counter.Name(), Input: json.RawMessage("10")}); err != nil {
		return nil, err
	}
	wait, begin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, wait.Close()) }()
	var all []*contender
	for i := range processes {
		r, startErr := startContender(wait, table, workflowID, fmt.Sprint("u", i))
		if startErr != nil {
			err = errors.Join(err, startErr)
			break
		}
		all = append(all, r)
	}
	for _, r := range all {
		err = errors.Join(err, r.out.Decode(new(bool))) // it is ready when it prints
	}
	err = errors.Join(err, begin.Close())
	for _, r := range all {
		var o outcome
		err = errors.Join(err, r.out.Decode(&o), r.cmd.Wait())
		outcomes = append(outcomes, o)
	}
	return outcomes, err
}

// contender is a process that sends an update when the pipe on which it waits is closed.
type contender struct {
	cmd *exec.Cmd
	out *json.Decoder
}

func startContender(wait *os.File, table, workflowID, updateID string) (*contender, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, contenderCommand, table, workflowID, updateID)
	cmd.Stdin, cmd.Stderr = wait, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &contender{cmd, json.NewDecoder(out)}, cmd.Start()
}

// runContender is the main function of a contender.
func runContender(table, workflowID, updateID string) error {
	p, err := openProcess(table)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(true); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	ctx, cost := meter.With(context.Background())
	var o outcome
	o.Took, err = timed(func() error {
		answer, err := edge.Of(p.Service).Update(ctx, workflowID, "", measured.Add.Name(), schema.UpdateRequest{UpdateID: updateID, Input: json.RawMessage("1")})
		if err == nil && answer.Stage != schema.StageCompleted {
			return fmt.Errorf("the update is %s", answer.Stage)
		}
		return err
	})
	o.Tries = int(cost.Cost().Lost + cost.Cost().Writes)
	if o.Busy = errors.Is(err, refusal.Busy); err != nil && !o.Busy {
		return err
	}
	return out.Encode(o)
}
