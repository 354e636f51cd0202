package turn

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/queue"
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
	// Until is how long the attempt that has begun may go on without a word; 0 where none has, or attempts are not counted.
	Until history.Timestamp `cbor:"7,keyasint,omitempty"`
	// Look and Copy are those of the message that goes on with the attempt, whose sending is By.
	Look int    `cbor:"8,keyasint,omitempty"`
	Copy uint64 `cbor:"9,keyasint,omitempty"`
	// Taker tells the delivery that has begun the attempt from others.
	Taker uint64 `cbor:"10,keyasint,omitempty"`
	// Held says what holds the attempt, until HeldUntil unless it is held again.
	Held      string            `cbor:"11,keyasint,omitempty"`
	HeldUntil history.Timestamp `cbor:"12,keyasint,omitempty"`

	number int // of the last attempt that failed; 0 is none
	stored int // the number under which this stands
}

// attemptNumber is the number under which an attempt is recorded that failed. Those between it and that of the next attempt
// are of the next attempt; see begin.go.
func attemptNumber(attempt int) int { return attempt << beatBits }

// maxBeats is how many records an attempt may have of itself. The functions of activities have one in a few seconds at most; who has
// a token may send heartbeats as often as he likes.
const (
	beatBits = 20
	maxBeats = 1<<beatBits - 1 - beginAt
)

// recorded is the last recorded attempt at what an event of a run names; nil where there is none.
func (s *Service) recorded(ctx context.Context, run *engine.Run, event int64) (*attemptState, error) {
	all, err := s.attemptsOf(ctx, run)
	return all[event], err
}

// attemptsOf is what is recorded of the attempts of a run, by event. It fails where a record cannot be read.
func (s *Service) attemptsOf(ctx context.Context, run *engine.Run) (map[int64]*attemptState, error) {
	all, err := s.Attempts.ReadAttempts(ctx, run.WorkflowID, run.Number)
	if err != nil {
		return nil, readProblem(err)
	}
	kept := map[int64]*attemptState{}
	for _, a := range all {
		if a.RunID != "" && a.RunID != string(run.State.RunID) {
			continue // what a run has left that had the number before
		}
		state, err := decodeAttempt(a)
		if err != nil {
			return nil, err
		}
		if a.RunID == "" && s.outlived(run, a, state) {
			continue
		}
		kept[a.Event] = state
	}
	return kept, nil
}

// outlived reports whether a record of an earlier version of Weft, which does not say of which run it is, is of a run that had the
// number before. A record of a heartbeat that never expires does not tell: it is taken for the run's own.
func (s *Service) outlived(run *engine.Run, a store.Attempt, kept *attemptState) bool {
	written := max(kept.Next, kept.Heard)
	return s.expired(history.At(a.Expires)) || written != 0 && written.Add(clocksApart) < run.State.StartTime
}

// CheckAttempt returns an error if the body of a recorded attempt cannot be read.
func CheckAttempt(a store.Attempt) error {
	_, err := decodeAttempt(a)
	return err
}

func decodeAttempt(a store.Attempt) (*attemptState, error) {
	kept := &attemptState{number: a.Number >> beatBits, stored: a.Number}
	return kept, history.DecodeBody(a.Body, kept)
}

// record is the record of an attempt at what an event of a message's run names. It does not expire: the run may be open for as long as
// it likes, and is deleted with its records.
func record(m *engine.Message, event int64, number int, body []byte) store.Attempt {
	return store.Attempt{Workflow: m.WorkflowID, Run: m.RunID.Number(), RunID: string(m.RunID), Event: event, Number: number, Body: body}
}

// nextAttempt records that the attempt failed that message m asked for, and sends the message of the next. The record is
// conditional on the attempt's number, so that two chains of attempts, which a duplicate began, become one: the chain that
// comes second ends. A crash after the record leaves m, whose next delivery sends the next attempt's message.
func (s *Service) nextAttempt(ctx context.Context, m *engine.Message, event int64, next engine.Message, f *failure.Failure) error {
	light := *f
	light.Stack = truncate(light.Stack)
	body, err := history.EncodeBody(&attemptState{Failure: &light, Next: next.Due, By: m.Send, Details: next.Details})
	if err != nil {
		return err
	}
	if err = s.keepAttempt(ctx, record(m, event, attemptNumber(next.Attempt-1), body)); errors.Is(err, store.ErrStale) {
		return s.secondChain(ctx, m, event, next)
	}
	if err != nil {
		return err
	}
	return s.outbox.Send(ctx, []engine.Message{next})
}

// keepAttempt records an attempt, again and again while the store does not say that it has, or that something later stands
// there already (store.ErrStale): that may be what an earlier try has recorded.
func (s *Service) keepAttempt(ctx context.Context, record store.Attempt) error {
	for try := 0; ; try++ {
		err := s.Attempts.RecordAttempt(ctx, record)
		if err == nil || errors.Is(err, store.ErrStale) || s.world.Wait(ctx, host.Backoff(s.world, try), nil) != nil {
			return err
		}
	}
}

// secondChain is what becomes of an attempt that another delivery has recorded before. A delivery of another message
// sends the next attempt before that message is deleted, so this chain can end: errDropped. A delivery of the same message cannot be
// relied upon, because this one deletes it: the next attempt is sent once more, and the chains become one there.
func (s *Service) secondChain(ctx context.Context, m *engine.Message, event int64, next engine.Message) error {
	kept, err := s.recordedOf(ctx, m, event)
	if err != nil || kept == nil {
		return err
	}
	if kept.number == next.Attempt-1 && kept.by(m) {
		next.Due = kept.Next
		return s.outbox.Send(ctx, []engine.Message{next})
	}
	return errDropped
}

// drop is what a message comes to, outside of the gate, when another goes on with its activity. It is only deleted if a read that began
// after that was found out shows the activity still pending. Otherwise another delivery of the message may have committed the result,
// and died before it sent what follows: that is sent again. It costs a strong read if what is known shows the activity pending. Where it
// fails, the message stays.
func (s *Service) drop(ctx context.Context, m *engine.Message) error {
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	return s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, m)
		switch {
		case err != nil || place != inLog:
			return err
		case run.Needed(m):
			return errDropped
		}
		return t.repair(ctx, run, m)
	})
}

// recordedOf is recorded for who has written a record, and not the run: nil means that the run has been deleted.
func (s *Service) recordedOf(ctx context.Context, m *engine.Message, event int64) (*attemptState, error) {
	all, err := s.Attempts.ReadAttempts(ctx, m.WorkflowID, m.RunID.Number())
	if err != nil {
		return nil, readProblem(err)
	}
	at := slices.IndexFunc(all, func(a store.Attempt) bool { return a.Event == event && a.RunID == string(m.RunID) })
	if at < 0 {
		return nil, nil
	}
	return decodeAttempt(all[at])
}

// truncate keeps what is kept between attempts small.
func truncate(stack string) string {
	const most = 4 << 10
	if len(stack) > most {
		return stack[:most]
	}
	return stack
}

// landsWithin is how long a put may be on its way whose writer has died: AWS refuses requests that were signed more than 15 minutes ago.
const landsWithin = queue.MaxDelay

// dropped has a message deleted with whose activity another goes on. A put of an earlier delivery may still be on its way, and its writer may
// have died: a copy comes when none can land any more, and sends what follows from one that has. It costs a message.
func (s *Service) dropped(ctx context.Context, m *engine.Message) error {
	if m.Look > 0 || m.Kind != engine.RunActivity {
		return nil
	}
	return s.outbox.SendLater(ctx, m, landsWithin)
}
