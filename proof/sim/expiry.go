package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/store"
)

var (
	retentionChanged = newFault("weft: the retention is changed",
		"AWS Lambda Developer Guide, environment variables: a deployment that changes one gives new execution environments the new value, while "+
			"environments that are there go on with the old one.", 0.3, 0.5)
	unreadable = newFault("weft: a timer cannot be read",
		"AWS KMS Developer Guide, key states: a key that is disabled or pending deletion decrypts nothing until it is enabled again. The same is "+
			"seen by an older build during a deployment.", 0.3, 0.2)
	leftRecords = newFault("dynamodb: records of a run that had the number before",
		"Amazon DynamoDB Developer Guide, using time to live (TTL): items are deleted one by one and in no order, so that what belongs together goes at different "+
			"times.", 0.3, 1)
)

// retentionOf returns the retention of a process that starts.
func (s *simulation) retentionOf() time.Duration {
	if s.hits(retentionChanged) {
		return []time.Duration{3 * time.Hour, 8 * time.Hour, 20 * time.Hour}[s.of(retentionChanged).IntN(3)]
	}
	return retention
}

// overwritten forgets the run of which an item replaces a commit, or that is void. A run that is
// being deleted may be replaced in its first slot: a start that finds a part of it makes its number
// void (executor/commit.beside). A run that has closed is deleted by a void commit in its last
// slot.
func (a *audit) overwritten(item store.Item, c *history.Commit) {
	at := place{item.Workflow, item.Run}
	run := a.current[at]
	switch {
	case run != nil && run.Void():
		delete(a.current, at)
	case item.Over == ([16]byte{}):
	case c.Status != history.Void:
		a.s.fail("%s takes the place of another commit, and is not void", item.Key)
	case run != nil && !a.going[run] && item.Slot+1 < run.State.NextSlot:
		a.s.fail("%s takes the place of a commit of a run that is neither void nor being deleted", item.Key)
	default:
		a.deleted(store.Item{Key: item.Key, Commit: item.Over})
		if delete(a.current, at); item.Slot > 0 || run != nil && run.State.NextSlot == 1 {
			a.s.list.changed(at, nil)
		}
	}
}

// placed returns a commit as the audit folds it. A void commit stands for its run, in whichever
// slot it is.
func placed(c *history.Commit) *history.Commit {
	if c.Status != history.Void {
		return c
	}
	first := *c
	first.Slot = 0
	return &first
}

// stranger is an earlier run that had the number 1.
const stranger = "1-00000000000000aa"

// leaveRecords leaves attempt records of earlier runs with the number 1.
func (s *simulation) leaveRecords() {
	if !s.hits(leftRecords) {
		return
	}
	r := s.of(leftRecords)
	body, err := history.EncodeBody(map[int]any{})
	s.must(err)
	for i := range s.plan.workflows {
		for event := range int64(40) {
			s.must(s.store.RecordAttempt(context.Background(), store.Attempt{
				Workflow: fmt.Sprintf("w%d", i), Run: 1, RunID: stranger, Event: event + 1, Number: (1 + r.IntN(4)) << 20, Body: body,
			}))
		}
	}
}

// hidden is the beginning of a body that cannot be read here. A flag marks the body as encoded by a
// newer version.
var hidden = []byte{history.Encoded, 0x80, 'h', 'i', 'd'}

// isEncoded reports whether a body is encoded.
func isEncoded(body []byte) bool { return len(body) > 0 && body[0] == history.Encoded }

// hide makes some timers unreadable for one read.
func (s *simulation) hide(due []store.Timer) []store.Timer {
	for i := range due {
		if s.hits(unreadable) {
			due[i].Body = append(bytes.Clone(hidden), due[i].Body...)
		}
	}
	return due
}

// reveal returns timers as they are stored, including the bodies that hide has replaced.
func reveal(timers []store.Timer) []store.Timer {
	timers = slices.Clone(timers)
	for i := range timers {
		timers[i].Body = bytes.TrimPrefix(timers[i].Body, hidden)
	}
	return timers
}

// overtaken is TTL at the worst moment for a start: the start has read items, they are deleted, and
// another start is first.
var overtaken = newFault("dynamodb: expired items go between a read and a put",
	"Amazon DynamoDB Developer Guide, using time to live (TTL): items are deleted by a background process at any time after their expiration, whatever "+
		"else is done to the table.", 0.15, 1)

// overtake deletes the expired items of a workflow whose next run is about to be put. Meanwhile
// another client starts the workflow.
func (s *simulation) overtake(items []store.Item) {
	last := items[len(items)-1]
	program, known := s.audit.programs[last.Workflow]
	if !s.plan.maintenance || !known || last.Slot != 0 || s.calm {
		return
	}
	for _, run := range s.audit.runs[last.Workflow] {
		if !run.State.Status.Closed() {
			return // no other start is first
		}
	}
	var expired []store.Item
	for _, item := range s.store.Dump(last.Workflow) {
		if !item.Expires.IsZero() && item.Expires.Before(s.now) {
			expired = append(expired, item)
		}
	}
	if len(expired) == 0 || !s.hits(overtaken) {
		return
	}
	for _, item := range expired {
		s.log("%s has expired, and is deleted before a put", item.Key)
		s.must(s.store.Delete(context.Background(), []store.Item{item}, nil))
		s.audit.deleted(item)
	}
	s.spawn(s.name("other %s", last.Workflow), nil, func() {
		s.start(last.Workflow, fmt.Sprintf("other-%d", s.play(overtaken).count), program)
	})
	s.pause(wait{until: s.now.Add(2 * time.Second)})
}

// startLatecomers starts clients that end the workflows. They start them again after their runs
// were deleted and the rest has expired.
func (s *simulation) startLatecomers() {
	if !s.plan.maintenance || !s.has(overtaken) {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.audit.programs)) {
		s.spawn(s.name("latecomer %s", id), nil, func() {
			s.pause(wait{until: s.now.Add(3 * time.Hour)})
			_, _ = s.insist("terminate "+id, func(ctx context.Context, t edge.Service) error { return t.Terminate(ctx, id, "", "it is late") })
			s.pause(wait{until: s.now.Add(50 * time.Hour)})
			s.start(id, "late", s.audit.programs[id])
		})
		if r := s.stream("familiar of " + id); r.oneIn(2) {
			s.spawn(s.name("familiar of %s", id), nil, func() { s.familiar(id, r) })
		}
	}
}

// familiar is the life of a client whose requests go to one process. So that process keeps the
// closed run in memory for as long as its reads allow. When the run was deleted, and what is left
// of it has expired, the client starts the workflow there.
func (s *simulation) familiar(id string, r *draws) {
	s.pause(wait{until: s.now.Add(3*time.Hour + 10*time.Minute)})
	living := func(p *process) *process {
		if slices.Contains(s.processes, p) {
			return p
		}
		return s.processes[r.IntN(len(s.processes))]
	}
	var p *process
	for range 100 {
		p = living(p)
		_, _ = s.call(p, "look at "+id, func(ctx context.Context, t edge.Service) error {
			_, err := t.Describe(ctx, id, "")
			return err
		})
		items := s.store.Dump(id)
		stays := func(item store.Item) bool { return item.Expires.IsZero() || item.Expires.After(s.now) }
		if !slices.ContainsFunc(items, stays) {
			s.count("a run is started where it was known until it had expired")
			break
		}
		s.pause(wait{until: s.now.Add(40 * time.Minute)})
	}
	program := s.audit.programs[id]
	input, err := json.Marshal(program)
	s.must(err)
	_, _ = s.call(living(p), "start "+id, func(ctx context.Context, t edge.Service) error {
		_, err := t.Start(ctx, startRequest(id, "familiar", input, program))
		return err
	})
	s.start(id, "familiar", program)
}
