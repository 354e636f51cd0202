// Package acts carries out the actions of batches, with the service of the process that runs a
// step.
package acts

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/batch/flow"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Deployment is a process of a deployment, as a step of a batch sees it.
type Deployment struct{ Service *executor.Service }

// List implements flow.Deployment. It costs what a page of the list does.
func (d Deployment) List(ctx context.Context, q flow.Query) (rows []flow.Row, next string, err error) {
	f, err := filter.Parse(q.Filter)
	if err != nil {
		return nil, "", failure.Newf("BadFilter", "%v", err).Final()
	}
	page, next, err := d.Service.Lists.Rows(ctx, f.Between(time.Time{}, q.Before).Program(stored.IDPrefix+q.Batch), q.Place, q.Limit)
	switch {
	case errors.Is(err, refusal.Invalid), errors.Is(err, refusal.NotFound):
		return nil, "", failure.Newf("BadList", "the list cannot be read: %v", err).Final()
	case err != nil:
		return nil, "", err
	}
	for i := range page {
		r := &page[i]
		rows = append(rows, flow.Row{Run: stored.Run{WorkflowID: r.Workflow, RunID: r.RunID, Type: r.Type}, Status: r.Status})
	}
	return rows, next, nil
}

// World implements flow.Deployment.
func (d Deployment) World() flow.World { return d.Service.Process.World }

// Act implements flow.Deployment. It costs what the same request costs by hand.
func (d Deployment) Act(ctx context.Context, a *stored.Action, on stored.Run, requestID string) flow.Outcome {
	do := actions[a.Kind]
	switch {
	case do == nil:
		return flow.Outcome{Verdict: flow.Refused, Reason: fmt.Sprintf("this version of Weft has no action %q", a.Kind)}
	case a.Kind.RunsCode() && d.Service.Process.Registry.Workflow(on.Type) == nil:
		return flow.Outcome{Verdict: flow.Refused, Reason: fmt.Sprintf(
			"the program that runs activities does not register workflow type %q, and the action runs its code: register it there, or act on the run by itself", on.Type)}
	}
	return outcome(d.try(ctx, do, a, on, requestID))
}

// errPanicked is the outcome of a request that panicked.
var errPanicked = errors.New("the request panicked: the log of the server says where")

// try carries out an action, also on a run that another build owns while a deployment is rolled
// out: nothing forwards what an activity does. If this build does not know what that one did, the
// run's task fails, and the owner tries it again. A panic, of a store say, is logged and returned
// as an error: it must not end the process.
func (d Deployment) try(ctx context.Context, do action, a *stored.Action, on stored.Run, requestID string) (err error) {
	defer func() {
		if value := recover(); value != nil {
			d.Service.Process.Options.Logger.ErrorContext(ctx, "an action of a batch panicked", "action", a.Kind, "workflowId", on.WorkflowID, "runId", on.RunID,
				"panic", observe.Panic(value), "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	return do(executor.Anywhere(ctx), d.Service, a, on, requestID)
}

// outcome says how an action went that returned err.
func outcome(err error) flow.Outcome {
	var r *refusal.Error
	switch {
	case err == nil:
		return flow.Outcome{}
	case errors.Is(err, refusal.NotFound), errors.Is(err, refusal.NothingToDo):
		return flow.Outcome{Verdict: flow.Already, Reason: err.Error()}
	case errors.As(err, &r) && errors.Is(err, refusal.NotReady):
		return flow.Outcome{Verdict: flow.Failed, Reason: notReady(r)}
	case !errors.As(err, &r), errors.Is(err, refusal.Busy), errors.Is(err, refusal.OutcomeUnknown), errors.Is(err, refusal.NotServing):
		return flow.Outcome{Verdict: flow.Again, Reason: err.Error()}
	case errors.Is(err, refusal.Internal):
		return flow.Outcome{Verdict: flow.Failed, Reason: err.Error()}
	}
	return flow.Outcome{Verdict: flow.Refused, Reason: err.Error()}
}

// notReady returns why a run whose code fails was not acted on: also where it fails, and never what
// a panic says that may hold a payload. A batch keeps its problems in plain sight.
func notReady(r *refusal.Error) string {
	if r.Failure == nil || r.Detail == r.Failure.Message {
		return r.Error()
	}
	return r.Kind.Title() + ": " + observe.Brief(r.Failure) + "; " + r.Detail
}

// action carries out one kind of action.
type action = func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, requestID string) error

var actions = map[stored.Kind]action{
	stored.Cancel: func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, _ string) error {
		c, err := s.Process.Parser().End(on.WorkflowID, history.RunID(on.RunID), a.Reason)
		if err != nil {
			return err
		}
		return s.Requests.Cancel(ctx, c)
	},
	stored.Terminate: func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, _ string) error {
		c, err := s.Process.Parser().End(on.WorkflowID, history.RunID(on.RunID), a.Reason)
		if err != nil {
			return err
		}
		return s.Requests.Terminate(ctx, c)
	},
	stored.Signal: func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, requestID string) error {
		c, err := s.Process.Parser().Signal(on.WorkflowID, history.RunID(on.RunID), a.Signal, &schema.SignalRequest{Input: a.Input, RequestID: requestID})
		if err == nil {
			_, err = s.Requests.Signal(ctx, c)
		}
		return err
	},
	stored.Reset: func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, requestID string) error {
		c, err := s.Process.Parser().Reset(on.WorkflowID, history.RunID(on.RunID), &schema.ResetRequest{
			To: a.To, Build: a.Build, Exclude: a.Exclude, Reason: a.Reason, RequestID: requestID,
		})
		if err == nil {
			_, err = s.Steering.Reset(ctx, c)
		}
		return err
	},
	stored.Delete: func(ctx context.Context, s *executor.Service, _ *stored.Action, on stored.Run, _ string) error {
		c, err := s.Process.Parser().Delete(on.WorkflowID, history.RunID(on.RunID))
		if err != nil {
			return err
		}
		return s.Maintenance.Delete(ctx, c)
	},
	stored.Retry: func(ctx context.Context, s *executor.Service, _ *stored.Action, on stored.Run, _ string) error {
		c, err := s.Process.Parser().Target(on.WorkflowID, history.RunID(on.RunID))
		if err == nil {
			err = s.Steering.RetryAll(ctx, c)
		}
		return err
	},
	stored.Pause: func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, requestID string) error {
		c, err := s.Process.Parser().Pause(on.WorkflowID, history.RunID(on.RunID), &schema.PauseRequest{Reason: a.Reason, RequestID: requestID})
		if err == nil {
			_, err = s.Steering.Pause(ctx, c)
		}
		return err
	},
	stored.Resume: func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, requestID string) error {
		c, err := s.Process.Parser().Resume(on.WorkflowID, history.RunID(on.RunID), &schema.PauseRequest{Reason: a.Reason, RequestID: requestID})
		if err == nil {
			_, err = s.Steering.Resume(ctx, c)
		}
		return err
	},
	stored.Move: func(ctx context.Context, s *executor.Service, a *stored.Action, on stored.Run, _ string) error {
		c, err := s.Process.Parser().Move(on.WorkflowID, history.RunID(on.RunID), &schema.MoveRequest{Build: a.Build, Unpin: a.Unpin})
		if err == nil {
			_, err = s.Steering.Move(ctx, c)
		}
		return err
	},
}
