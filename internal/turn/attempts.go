package turn

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// attemptState is what is kept of an activity, or of a task that failed, between its attempts.
type attemptState struct {
	Failure *failure.Failure  `cbor:"1,keyasint,omitempty"`
	Next    history.Timestamp `cbor:"2,keyasint,omitempty"`
	// By is the sending (Message.Send) whose attempt this was.
	By uint64 `cbor:"3,keyasint,omitempty"`
	// Details are what the last heartbeat said.
	Details history.Payload `cbor:"4,keyasint,omitempty"`
	// Deadline is until when the attempt may take that goes on outside; 0 is none that does. Heard is when it was heard of last.
	Deadline history.Timestamp `cbor:"5,keyasint,omitempty"`
	Heard    history.Timestamp `cbor:"6,keyasint,omitempty"`

	number int // of the last attempt that failed; 0 is none
	stored int // the number under which this stands
}

// attemptNumber is the number under which an attempt is recorded that failed. Those between it and that of the next attempt
// are the heartbeats of the next attempt.
func attemptNumber(attempt int) int { return attempt << beatBits }

// maxBeats is how many records an attempt may have of itself. The functions of activities have one in a few seconds at most; who has
// a token may send heartbeats as often as he likes.
const (
	beatBits = 20
	maxBeats = 1<<beatBits - 1
)

// recorded is the last recorded attempt at what an event names; nil where there is none.
func (s *Service) recorded(ctx context.Context, workflowID string, run uint32, event int64) (*attemptState, error) {
	all, err := s.Attempts.ReadAttempts(ctx, workflowID, run)
	if err != nil {
		return nil, readProblem(err)
	}
	for _, a := range all {
		if a.Event == event {
			return decodeAttempt(a)
		}
	}
	return nil, nil
}

func decodeAttempt(a store.Attempt) (*attemptState, error) {
	kept := &attemptState{number: a.Number >> beatBits, stored: a.Number}
	return kept, history.DecodeBody(a.Body, kept)
}

// nextAttempt records that the attempt failed that message m asked for, and sends the message of the next. The record is
// conditional on the attempt's number, so that two chains of attempts, which a duplicate began, become one: the chain that
// comes second ends. A crash after the record leaves m, whose next delivery sends the next attempt's message.
func (s *Service) nextAttempt(ctx context.Context, m *engine.Message, event int64, next engine.Message, f *failure.Failure, expires history.Timestamp) error {
	light := *f
	light.Stack = truncate(light.Stack)
	body, err := history.EncodeBody(&attemptState{Failure: &light, Next: next.Due, By: m.Send, Details: next.Details})
	if err != nil {
		return err
	}
	record := store.Attempt{Workflow: m.WorkflowID, Run: m.RunID.Number(), Event: event, Number: attemptNumber(next.Attempt - 1), Body: body, Expires: expires.Time()}
	if err = s.keepAttempt(ctx, record); errors.Is(err, store.ErrStale) {
		return s.secondChain(ctx, m, event, next)
	}
	if err != nil {
		return err
	}
	return s.send(ctx, []engine.Message{next})
}

// keepAttempt records an attempt, again and again while the store does not say that it has, or that something later stands
// there already (store.ErrStale): that may be what an earlier try has recorded.
func (s *Service) keepAttempt(ctx context.Context, record store.Attempt) error {
	for try := 0; ; try++ {
		err := s.Attempts.RecordAttempt(ctx, record)
		if err == nil || errors.Is(err, store.ErrStale) || s.world.Wait(ctx, backoff(s.world, try), nil) != nil {
			return err
		}
	}
}

// secondChain is what becomes of an attempt that another delivery has recorded before. A delivery of another message
// sends the next attempt before that message is deleted, so this chain can end. A delivery of the same message cannot be
// relied upon, because this one deletes it: the next attempt is sent once more, and the chains become one there.
func (s *Service) secondChain(ctx context.Context, m *engine.Message, event int64, next engine.Message) error {
	kept, err := s.recorded(ctx, m.WorkflowID, m.RunID.Number(), event)
	if err != nil || kept == nil {
		return err
	}
	if kept.number == next.Attempt-1 && kept.By == m.Send {
		next.Due = kept.Next
		return s.send(ctx, []engine.Message{next})
	}
	return nil
}

// truncate keeps what is kept between attempts small.
func truncate(stack string) string {
	const most = 4 << 10
	if len(stack) > most {
		return stack[:most]
	}
	return stack
}
