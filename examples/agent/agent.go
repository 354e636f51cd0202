// Package agent shows an agent that works for a person and can be steered. It publishes its steps
// on a topic, which callers read as they come. Before it spends money it waits for an approval, and
// at any time it can be interrupted. Look at round: the person's updates are ordinary handlers that
// change what the loop waits for.
//
//   - The validator of decide refuses an answer to a question that is no longer asked, so a second
//     click or an old browser tab approves nothing.
//   - An interruption cancels thinking, searching and waiting. It does not cancel a booking.
//
// The program in server shows it on a page. The model is a script, so the example needs no network.
package agent

import (
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is the agent, with its topic and its updates. It returns what it has booked.
var (
	Workflow  = workflow.NewWorkflow[Goal, Report]("agent")
	Progress  = workflow.NewTopic[Step]("progress")
	Decide    = workflow.NewUpdate[Decision, workflow.None]("decide", workflow.Errors(ErrNotAsked, ErrNoReason))
	Interrupt = workflow.NewUpdate[Instruction, workflow.None]("interrupt", workflow.Errors(ErrNoInstruction, ErrDone))
)

// Goal is what a person wants.
type Goal struct {
	Text string `json:"text"`
}

// Report is the result of an agent.
type Report struct {
	Booked    string `json:"booked"`
	Questions int    `json:"questions"`
}

// Step is an item of the topic.
type Step struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
	// Question is the number of the question that is asked or answered.
	Question int `json:"question,omitzero"`
}

// Kind says what a step is.
type Kind string

// The kinds of steps.
const (
	Word       Kind = "word"       // the model is about to say something
	Thought    Kind = "thought"    // the model says what it does next
	Found      Kind = "found"      // a tool has returned something
	Asked      Kind = "asked"      // a person has to decide
	Approved   Kind = "approved"   // a person has approved
	Refused    Kind = "refused"    // a person has refused
	Instructed Kind = "instructed" // a person has interrupted
	Done       Kind = "done"       // this is the last step
)

// Decision answers a question.
type Decision struct {
	Question int  `json:"question"`
	Approve  bool `json:"approve"`
	// Reason says what to change. A refusal needs one.
	Reason string `json:"reason,omitzero"`
}

// Instruction changes what the agent works on.
type Instruction struct {
	Text string `json:"text"`
}

// Current is the question that is asked now.
type Current struct {
	// Question is 0 if nothing is asked.
	Question int `json:"question"`
}

// The reasons why an update is refused.
var (
	ErrNotAsked      = workflow.NewErrorOf[Current]("notAsked", "this question is not asked any more")
	ErrNoReason      = workflow.NewError("noReason", "say what to change")
	ErrNoInstruction = workflow.NewError("noInstruction", "say what to do instead")
	ErrDone          = workflow.NewError("done", "the agent is done")
)

// Run works until the goal is reached.
func Run(ctx workflow.Context, goal Goal) (Report, error) {
	a := &agent{talk: []Message{{Person, goal.Text}}}
	Decide.Handle(ctx, a.decide, workflow.Validate(a.canDecide))
	Interrupt.Handle(ctx, a.interrupt, workflow.Validate(a.canInterrupt))
	for a.report == nil {
		if err := a.round(ctx); err != nil {
			return Report{}, err
		}
	}
	return *a.report, workflow.AwaitHandlers(ctx)
}

// agent is the state of one agent.
type agent struct {
	talk []Message
	// stop ends the round.
	stop workflow.CancelFunc
	// questions is how many were asked. The last is open until it is decided.
	questions int
	open      bool
	approved  bool
	report    *Report
}

// round asks the model what to do next, and does it. It ends early if the person interrupts.
func (a *agent) round(ctx workflow.Context) error {
	round, stop := workflow.WithCancel(ctx)
	a.stop = stop
	defer stop()
	next, err := Think.Run(round, a.talk)
	if err == nil {
		Progress.Publish(ctx, Step{Kind: Thought, Text: next.Say})
		err = a.act(ctx, round, next)
	}
	if round.Err() != nil && ctx.Err() == nil {
		return nil // an instruction is the last message
	}
	return err
}

func (a *agent) act(ctx, round workflow.Context, next Move) error {
	switch next.Tool {
	case Search:
		found, err := Look.Run(round, next.Of)
		if err == nil {
			a.found(ctx, Search, found)
		}
		return err
	case Book:
		if approved, err := a.ask(ctx, round, next.Of); err != nil || !approved {
			return err
		}
		found, err := Buy.Run(ctx, next.Of) // not canceled by an interruption
		if err == nil {
			a.found(ctx, Book, found)
		}
		return err
	default:
		Progress.Publish(ctx, Step{Kind: Done, Text: next.Of})
		a.report = &Report{Booked: next.Of, Questions: a.questions}
		return nil
	}
}

func (a *agent) found(ctx workflow.Context, tool Role, text string) {
	a.talk = append(a.talk, Message{tool, text})
	Progress.Publish(ctx, Step{Kind: Found, Text: text})
}

// ask asks the person, and waits for the decision, however long that takes.
func (a *agent) ask(ctx, round workflow.Context, what string) (approved bool, err error) {
	a.questions++
	a.open, a.approved = true, false
	defer func() { a.open = false }()
	Progress.Publish(ctx, Step{Kind: Asked, Text: what, Question: a.questions})
	err = workflow.Await(round, func() bool { return !a.open })
	return a.approved, err
}

func (a *agent) canDecide(d Decision) error {
	switch {
	case !a.open:
		return ErrNotAsked.With(Current{})
	case d.Question != a.questions:
		return ErrNotAsked.With(Current{Question: a.questions})
	case !d.Approve && d.Reason == "":
		return ErrNoReason
	}
	return nil
}

func (a *agent) decide(ctx workflow.Context, d Decision) (workflow.None, error) {
	a.open, a.approved = false, d.Approve
	if d.Approve {
		Progress.Publish(ctx, Step{Kind: Approved, Question: d.Question})
	} else {
		a.talk = append(a.talk, Message{Person, d.Reason})
		Progress.Publish(ctx, Step{Kind: Refused, Text: d.Reason, Question: d.Question})
	}
	return workflow.None{}, nil
}

func (a *agent) canInterrupt(i Instruction) error {
	switch {
	case a.report != nil:
		return ErrDone
	case i.Text == "":
		return ErrNoInstruction
	}
	return nil
}

func (a *agent) interrupt(ctx workflow.Context, i Instruction) (workflow.None, error) {
	a.talk = append(a.talk, Message{Person, i.Text})
	Progress.Publish(ctx, Step{Kind: Instructed, Text: i.Text})
	a.stop()
	return workflow.None{}, nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Progress, Decide, Interrupt)), Think, Look, Buy}
}
