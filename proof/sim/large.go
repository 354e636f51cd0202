package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// echo is an update that returns its input.
var echo = workflow.NewUpdate[string, string]("echo")

// largeShare is the largest share of the smallest commit that a payload may have. It is the share
// in a deployment without a bucket, 256 KiB of 380 KiB, minus the rest of a commit, which takes a
// larger share of a small one.
const largeShare = 0.5

// largest returns the size of the largest payloads of a seed.
func (s *simulation) largest() int {
	least := 380 << 10
	for _, c := range append(slices.Clone(s.rollout.planned), s.rollout.now) {
		if c.maxCommit > 0 {
			least = min(least, c.maxCommit)
		}
	}
	return int(largeShare * float64(least))
}

// startLarge starts clients with large payloads: an update and its answer do not fit into one
// commit, and neither do two signals.
func (s *simulation) startLarge() {
	for i := range s.plan.workflows {
		id := fmt.Sprintf("w%d", i)
		if r, size := s.stream("large payloads of "+id), s.largest(); r.oneIn(5) && (size < 64<<10 || r.oneIn(4)) {
			s.large = true
			s.spawn(s.name("client of %s with large payloads", id), nil, func() { s.sendLarge(id, r, size) })
		}
	}
}

// sendLarge is the life of such a client.
func (s *simulation) sendLarge(id string, r *draws, size int) {
	for op := range 1 + r.IntN(4) {
		text := strings.Repeat("x", size-r.IntN(size/4))
		if r.oneIn(3) {
			s.signal(id, fmt.Sprintf("large-%d", op), text)
			continue
		}
		s.echo(id, fmt.Sprintf("large-%d", op), text)
	}
	s.readHistory(id)
}

// echo sends an update until its outcome is known. The update is never too large.
func (s *simulation) echo(id, updateID, text string) {
	input, _ := json.Marshal(text) // a text always encodes
	var answer *schema.UpdateResponse
	_, err := s.insist(s.name("echo %s of %s, %d bytes", updateID, id, len(text)), s.found(id, func(ctx context.Context, t edge.Service) (err error) {
		answer, err = t.Update(ctx, id, "", echo.Name(), schema.UpdateRequest{UpdateID: updateID, Input: input})
		return err
	}))
	switch {
	case err == nil && answer.Stage == schema.StageCompleted && answer.Failure == nil && string(answer.Result) != string(input):
		s.fail("echo %s of %s has %d bytes, and was answered with others", updateID, id, len(input))
	case err == nil && answer.Stage != schema.StageRejected:
		s.audit.told[id+"/"+updateID] = append(s.audit.told[id+"/"+updateID], answer)
	case err == nil:
		s.fail("echo %s of %s was rejected: %v", updateID, id, answer.Failure)
	case !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NotReady) && !errors.Is(err, refusal.UpdatesInFlight) && !isPaused(err):
		s.fail("echo %s of %s: %v", updateID, id, err)
	}
}

// earlierRecord is an earlier version's attempt record, which does not name its run.
var earlierRecord = newFault("weft: an earlier version wrote the record of an attempt",
	"AWS Lambda Developer Guide, function versions: environments of the version before finish their invocations while a deployment goes on, and what they "+
		"have written stays.", 0.15, 0.3)

// asEarlier returns a record in the form in which it is written. It uses the earlier form only in
// these conditions:
//   - No run is deleted, because such a record counts for the next run of the same number until it
//     expires.
//   - The record is the outcome of an attempt. The new version may overwrite a record without a run
//     at the same moment (store.Attempts), and so begin an attempt twice, or copy a message twice.
func (s *simulation) asEarlier(a store.Attempt) store.Attempt {
	if s.plan.maintenance || a.Number&(1<<recordBits-1) != 0 || !s.hits(earlierRecord) {
		return a
	}
	there, err := s.store.ReadAttempts(context.Background(), a.Workflow, a.Run)
	s.must(err)
	if !slices.ContainsFunc(there, func(t store.Attempt) bool { return t.Event == a.Event && t.Number >= a.Number }) {
		a.RunID = ""
		s.audit.attempts.unnamed[effort{workflow: a.Workflow, run: a.Run, event: a.Event}] = true
	}
	return a
}

// known is the result of a successful attempt, and the number of disturbances by then.
type known struct {
	attempt, disturbed, boots int
}

// calmSoFar returns the number of disturbances that may have lost a result. A queue that refuses
// the result is not one of them.
func (s *simulation) calmSoFar() int {
	return s.disturbed() - s.play(groupHot).count - s.play(groupQuota).count
}

// failedOnce records that an attempt is recorded as failed. If its message was delivered twice, the
// attempt may also have succeeded. The next attempt follows anyway, because activities run at least
// once (docs/semantics.md).
func (a *audit) failedOnce(r store.Attempt) {
	run := a.current[place{r.Workflow, r.Run}]
	if run == nil || r.Number&(1<<recordBits-1) != 0 {
		return
	}
	e := tried{string(run.State.RunID), r.Event}
	a.attempts.failed[e] = max(a.attempts.failed[e], r.Number>>recordBits)
	delete(a.attempts.known, e)
}

// knows records the result of an attempt, in a seed in which only a queue's quota may lose it. It
// does not expect the result of an attempt during which everything slept: the time in the record of
// the attempt had passed (decision 27).
func (a *audit) knows(info activity.Info) {
	if a.attempts.failed[tried{info.RunID, info.EventID}] >= info.Attempt {
		return
	}
	began, marked := a.attempts.marked[effort{info.WorkflowID, history.RunID(info.RunID).Number(), info.EventID, info.Attempt}]
	if marked && began != a.s.play(asleep).count {
		return
	}
	if p := a.s.plan; p.faults == 0 && p.slow == 0 && p.purgeAfter == 0 && (a.s.has(groupHot) || a.s.has(groupQuota)) {
		a.attempts.known[tried{info.RunID, info.EventID}] = known{info.Attempt, a.s.calmSoFar(), a.boots}
	}
}

// forgotten demands that no attempt follows a successful one, and that no successful one counts as
// interrupted.
func (a *audit) forgotten(run string, event int64, attempt int, what string) {
	k, ok := a.attempts.known[tried{run, event}]
	if ok && k.attempt <= attempt && k.disturbed == a.s.calmSoFar() && k.boots == a.boots {
		a.s.fail("%s: event %d of %s, attempt %d; attempt %d has a result, and it was thrown away", what, event, run, attempt, k.attempt)
	}
}
