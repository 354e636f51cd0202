// Package approval shows a call that takes days. An update submits an expense. A validator checks
// it, and it is durable as soon as it is accepted. Its outcome arrives when the manager has
// answered, or after two days without an answer. Look at the handler, which mails and waits like
// any function, and in the test at how callers ask for the outcome later.
package approval

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a manager's desk, with its update and its signals.
var (
	Workflow = workflow.NewWorkflow[workflow.None, int]("approval")
	HandIn   = workflow.NewUpdate[Expense, Decision]("approval.handIn")
	Answer   = workflow.NewSignal[Decision]("approval.answer")
	Retire   = workflow.NewSignal[workflow.None]("approval.retire")
	Mail     = activity.New("approval.mail", mail)
)

// Expense is a request for a refund.
type Expense struct {
	Who   string `json:"who"`
	Cents int    `json:"cents"`
}

// Decision is the manager's answer.
type Decision struct {
	Approved bool   `json:"approved"`
	Why      string `json:"why"`
}

// patience is how long an expense waits for its answer.
const patience = 48 * time.Hour

// ErrNothing is a refusal. ErrNoAnswer is the outcome of an expense without an answer.
var (
	ErrNothing  = workflow.NewError("nothing", "there is nothing to pay back")
	ErrNoAnswer = workflow.NewError("noAnswer", "nobody answered within two days")
)

// Run takes expenses, one at a time, until the manager retires. It returns how many were approved.
func Run(ctx workflow.Context, _ workflow.None) (approved int, err error) {
	var desk workflow.Mutex
	handIn := func(ctx workflow.Context, e Expense) (d Decision, err error) {
		if err := desk.Lock(ctx); err != nil {
			return d, err
		}
		defer desk.Unlock(ctx)
		if _, err := Mail.Run(ctx, e); err != nil {
			return d, err
		}
		late := false
		err = workflow.Select(ctx,
			workflow.OnSignal(Answer, func(answer Decision) { d = answer }),
			workflow.OnTimeout(patience, func() { late = true }))
		switch {
		case late:
			return d, ErrNoAnswer
		case d.Approved:
			approved++
		}
		return d, err
	}
	HandIn.Handle(ctx, handIn, workflow.Validate(func(e Expense) error {
		if e.Cents <= 0 {
			return ErrNothing
		}
		return nil
	}))
	if _, err := Retire.Receive(ctx); err != nil {
		return approved, err
	}
	err = workflow.AwaitHandlers(ctx)
	return approved, err
}

func mail(ctx context.Context, e Expense) (activity.None, error) { return activity.None{}, nil }

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(HandIn, Answer, Retire)), Mail}
}
