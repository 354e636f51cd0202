// Package locks shows handlers that wait, and must not interfere with each other meanwhile. A
// transfer holds the lock until the bank has answered. Look at transfer, and at what a Semaphore
// adds: at most two audits at once.
package locks

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is an account, with what can be done with it.
var (
	Workflow = workflow.NewWorkflow[int, int]("locks")
	Withdraw = workflow.NewUpdate[int, int]("locks.withdraw")
	Audit    = workflow.NewUpdate[workflow.None, int]("locks.audit")
	Close    = workflow.NewSignal[workflow.None]("locks.close")
	Confirm  = activity.New("locks.confirm", confirm)
)

// ErrTooLittle says that an account holds less than is to be withdrawn.
var ErrTooLittle = workflow.NewError("tooLittle", "the account holds too little")

// account is the state of one account.
type account struct {
	balance  int
	changing workflow.Mutex     // held while a change waits for the bank
	auditors workflow.Semaphore // one unit for each audit
	auditing int
}

// Run is the life of an account. It returns what is left.
func Run(ctx workflow.Context, balance int) (int, error) {
	a := &account{balance: balance, auditors: workflow.NewSemaphore(2)}
	Withdraw.Handle(ctx, a.withdraw)
	Audit.Handle(ctx, a.audit)
	if _, err := Close.Receive(ctx); err != nil {
		return a.balance, err
	}
	err := workflow.AwaitHandlers(ctx)
	return a.balance, err
}

// withdraw takes coins out if the account holds enough once it has the lock. The check and the
// change belong together, and the call to the bank is between them.
func (a *account) withdraw(ctx workflow.Context, coins int) (left int, err error) {
	if err := a.changing.Lock(ctx); err != nil {
		return 0, err
	}
	defer a.changing.Unlock(ctx)
	if a.balance < coins {
		return a.balance, ErrTooLittle
	}
	if _, err := Confirm.Run(ctx, coins); err != nil {
		return a.balance, err
	}
	a.balance -= coins
	return a.balance, nil
}

// audit returns how many audits are running.
func (a *account) audit(ctx workflow.Context, _ workflow.None) (int, error) {
	if err := a.auditors.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	defer a.auditors.Release(ctx, 1)
	a.auditing++
	defer func() { a.auditing-- }()
	together := a.auditing
	return together, workflow.Sleep(ctx, time.Hour)
}

func confirm(ctx context.Context, coins int) (activity.None, error) { return activity.None{}, nil }

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Withdraw, Audit, Close)), Confirm}
}
