package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/cron"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/lock"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
)

// The policies of a start.
const (
	allowDuplicate           = "allowDuplicate"
	allowDuplicateFailedOnly = "allowDuplicateFailedOnly"
	rejectDuplicate          = "rejectDuplicate"

	conflictFail      = "fail"
	useExisting       = "useExisting"
	terminateExisting = "terminateExisting"
)

// Start starts a run, or finds the one that an earlier sending of the same request started. The run is in the log when
// Start returns nil.
func (s *Service) Start(ctx context.Context, r api.StartRequest) (*api.StartResponse, error) {
	return s.startWatching(ctx, r, nil)
}

// startWatching is Start. It watches the run from its start on, if it starts one that does not close at once and watched is not nil.
func (s *Service) startWatching(ctx context.Context, r api.StartRequest, watched *lock.Watch) (*api.StartResponse, error) {
	made := r.WorkflowID == nil && r.RequestID == ""
	if r.WorkflowID == nil {
		r.WorkflowID = s.makeWorkflowID(r.RequestID)
	}
	started, err := s.checkStart(ctx, &r)
	if err != nil {
		return nil, err
	}
	answer := &api.StartResponse{WorkflowID: *r.WorkflowID}
	err = s.request(ctx, *r.WorkflowID, func(ctx context.Context, t *session) error {
		err := t.start(ctx, &r, started, made, answer)
		if run := t.run(); err == nil && answer.Started && run != nil && run.State.RunID == answer.RunID && !run.State.Status.Closed() {
			t.watched = watched
		}
		return err
	})
	return answer, err
}

// makeWorkflowID makes the id of a workflow whose starter gave none. It follows from the request's id, where there is
// one, so that the request finds its run when it is sent again.
func (s *Service) makeWorkflowID(requestID string) *string {
	random := s.world.ID()
	if requestID != "" {
		sum := sha256.Sum256([]byte(requestID))
		random = [16]byte(sum[:16])
	}
	id := "w-" + hex.EncodeToString(random[:])
	return &id
}

// checkStart refuses a start that cannot be, and returns the event that one which can opens its run with.
func (s *Service) checkStart(ctx context.Context, r *api.StartRequest) (*history.WorkflowExecutionStarted, error) {
	if err := checkIDs(*r.WorkflowID, ""); err != nil {
		return nil, err
	}
	requestID, err := s.requestID(r.RequestID)
	if err != nil {
		return nil, err
	}
	workflow := s.registry.Workflow(r.Type)
	switch {
	case r.Type == "":
		return nil, api.Invalid.New("the type is missing: give one of %q", s.registry.WorkflowNames())
	case workflow == nil:
		return nil, api.Invalid.New("there is no workflow type %q: give one of %q", r.Type, s.registry.WorkflowNames())
	}
	retry, err := s.checkTimes(r)
	if err != nil {
		return nil, err
	}
	if err := checkPolicies(r); err != nil {
		return nil, err
	}
	if err := s.checkCarried(r, workflow); err != nil {
		return nil, err
	}
	build := ""
	if workflow.Pinned {
		build = s.options.Build
	}
	return &history.WorkflowExecutionStarted{
		Build: build, WorkflowType: r.Type, Input: history.Payload(r.Input), RequestID: requestID, RunTimeout: history.Duration(r.RunTimeout),
		StartDelay: history.Duration(r.StartDelay), TraceParent: s.Observed().TraceParent(ctx),
		Memo: r.Memo, SearchAttributes: r.SearchAttributes, Header: r.Header, Retry: retry, Cron: r.Cron, ExecutionTimeout: history.Duration(r.ExecutionTimeout),
		MaxPayload: s.options.Engine.Largest(), Retention: history.Duration(s.options.Retention),
	}, nil
}

// checkPolicies refuses a start whose policies there are not, or contradict each other.
func checkPolicies(r *api.StartRequest) error {
	switch r.IDReusePolicy {
	case "", allowDuplicate, allowDuplicateFailedOnly, rejectDuplicate:
	default:
		return api.Invalid.New("there is no idReusePolicy %q: give %s, %s or %s", r.IDReusePolicy, allowDuplicate, allowDuplicateFailedOnly, rejectDuplicate)
	}
	switch r.IDConflictPolicy {
	case "", conflictFail, useExisting, terminateExisting:
	default:
		return api.Invalid.New("there is no idConflictPolicy %q: give %s, %s or %s", r.IDConflictPolicy, conflictFail, useExisting, terminateExisting)
	}
	if r.IDReusePolicy == rejectDuplicate && r.IDConflictPolicy == terminateExisting {
		return api.Invalid.New("the idReusePolicy %s has an id used once, and the idConflictPolicy %s would use it again: leave one of them out", rejectDuplicate, terminateExisting)
	}
	return nil
}

// checkCarried refuses a start with an input, a header, a memo or search attributes that its run could not carry.
func (s *Service) checkCarried(r *api.StartRequest, workflow *engine.Workflow) error {
	if err := s.checkPayload(r.Input); err != nil {
		return err
	}
	switch err := workflow.CheckInput(history.Payload(r.Input)); {
	case errors.Is(err, api.Invalid):
		return err // of a workflow of Weft's own, which callers do not know as one
	case err != nil:
		return api.Invalid.New("the input does not decode as the input of workflow type %q: %v", r.Type, err)
	}
	if err := engine.CheckHeader(r.Header); err != nil {
		return api.Invalid.New("%v", err)
	}
	if err := (engine.Shown{Memo: r.Memo, SearchAttributes: r.SearchAttributes}).Check(); err != nil {
		return api.Invalid.New("%v", err)
	}
	return nil
}

// checkTimes refuses a start whose times cannot be, and returns its retry policy with the defaults filled in, if it has one.
func (s *Service) checkTimes(r *api.StartRequest) (*history.RetryPolicy, error) {
	switch {
	case r.RunTimeout < 0:
		return nil, api.Invalid.New("the runTimeout is negative: give a duration such as \"1h30m\", or none")
	case r.ExecutionTimeout < 0:
		return nil, api.Invalid.New("the executionTimeout is negative: give a duration such as \"1h30m\", or none")
	case r.StartDelay < 0:
		return nil, api.Invalid.New("the startDelay is negative: give a duration such as \"10m\", or none")
	case r.RunTimeout > 0 && time.Duration(r.RunTimeout) < time.Millisecond:
		return nil, api.Invalid.New("the runTimeout is below a millisecond: give a duration such as \"1h30m\"")
	case r.ExecutionTimeout > 0 && time.Duration(r.ExecutionTimeout) < time.Millisecond:
		return nil, api.Invalid.New("the executionTimeout is below a millisecond: give a duration such as \"1h30m\"")
	case r.Cron != "" && r.StartDelay > 0:
		return nil, api.Invalid.New("a start with a cronSchedule waits for its first moment: leave the startDelay out")
	}
	if err := s.checkCron(r.Cron); err != nil || r.Retry == nil {
		return nil, err
	}
	p, err := engine.CompleteRetry(*r.Retry.History())
	if err != nil {
		return nil, api.Invalid.New("the retryPolicy cannot be: %v", err)
	}
	return &p, nil
}

// checkCron refuses a cron expression that cannot be read, or names no moment.
func (s *Service) checkCron(expression string) error {
	if expression == "" {
		return nil
	}
	schedule, err := cron.Parse(expression)
	if err != nil {
		return api.Invalid.New("the cronSchedule: %v", err)
	}
	if schedule.Next(s.world.Now()).IsZero() {
		return api.Invalid.New("the cronSchedule %q names no moment in the next years", expression)
	}
	return nil
}

// start opens the next run of the workflow. A start takes the highest number that is physically there, plus one: it has
// to read first. Only an id that was made for this request can have no runs.
func (t *session) start(ctx context.Context, r *api.StartRequest, started *history.WorkflowExecutionStarted, made bool, answer *api.StartResponse) error {
	if !made && !t.view.Fresh {
		if err := t.view.Refresh(ctx); err != nil {
			return err
		}
	}
	replaced, err := t.room(ctx, r, started.RequestID, answer)
	if err != nil || answer.RunID != "" {
		return err
	}
	_, _, err = t.open(ctx, replaced, answer, engine.Task{Brought: []history.Event{history.Of(started)}})
	return err
}

// room says whether there is room for another run: replaced is the one that is open and to be terminated. The run that an earlier
// sending of the same start opened, or one that is to be used in its place, is in the answer.
func (t *session) room(ctx context.Context, r *api.StartRequest, requestID string, answer *api.StartResponse) (replaced *engine.Run, err error) {
	latest := t.run()
	if latest == nil {
		return nil, nil
	}
	if answer.RunID, err = t.sameStart(ctx, latest, requestID); err != nil || answer.RunID != "" {
		return nil, err
	}
	if latest.State.Status.Closed() {
		return nil, mayReuse(latest, r.IDReusePolicy)
	}
	return t.mayReplace(latest, r.IDConflictPolicy, answer)
}

// open opens a run with a task, and terminates the one that it replaces, if any, in the same put. Without triggers, a request
// brought the task.
func (t *session) open(ctx context.Context, replaced *engine.Run, answer *api.StartResponse, task engine.Task, triggers ...*engine.Message) (*engine.Run, *engine.Transition, error) {
	random := t.world.ID()
	id := history.NewRunID(t.view.Highest+1, [8]byte(random[:8]))
	opening, transition := t.opening(ctx, id, 0, task, triggers...)
	if transition.Refused != nil {
		t.discard()
		return nil, nil, api.Invalid.New("%v", transition.Refused)
	}
	opened := opening[0].run
	var changes []*change
	if replaced != nil {
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: "another run was started with idConflictPolicy terminateExisting", ReplacedBy: id})
		changes = append([]*change{{run: replaced, commit: replaced.End(t.writer(), end)}}, opening...)
	} else {
		changes = append(t.beside(), opening...)
	}
	if err := t.inOrder(ctx, changes, triggers); err != nil {
		return nil, nil, err
	}
	t.settle(opened, transition)
	answer.RunID, answer.Started = id, true
	return opened, transition, nil
}

// opening makes the first commit of a new run, and runs its first task with that, if it is not to wait. One that waits begins
// at the moment at which the run before it closed, if there is one. What opens it may take several commits: one put has them all.
func (t *session) opening(ctx context.Context, id history.RunID, closed history.Timestamp, task engine.Task, triggers ...*engine.Message) ([]*change, *engine.Transition) {
	t.code.Drop() // of the run before
	run := engine.NewRun(t.workflowID, id.Number())
	writer := func() *engine.Writer {
		w := t.writer(triggers...)
		w.RunID, w.Now = id, max(w.Now, closed) // the clock of another process may be behind
		return w
	}
	w := writer()
	started := engine.Delayed(task.Brought[0].Attributes.(*history.WorkflowExecutionStarted), w)
	task.Brought[0] = history.Of(started)
	if started.StartDelay == 0 {
		transition := t.code.FirstStep(ctx, run, w, task)
		if transition.Refused != nil {
			return nil, transition
		}
		opened := &change{run: run, commit: transition.Commit}
		if transition.Next == nil && t.fit(opened) {
			return []*change{opened}, transition
		}
		// It goes on in another run at once, and one put opens one run; or what its first task writes does not fit beside what opens
		// it. A message runs that task.
		t.code.Drop()
		w = writer()
	} else if closed != 0 {
		w.Now = closed // from which the delay counts
	}
	held := t.held(run, w, task.Brought)
	return held, &engine.Transition{Commit: held[0].commit}
}

// held makes the commits that open a run whose first task waits: one, or as many as hold the signals that come with it.
func (t *session) held(run *engine.Run, w *engine.Writer, brought []history.Event) []*change {
	whole := &change{run: run, commit: run.Hold(w, brought)}
	if len(brought) == 1 || t.fit(whole) {
		return []*change{whole}
	}
	var all []*change
	draft := engine.NewRun(run.WorkflowID, run.Number)
	for len(brought) > 0 {
		n := t.together(brought)
		c := &change{run: run, commit: draft.Hold(w, brought[:n]), folds: true}
		t.fit(c)
		if err := draft.Append(c.commit, len(c.body)); err != nil {
			return []*change{whole} // which is too large, and so does not land
		}
		all, brought = append(all, c), brought[n:]
		next := *w
		next.Commit, w = t.world.ID(), &next
	}
	return all
}

// together is how many of these events, at least one, a commit has a place for.
func (t *session) together(events []history.Event) int {
	size := 0
	for n, e := range events {
		body, err := history.EncodeBody(e)
		if size += len(body); n > 0 && (err != nil || size > t.options.MaxCommit/16*15) {
			return n
		}
	}
	return len(events)
}

// sameStart returns the run that an earlier sending of the same start opened: the latest, or the one before it. A void run is none.
func (t *session) sameStart(ctx context.Context, latest *engine.Run, requestID string) (history.RunID, error) {
	if latest.State.Started.RequestID == requestID {
		return cmp.Or(latest.State.Started.FirstRunID, latest.State.RunID), nil
	}
	before, err := t.view.RunBefore(ctx, t.workflowID, latest.Number)
	if err != nil || before == nil {
		return "", err
	}
	if started := before.Opens(); started != nil && started.RequestID == requestID {
		return cmp.Or(started.FirstRunID, before.RunID), nil
	}
	return "", nil
}

func mayReuse(latest *engine.Run, policy string) error {
	status := latest.State.Status
	if policy == rejectDuplicate || policy == allowDuplicateFailedOnly && status == history.Completed {
		return api.AlreadyUsed.New("workflow %q has run before (run %q is %s), and the idReusePolicy is %s", latest.WorkflowID, latest.State.RunID, status, policy)
	}
	return nil
}

// mayReplace says what becomes of an open run that stands in the way of a start.
func (t *session) mayReplace(latest *engine.Run, policy string, answer *api.StartResponse) (*engine.Run, error) {
	switch policy {
	case useExisting:
		answer.RunID = latest.State.RunID
		return nil, nil
	case terminateExisting:
		return latest, nil
	}
	return nil, api.AlreadyOpen.New("run %q of workflow %q is open: wait for it, use another workflowId, or give an idConflictPolicy", latest.State.RunID, latest.WorkflowID)
}

// warn reports what an author probably did not mean. It is called after the commit has landed.
//
//   - A signal waits of a name that no code has asked for.
//   - A signal was set aside. One that is refused is not: its sender gets the reason.
//   - Update handlers ran when the run closed: their callers are told that the run closed first.
func (t *session) warn(run *engine.Run, transition *engine.Transition) {
	for _, name := range transition.Unhandled {
		t.Observed().Observe(context.Background(), &observe.Unhandled{Run: runner.Ident(run, "", nil), Signal: name})
		t.options.Logger.Info("a signal waits: the workflow's code has not asked for signals of its name", "workflowId", t.workflowID, "signal", name)
	}
	for _, s := range transition.SetAside {
		t.options.Logger.Warn("a signal was set aside: its value does not decode",
			"workflowId", t.workflowID, "runId", transition.Commit.RunID, "signal", s.Name, "count", s.Count, "want", s.Want)
	}
	if len(transition.Unfinished) > 0 {
		t.options.Logger.Warn("a run closed while update handlers ran: call workflow.AwaitHandlers before returning",
			"workflowId", t.workflowID, "handlers", transition.Unfinished)
	}
}
