package notify

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/store"
)

// ErrNeeded says that a delivering run must be kept past its retention: the run that it tells of is
// still there, and may send its message again.
var ErrNeeded = errors.New("executor: the run that this one notifies of is there")

// IsNeeded reads whether a closed run is a delivering one, and the run that it tells of is still
// there. part has the closed run's last commit and perhaps others. Without the delivering run, a
// message of the other run would start it again, and the receiver would get the notification again.
//
// The other run may still send messages as long as it is there, whatever its retention is. When it
// has gone, nobody acts on its messages. So a delivering run is deleted after the other one.
//
// It costs a read of the other run's last commit, and nothing for runs that deliver nothing.
func IsNeeded(ctx context.Context, s *session.Process, part []store.Item) (bool, error) {
	if !strings.HasPrefix(part[0].Workflow, stored.IDPrefix) {
		return false, nil
	}
	c, err := s.Logs.FirstCommitOf(ctx, part)
	if err != nil || c == nil || c.Opens() == nil || c.Opens().WorkflowType != stored.WorkflowType {
		return false, err // its deletion has begun, or it delivers nothing
	}
	var in stored.Input
	if err := json.Unmarshal(c.Opens().Input, &in); err != nil {
		return false, nil //nolint:nilerr // Weft did not start it
	}
	return isThere(ctx, s, &in)
}

// isThere reads whether the run that a notification tells of is there.
func isThere(ctx context.Context, s *session.Process, in *stored.Input) (bool, error) {
	last, err := s.Logs.LastCommit(ctx, in.WorkflowID, history.RunID(in.RunID))
	return err == nil && last != nil && last.RunID == history.RunID(in.RunID), err
}

// mayHaveBegun reports whether a delivering run that is not in the log may have been there. If the
// run that it tells of is still there after the log was read, it never was: see IsNeeded. What this
// process knows of that run may be outdated, so it reads it. It costs no read within an hour of the
// end of the run, because nothing is deleted that early.
func mayHaveBegun(ctx context.Context, s *session.Process, in *stored.Input) (bool, error) {
	if s.Timestamp() < history.At(in.Closed).Add(runlog.MaxAge) {
		return false, nil
	}
	there, err := isThere(ctx, s, in)
	return !there, err
}
