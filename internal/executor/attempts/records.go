package attempts

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// Records reads and writes the records of attempts.
type Records struct {
	store store.Attempts
	host  host.Host
}

// NewRecords returns the records in a store.
func NewRecords(s store.Attempts, h host.Host) *Records { return &Records{s, h} }

// Of reads the record of an event of a run, or nil if there is none.
func (r *Records) Of(ctx context.Context, run *engine.Run, event int64) (*Record, error) {
	all, err := r.All(ctx, run)
	return all[event], err
}

// All reads the records of a run, by event. It fails if a record cannot be read.
func (r *Records) All(ctx context.Context, run *engine.Run) (map[int64]*Record, error) {
	all, err := r.Read(ctx, run.WorkflowID, run.Number)
	if err != nil {
		return nil, err
	}
	return r.ofRun(run, all)
}

// Stored are the records of the runs of a workflow with one number, as they are stored.
type Stored []store.Attempt

// Read reads the records of the runs of a workflow with a number, for Failing.
func (r *Records) Read(ctx context.Context, workflowID string, number uint32) (Stored, error) {
	all, err := r.store.ReadAttempts(ctx, workflowID, number)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	return all, nil
}

// HaveFailed reports whether one of the records may be of a failed attempt of a run.
func (s Stored) HaveFailed(id history.RunID) bool {
	return slices.ContainsFunc(s, func(a store.Attempt) bool {
		return a.Number>>beatBits > 0 && (a.RunID == "" || a.RunID == string(id))
	})
}

// Failing returns the types of the pending activities of a run of which an attempt has failed,
// sorted, each once.
func (r *Records) Failing(run *engine.Run, all Stored) (types []string, err error) {
	kept, err := r.ofRun(run, all)
	if err != nil || run.State.Status.Closed() {
		return nil, err
	}
	for event, a := range run.State.Activities {
		if k := kept[event]; k != nil && k.LastFailed > 0 {
			types = append(types, a.ActivityType)
		}
	}
	slices.Sort(types)
	return slices.Compact(types), nil
}

// ofRun returns the records of a run, by event.
func (r *Records) ofRun(run *engine.Run, all Stored) (map[int64]*Record, error) {
	kept := map[int64]*Record{}
	for _, a := range all {
		if a.RunID != "" && a.RunID != string(run.State.RunID) {
			continue // an earlier run with the same number left it
		}
		record, err := decode(a)
		if err != nil {
			return nil, err
		}
		if a.RunID == "" && r.isOfEarlierRun(run, a, record) {
			continue
		}
		kept[a.Event] = record
	}
	return kept, nil
}

// isOfEarlierRun reports whether a record without a run id belongs to an earlier run with the same
// number. Earlier versions of Weft wrote such records. The record of a heartbeat without an expiry
// does not show it, and counts as the run's own.
func (r *Records) isOfEarlierRun(run *engine.Run, a store.Attempt, record *Record) bool {
	written := max(record.Next, record.Heard)
	return host.Expired(r.host, history.At(a.Expires)) || written != 0 && written.Add(host.ClockGap) < run.State.StartTime
}

// Own reads the record of an event for the handler of a message that wrote it. It returns nil if
// the run has been deleted.
func (r *Records) Own(ctx context.Context, m *engine.Message, event int64) (*Record, error) {
	all, err := r.store.ReadAttempts(ctx, m.WorkflowID, m.RunID.Number())
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	at := slices.IndexFunc(all, func(a store.Attempt) bool { return a.Event == event && a.RunID == string(m.RunID) })
	if at < 0 {
		return nil, nil
	}
	return decode(all[at])
}

// Keep writes the record of an event of a message's run. It retries until ctx ends. It returns
// store.ErrStale if a record with the same or a higher number exists, which an earlier try may have
// written.
func (r *Records) Keep(ctx context.Context, m *engine.Message, event int64, record *Record) error {
	for try := 0; ; try++ {
		err := r.KeepOnce(ctx, m, event, record)
		if err == nil || errors.Is(err, store.ErrStale) || r.host.Wait(ctx, host.Backoff(r.host, try), nil) != nil {
			return err
		}
	}
}

// KeepOnce is Keep with one try.
func (r *Records) KeepOnce(ctx context.Context, m *engine.Message, event int64, record *Record) error {
	body, err := history.EncodeBody(record)
	if err != nil {
		return err
	}
	return r.store.RecordAttempt(ctx, store.Attempt{
		Workflow: m.WorkflowID, Run: m.RunID.Number(), RunID: string(m.RunID), Event: event, Number: record.Number, Body: body,
	})
}
