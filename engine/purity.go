package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Check finds out whether a validator or a query handler has changed the state of a workflow.
//
// Replay runs neither. If they only read, a replay without them has the same verdicts on later
// updates, and the same commit. If it does not, Check replays the run repeatedly, with them and
// without.
//
//   - They have changed state if the replays without them all differ from the task in the same way,
//     and those with them do not.
//   - Otherwise the code by itself does not do the same each time.
type Check struct {
	run        *Run
	looks      []look
	before     int // how many of the looks were made before the task
	inputs     map[int]history.Payload
	drawn      uint64
	writer     *Writer
	task       Task
	transition *Transition
	// try calls a function with a new instance of the run, which it closes. It returns false if
	// that has not ended in time, or there is no time left: the check then ends without a verdict.
	try func(fn func(in *Instance)) bool
}

// Finding is the result of a check.
type Finding struct {
	// Compared is set if there was something to compare, and a replay to compare it with.
	Compared bool
	// Impure says which validators or query handlers may have changed state, and how that shows, or
	// is nil.
	Impure *failure.Failure
	// WithoutPayloads is the text of Impure without payloads: it has no text of the code's own
	// errors.
	WithoutPayloads string
	// Varies is what differs between replays although no validator or query handler is the reason,
	// or empty. It has no payloads.
	Varies string
}

// NewCheck returns a check of a task that an instance has run, and of its transition. before is how
// many looks the instance had recorded before the task. The check copies what may change: a trial
// that hangs may continue to read when the run has grown.
func (r *Run) NewCheck(in *Instance, before int, w *Writer, task Task, t *Transition, try func(func(*Instance)) bool) *Check {
	return &Check{
		run: r.copied(), looks: slices.Clone(in.looks.calls), before: before, inputs: maps.Clone(in.looks.inputs), drawn: in.looks.drawn,
		writer: w, task: task, transition: t, try: try,
	}
}

// trial runs the task again on a new instance, with the recorded looks or without them, and returns
// what differs.
type trial func(in *Instance, with bool) differences

// differences are what differs between two runs of a task, by a name that has no payloads.
type differences map[string]difference

// difference is a value that is not the recorded one, and a text for the author. free is set if the
// value may differ each time, like that of a side effect.
type difference struct {
	value, text string
	free        bool
}

// failed is the name of the difference that a replay fails.
const failed = "which commands the code issues"

// failedBy returns the differences of a replay that fails.
func failedBy(err error) differences {
	return differences{failed: {value: err.Error(), text: "it fails: " + err.Error()}}
}

// Find runs the check.
func (c *Check) Find() Finding {
	t := c.transition
	if len(c.looks) == 0 || t.Failure != nil || t.Refused != nil {
		return Finding{}
	}
	var found Finding
	if c.before > 0 && len(c.task.Updates) > 0 && t.Task.Kind == history.Speculative {
		found = c.compare(lookedBy(c.looks[:c.before]), c.verdicts)
	}
	if found.Impure != nil || found.Varies != "" || t.Commit == nil {
		return found
	}
	commit := c.compare(lookedBy(c.looks), c.commit)
	commit.Compared = commit.Compared || found.Compared
	return commit
}

// order says which replays have the looks, after a first one without them has differed. It has no
// period, so that nothing that changes from one run of the code to the next fits it by chance.
var order = []bool{true, true, false, true, false, false, true, true, false, false, true, false, true, true, false}

// compare runs trials until they show whether the looks make a difference.
func (c *Check) compare(who []string, try trial) Finding {
	first, ok := c.replay(try, false)
	if !ok || len(first) == 0 {
		return Finding{Compared: ok}
	}
	suspects := maps.Clone(first)
	for _, with := range order {
		again, ok := c.replay(try, with)
		if !ok {
			return Finding{}
		}
		maps.DeleteFunc(suspects, func(name string, d difference) bool { return !again.fit(name, d.value, with) })
		if len(suspects) == 0 {
			return Finding{Compared: true, Varies: first.names()}
		}
	}
	name := sortedKeys(suspects)[0]
	what := fmt.Sprintf("%s changes the workflow's state: when the code runs again without it, ", strings.Join(who, " or "))
	return Finding{Compared: true, Impure: impure(what + suspects[name].text), WithoutPayloads: what + name + " differs"}
}

// names returns the names of the unexpected differences.
func (d differences) names() string {
	names := slices.DeleteFunc(sortedKeys(d), func(name string) bool { return d[name].free })
	return strings.Join(names, ", ")
}

// fit reports whether the differences of a replay are as expected if looks make a difference: the
// difference is there without them, and not with them.
func (d differences) fit(name, value string, with bool) bool {
	got, differs := d[name]
	if with {
		_, fails := d[failed]
		return !differs && !fails
	}
	return differs && got.value == value
}

// replay runs one trial. It returns false if that has not ended.
func (c *Check) replay(try trial, with bool) (differences, bool) {
	var made struct { // read only if the trial has ended: it may still set it
		differences differences
		ended       bool
	}
	ended := c.try(func(in *Instance) {
		in.RecordLooks(nil)
		made.differences, made.ended = try(in, with), true
	})
	if !ended || !made.ended {
		return nil, false
	}
	return made.differences, true
}

// catchUp replays the log, with these looks or without them.
func (c *Check) catchUp(in *Instance, with bool, looks []look) error {
	if with {
		in.looks.again = looks
	}
	return c.run.CatchUp(in)
}

// verdicts runs the validators of the task again, up to the first that accepts. It is a trial.
func (c *Check) verdicts(in *Instance, with bool) differences {
	if err := c.catchUp(in, with, c.looks[:c.before]); err != nil {
		return failedBy(err)
	}
	in.lookAgain(nil)
	in.rehearses = true
	again, err := c.run.activate(in, c.writer, c.run.begin(c.writer, c.task), c.task)
	if err != nil {
		return failedBy(err)
	}
	for i, u := range again.Updates {
		// Messages may differ: one may list a map.
		if was := c.transition.Updates[i]; was.Verdict != u.Verdict {
			name := c.task.Updates[i].Name
			text := fmt.Sprintf("update %q is %s, and it was %s", name, u.described(), was.described())
			return differences{fmt.Sprintf("the verdict on update %q", name): {value: strconv.Itoa(int(u.Verdict)), text: text}}
		}
		if u.Verdict == Accepted {
			break
		}
	}
	return nil
}

// commit replays the commit of the task. It is a trial.
func (c *Check) commit(in *Instance, with bool) differences {
	if err := c.catchUp(in, with, c.looks); err != nil {
		return failedBy(err)
	}
	found := differences{}
	compare := func(name, recorded, now string, free bool) {
		if recorded != now {
			found[name] = difference{now, name + " differs", free}
		}
	}
	in.looks.compare = compare
	if err := in.Replay(c.transition.Commit); err != nil {
		return failedBy(err)
	}
	for number, input := range in.looks.inputs {
		compare(fmt.Sprintf("the input of local activity %d of the run", number), string(c.inputs[number]), string(input), false)
	}
	compare("how many random numbers the code draws", strconv.FormatUint(c.drawn, 10), strconv.FormatUint(in.looks.drawn, 10), false)
	return found
}

// content returns the part of a command that is compared: its attributes.
func content(a history.Attributes) string {
	said := history.Said(a)
	if said == nil {
		return ""
	}
	body, _ := history.EncodeBody(said) // one that does not encode cannot be committed
	return string(body)
}

func impure(finding string) *failure.Failure {
	return &failure.Failure{
		Kind:    failure.KindMisuse,
		Message: finding + ". Validators and query handlers may only look: change state in the update's handler",
	}
}

// described returns a verdict for messages.
func (u UpdateResult) described() string {
	if u.Failure == nil {
		return "accepted"
	}
	return "refused: " + u.Failure.Message
}
