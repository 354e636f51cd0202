package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// MayRun reports whether an attempt at an activity may be in progress. kept is what is recorded of
// the activity, or nil. Only attempts that are counted, or send heartbeats, are known to run.
func MayRun(kept *attempts.Record, now history.Timestamp) bool {
	return kept == nil || kept.HeldNow(now) == "" && NotBackingOff(kept, now) != ""
}

// NotBackingOff returns why an activity is not known to wait for its next attempt, or "" if it
// waits. kept is what is recorded of the activity, or nil.
func NotBackingOff(kept *attempts.Record, now history.Timestamp) string {
	switch {
	case kept == nil || kept.LastFailed == 0:
		return "no attempt has failed"
	case kept.Deadline != 0:
		return fmt.Sprintf("attempt %d continues outside", kept.LastFailed+1)
	case kept.Number >= attempts.Failed(kept.LastFailed)+attempts.BeginAt:
		return fmt.Sprintf("attempt %d has begun", kept.LastFailed+1)
	case kept.HeldNow(now) != "":
		return fmt.Sprintf("attempt %d is held, and looks again every %v: %s", kept.LastFailed+1, outbox.ParkedFor, kept.Held)
	case kept.Next <= now:
		return fmt.Sprintf("attempt %d has been due since %s, and runs or is about to", kept.LastFailed+1, kept.Next.Time().Format(time.RFC3339))
	}
	return ""
}

// BeginNow lets the next attempt at an activity begin at once. m is the message of that attempt, as
// it was first sent, and kept is what is recorded of the activity. It costs a message and a write.
//
// The message is sent first. Then the record says that the attempt is due now, so that a second
// request finds nothing to do. A crash between the two leaves a message more, and the caller
// without an answer.
//
// The message that waits for the attempt's time cannot be recalled. If attempts are counted, its
// receiver finds the record, and is dropped. Otherwise it makes the attempt once more, unless the
// activity has ended by then, and its chain ends: see secondChain. The sent message has seen the
// log up to here, so its receiver reads the record first (mayHaveBegun): the attempt may have begun
// before.
func BeginNow(ctx context.Context, s *session.Process, run *engine.Run, m *engine.Message, kept *attempts.Record) error {
	now := *m
	now.CausationID, now.Seen, now.Due, now.Details = 0, run.State.NextSlot, 0, kept.Details
	sent := []engine.Message{now}
	if err := s.Outbox.Send(ctx, sent); err != nil {
		return err
	}
	due := kept.Base(now.Attempt)
	due.By, due.Look, due.Copy = sent[0].Send, 0, 0
	due.Next, due.Held, due.HeldUntil = s.Timestamp(), "", 0
	due.Number = kept.Number + 1
	return s.Attempts.Keep(ctx, &sent[0], now.EventID, &due)
}
