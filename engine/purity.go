package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Looked returns the validators and query handlers that have run on the instance, each once, in the order of their first call.
func (in *Instance) Looked() []string { return slices.Clone(in.looked) }

// look notes that a validator or a query handler runs.
func (in *Instance) look(who string) {
	if !slices.Contains(in.looked, who) {
		in.looked = append(in.looked, who)
	}
}

// CheckLooks reports a validator or a query handler that changes state: it returns a failure that names those that have run, or nil.
// in is the instance that has run the task and come to the transition, and before is what Looked said of it before the task. fresh
// returns a new instance of the run; CheckLooks closes it.
//
// Replay runs no validators. So an instance on which none has run must come to the same verdicts, and replaying the commit must do the
// same as running it.
func (r *Run) CheckLooks(in *Instance, fresh func() *Instance, before []string, w *Writer, task Task, t *Transition) *failure.Failure {
	if len(in.looked) == 0 || t.Failure != nil || t.Refused != nil {
		return nil
	}
	if len(before) > 0 && len(task.Updates) > 0 && t.Task.Kind == history.Speculative {
		if difference := r.rehearse(fresh(), w, task, t); difference != "" {
			return impure(before, difference)
		}
	}
	if t.Commit == nil {
		return nil
	}
	first, err := r.again(fresh(), t.Commit)
	if err != nil {
		return impure(in.looked, err.Error())
	}
	if len(first) == 0 {
		return nil
	}
	// Payloads may differ each time the code runs, from a clock or a map. That is a different mistake.
	second, err := r.again(fresh(), t.Commit)
	for _, command := range sortedKeys(first) {
		if err == nil && bytes.Equal(second[command], first[command]) {
			return impure(in.looked, "the input or the result of "+command+" differs")
		}
	}
	return nil
}

// again replays a commit that is next in a run, on a new instance. It returns the payloads that differ from the recorded ones, by the
// command.
func (r *Run) again(in *Instance, c *history.Commit) (differ map[string]history.Payload, err error) {
	defer in.Close()
	if err := r.CatchUp(in); err != nil {
		return nil, err
	}
	differ = map[string]history.Payload{}
	in.payloads = func(command string, recorded, now history.Payload) {
		if !bytes.Equal(recorded, now) {
			differ[command] = now
		}
	}
	return differ, in.Replay(c)
}

func impure(names []string, difference string) *failure.Failure {
	return &failure.Failure{Kind: failure.KindMisuse, Message: fmt.Sprintf(
		"%s changes the workflow's state: the code does something else when it runs again without it (%s). Validators and query handlers may "+
			"only look: change state in the update's handler. If it only looks, the workflow's code is not deterministic.",
		strings.Join(names, " or "), difference)}
}

// rehearse asks the validators of a task again, on another instance, up to the first that accepts. It returns the first difference.
func (r *Run) rehearse(in *Instance, w *Writer, task Task, t *Transition) string {
	defer in.Close()
	if err := r.CatchUp(in); err != nil {
		return err.Error()
	}
	in.rehearses = true
	again, err := r.activate(in, w, r.begin(w, task), task)
	if err != nil {
		return err.Error()
	}
	for i, u := range again.Updates {
		// Messages may differ: one may list a map.
		if got := t.Updates[i]; got.Verdict != u.Verdict {
			return fmt.Sprintf("update %q was %s, and is %s", task.Updates[i].Name, got.described(), u.described())
		}
		if u.Verdict == Accepted {
			break
		}
	}
	return ""
}

// described is a verdict for messages.
func (u UpdateResult) described() string {
	if u.Failure == nil {
		return "accepted"
	}
	return "refused: " + u.Failure.Message
}
