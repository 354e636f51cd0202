//go:build !race

package sim

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// mutants are all breaks of the protocol that the simulation must find.
var mutants = slices.Concat(coreMutants, expiryMutants, readMutants, codeMutants, attemptMutants, pauseMutants, sizeMutants, worldMutants, outageMutants, batchMutants, waitMutants, notifyMutants, gradualMutants)

// coreMutants break the protocol between log and queues. The other lists are beside the faults that
// find them.
var coreMutants = []mutant{
	{
		name: "the condition of the put is dropped", file: "store/memory/memory.go",
		old: "r := s.workflows[item.Workflow].at(item.Key); r != nil && (", new: "r := s.workflows[item.Workflow].at(item.Key); r != nil && false && (",
	},
	{
		name: "a message is acknowledged before what follows from it is sent", file: "internal/worker/worker.go",
		old: "done := handle(ctx, part)", new: "for _, d := range part {\n_ = p.Receiver.Delete(ctx, name, d.Receipt)\n}\ndone := handle(ctx, part)",
	},
	{
		name: "the children of a run that closes are left to themselves", file: "engine/closing.go", hint: 40,
		old: "for _, id := range children {", new: "for _, id := range children[:0] {",
	},
	{
		name: "code does not wait for the end of what it canceled", file: "engine/activity.go",
		old: "	if !a.wait {", new: "	if a.asked {", more: true,
	},
	{
		name: "the list does not follow what code shows", file: "engine/row.go",
		old: " || !r.Visibility(c).Equal(r.State.Visibility)", new: "",
	},
	{
		name: "the list does not follow the facts of a run", file: "engine/row.go", more: true,
		old: " || !r.Facts(c).Equal(r.State.Facts())", new: "",
	},
	{
		name: "a run is stuck after a task that has succeeded", file: "engine/streak.go", more: true,
		old: "	case c.Task == nil:\n", new: "	case c.Task == nil || c.Task.Failure == nil:\n",
	},
	{
		name: "the list does not say that a run is paused", file: "engine/facts.go", more: true,
		old: "		after.pausedAfter(c)\n", new: "",
	},
	{
		name: "a run that continues another begins without what that showed", file: "engine/chain.go",
		old: "		next.Memo, next.SearchAttributes = visibility.Memo, visibility.SearchAttributes\n", new: "		_ = visibility\n", more: true,
	},
	{
		name: "a parent is not told how its child ended", file: "engine/closing.go", hint: 22,
		old: "o.add(NotifyParent, 0)", new: "_ = o",
	},
	{
		name: "what a message did to another workflow is not repaired", file: "internal/executor/inbox/repair.go",
		old: "	if run == nil {\n		return nil\n	}\n	trigger := Foreign(m)\n", new: "	if true || run == nil {\n		return nil\n	}\n	trigger := Foreign(m)\n",
	},
	{
		name: "the instance is kept after an activation that was discarded", file: "internal/executor/session/session.go", hint: 1517,
		old: "	if t.Code.Tainted {\n		t.Forget()\n	} else {\n		t.Code.Drop()\n	}", new: "",
		guard: "t.Code.IsAhead(t.Run())",
	},
	{
		name: "a request commits, and then sends", file: "internal/executor/session/commit.go",
		old: "	if err == nil && len(triggers) == 0 {\n		err = t.sendBefore(ctx, changes)\n	}\n	if err == nil {\n		err = t.Put(ctx, changes)\n	}\n",
		new: "	if err == nil {\n		err = t.Put(ctx, changes)\n	}\n	if err == nil && len(triggers) == 0 {\n		err = t.sendBefore(ctx, changes)\n	}\n",
	},
	{
		name: "what was done before is deleted without repair", file: "internal/executor/inbox/repair.go", hint: 17,
		old: "return SendOwed(ctx, t, run, []*engine.Message{m})", new: "return nil",
	},
	{
		name: "a message whose commit does not come is deleted without a fence", file: "internal/executor/deliveries/handle.go", hint: 15,
		old: "			fenced, err := fence(ctx, s.Process, d.Message)\n			if fenced || err != nil {\n				return err\n			}\n			continue // what stands in the slot decides",
		new: "			return nil",
	},
	{
		name: "an answer without a write rests on what the cache knows", file: "internal/executor/session/retry.go",
		old: "	if t.View.Fresh {\n		return err\n	}", new: "	if t.View.Fresh || t.View.Known.Run != nil {\n		return err\n	}", more: true,
	},
	staleQuery,
	{
		name: "while a put's outcome is unknown, another is tried", file: "internal/executor/session/commit.go", test: "TestLinearizable",
		old: "			unknown = true\n", new: "			return outcome.ErrLost\n", more: true,
	},
	{
		name: "a build runs the code of a run that is pinned to another", file: "internal/executor/commit/builds.go",
		old: "	if !IsPinnedElsewhere(t, run) {\n", new: "	if true {\n",
	},
	{
		name: "a local activity runs before its update is accepted", file: "internal/executor/runner/local.go", hint: 15,
		old: "l.speculative && !a.Speculative || ", new: "",
	},
	{
		name: "the timer of a local activity wakes nobody", file: "engine/local.go",
		old: "l.timer.fired = func() { l.timer = nil }", new: "l.timer.fired = func() {}", more: true,
	},
	{
		name: "a signal that is sent again arrives again", file: "internal/executor/requests/signal.go",
		old: "		case run.State.Signaled(requestID):\n			return t.RequireFresh(ctx, nil)\n", new: "", more: true,
	},
	{
		name: "an attempt that was run inline is taken for another chain's", file: "internal/executor/attempts/record.go",
		old: "return r.By == m.Send || m.Seen > 0 && m.Attempt == 1", new: "return r.By == m.Send", more: true,
	},
	{
		name: "what the run before has left unsent is not sent again", file: "internal/executor/inbox/repair.go",
		old: "return t.Process.Outbox.Send(ctx, next.OwedFirst(m))", new: "return nil", more: true,
	},
	{
		name: "an update that the run before knows is accepted again", file: "internal/executor/requests/propose.go",
		old: "known := c.runID == \"\" && before.State.Updates[c.request.ID] != nil", new: "known := false", more: true,
	},
	{
		name: "an attempt that another chain has recorded ends both", file: "internal/executor/activities/nextattempt.go",
		old: "	if kept.LastFailed == next.Attempt-1 && kept.IsBy(m) {", new: "	if false {", more: true,
	},
	{
		name: "copies claim that their causation id has been repaired", file: "internal/executor/activities/activity.go",
		old: "	m.Attempt, m.Due, m.Sent = number, due, 0", new: "	m.Attempt, m.Due, m.Sent = number, due, 0\n	m.Seen = 1 << 30", more: true,
	},
	{
		name: "a batch that was sent in part counts as sent", file: "internal/executor/outbox/outbox.go",
		old: "			return outcome.OfQueue(\"send to \"+b.queue, err)\n", new: "			continue\n", more: true,
	},
	{
		name: "a reset puts, and sends nothing", file: "internal/executor/requests/reset.go",
		old: "	err = t.Process.Outbox.Send(ctx, messages)\n", new: "	_ = messages\n", more: true,
	},
	{
		name: "a reset that is sent again resets again", file: "internal/executor/requests/reset.go",
		old: "if run.State.Reset.RequestID == requestID {", new: "if false {", more: true,
	},
	{
		name: "a reset forgets the updates that have completed", file: "engine/events.go",
		old: "if !r.admitted[a.SequencingEventID] {", new: "if false {", more: true,
	},
	{
		name: "a cancellation comes before the results of its own task", file: "engine/events.go",
		old: "		in.cancel = a\n", new: "		in.root.Cancel(a.Reason)\n", more: true,
	},
	{
		name: "an activity of a task queue is sent to the default one", file: "internal/executor/outbox/message.go", hint: 14,
		old: "return queue.ForTasks(m.TaskQueue), \"\"", new: "return queue.Activities, \"\"",
	},
	{
		name: "an activity of a task queue is run inline", file: "internal/executor/activities/inline.go",
		old: "a.TaskQueue != \"\" || c.of.Activity.TaskQueue != \"\" || ", new: "", more: true,
	},
	{
		name: "a run is deleted that has closed only now", file: "internal/executor/maintenance/erase.go",
		old: "	case s.Timestamp() < ready:\n", new: "	case false:\n", more: true,
	},
	{
		name: "the moment of a cron expression after the end of the chain is taken", file: "engine/chain.go",
		old: "	if next.ExecutionDeadline != 0 && at >= next.ExecutionDeadline {", new: "	if false {", more: true,
	},
	{
		name: "a body that could not be offloaded counts as put", file: "internal/codec/offload.go",
		old: "if err := s.blobs.Put(ctx, s.key(place, sum[:]), encoded); err != nil {", new: "if err := s.blobs.Put(ctx, s.key(place, sum[:]), encoded); err != nil && false {", more: true,
	},
	{
		name: "what waits for its slot is not sent again", file: "internal/executor/activities/rate.go",
		old: "	return nil, Replace(ctx, t, run, w, m)\n", new: "	_ = engine.Message(m)\n	return nil, nil\n", more: true,
	},
	{
		name: "runs of a schedule overlap", file: "internal/schedule/machine.go", hint: 13,
		old: "	if m.Open == 0 && len(m.Buffer) == 0 || r.Overlap", new: "	if m.Open <= 1 && len(m.Buffer) == 0 || r.Overlap",
	},
	{
		name: "a schedule that goes on in another run forgets what is open", file: "internal/schedule/flow/flow.go",
		old: "	quiet := len(f.Running) == 0 ||", new: "	quiet := true ||", more: true,
	},
	{
		name: "a schedule that goes on in another run forgets where it was", file: "internal/schedule/flow/flow.go",
		old: "			return Workflow.ContinueAsNew(ctx, f.State)\n", new: "			f.Last = time.Time{}\n			return Workflow.ContinueAsNew(ctx, f.State)\n", more: true,
	},
	{
		name: "a schedule that goes on in another run forgets what is to be started next", file: "internal/schedule/flow/flow.go",
		old: "	f.Running = nil // those", new: "	f.Running, f.Machine.Open = nil, 0 // those", more: true,
	},
	{
		name: "what is sent again goes on with one causation id", file: "internal/executor/outbox/outbox.go",
		old: "			m.CausationID = history.CausationID(m.Send)\n", new: "			m.CausationID = 1\n", more: true,
	},
	{
		name: "moments come while a schedule is paused", file: "internal/schedule/flow/flow.go",
		old: "	return !f.Schedule.Paused && ", new: "	return ", more: true,
	},
	{
		name: "moments that came while a schedule was paused come at its end", file: "internal/schedule/flow/handlers.go",
		old: "now.After(f.Last) {", new: "now.After(f.Last) && f.Last.IsZero() {", more: true,
	},
	{
		name: "moments that come together with a pause are left out", file: "internal/schedule/flow/handlers.go",
		old: "	if !f.Schedule.Paused {\n		if f.catchUp() {", new: "	if false {\n		if f.catchUp() {", more: true,
	},
	{
		name: "a moment begins however late it is", file: "internal/schedule/flow/flow.go",
		old: "window := time.Duration(f.Schedule.CatchUpWindow); window > 0 {", new: "window := time.Duration(f.Schedule.CatchUpWindow); window < 0 {", more: true,
	},
	{
		name: "a moment that came while a run was open is late", file: "internal/schedule/flow/flow.go",
		old: "return idle || !open && now", new: "return idle || now", more: true,
	},
	{
		name: "a moment is looked at twice", file: "internal/schedule/flow/flow.go",
		old: "			last = moment.At\n", new: "			last = moment.At.Add(-time.Second)\n", more: true,
	},
	{
		name: "a trigger is lost", file: "internal/schedule/flow/handlers.go",
		old: "	f.arrive(stored.Run{At: now, WorkflowID: id, Overlap: f.policy(r.Overlap)})\n", new: "	_ = id\n", more: true,
	},
	{
		name: "the first moment of a backfill is left out", file: "internal/schedule/flow/handlers.go",
		old: "	for _, m := range found.All {", new: "	for _, m := range found.All[min(1, len(found.All)):] {", more: true,
	},
	{
		name: "a run is not ended in whose place another is to be", file: "internal/schedule/flow/runs.go",
		old: "		if d.Cancel || d.Terminate {\n", new: "		if false {\n", more: true,
	},
	{
		name: "the runs of a schedule end with it", file: "internal/schedule/flow/runs.go",
		old: "ParentClosePolicy: workflow.AbandonChild", new: "ParentClosePolicy: workflow.TerminateChild", more: true,
	},
	{
		name: "a run that fails does not pause its schedule", file: "internal/schedule/flow/runs.go",
		old: "	if pauses {\n", new: "	if false && pauses {\n", more: true,
	},
	{
		name: "runs wait, and nobody starts them", file: "internal/schedule/machine.go",
		old: "	if len(m.Buffer) > 0 {\n		m.Open = 1\n", new: "	if len(m.Buffer) > 1 {\n		m.Open = 1\n", more: true,
	},
	{
		name: "nobody looks after an attempt that goes on outside", file: "internal/executor/activities/pending.go",
		old: "			return s.Outbox.Send(ctx, []engine.Message{watch(s, w, kept)})\n", new: "			return nil\n", more: true,
	},
}

// TestMutantsFit demands that the product still has all pieces that the mutants break, including
// the mutants that only `make sim-mutants` plays.
func TestMutantsFit(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(m.file)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.broken(string(source)); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
