package session

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// TooLarge returns the failure of a task whose commit would be too large.
func (s *Process) TooLarge() *failure.Failure {
	return &failure.Failure{Kind: failure.KindMisuse, Message: s.Options.tooLargeText()}
}

// tooLargeText returns how much a task may write at once, and what to do if one writes more.
func (o *Options) tooLargeText() string {
	advice := "receive signals before continuing as new, let local activities return less, or pass large things by reference"
	if o.MaxPayload <= engine.MaxPayload {
		advice += ", or have large payloads kept (WEFT_BUCKET, --large-payloads)"
	}
	return fmt.Sprintf("what the workflow's code does in this task is larger than a commit may be, %d bytes: %s", o.MaxCommit, advice)
}

// ErrWaited refuses a request whose time was over while it waited behind others. It was not carried
// out.
var ErrWaited = refusal.Busy.New("the request waited behind others to this workflow until its time was over; nothing was written: send the request again").By(refusal.ByContention)

// Problem returns the problem that answers a request. If stored data is damaged, the problem names
// the workflow: only its callers see it, and retrying is useless until somebody has restored the
// data or deleted it.
func Problem(t *Session, err error) error {
	if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, history.ErrCorrupt) {
		return t.Process.Problem(err)
	}
	run := ""
	if r := t.Run(); r != nil {
		run = string(r.State.RunID)
	}
	t.Process.Options.Logger.Error("stored data of a workflow is damaged", "workflowId", t.WorkflowID, "runId", run, "error", err)
	return refusal.Internal.New("stored data of workflow %q is damaged, and nothing of it was interpreted: restore it from a backup; the log of the server says which item",
		t.WorkflowID)
}

// Problem returns the problem that answers a request which failed with err.
func (s *Process) Problem(err error) error {
	var p *refusal.Error
	cause, seen := outcome.CauseOf(err)
	if seen != nil {
		s.refusals.Of(string(cause)).Fails(s.Options.Logger, slog.LevelWarn, s.World.Now(), "a request was refused because a store or a queue failed", err, "cause", cause)
	}
	switch {
	case err == nil || errors.As(err, &p):
		return err
	case errors.Is(err, outcome.ErrBusy) && s.Options.whyRefused(err) != "":
		return refusal.Busy.New("%s; nothing was written: send the request again", s.Options.whyRefused(err)).By(cause)
	case errors.Is(err, outcome.ErrBusy), errors.Is(err, outcome.ErrLost), errors.Is(err, outcome.ErrStale):
		return refusal.Busy.New("too many others write to this workflow, or the store refuses for now; nothing was written: send the request again").By(cause)
	case errors.Is(err, outcome.ErrUnknown) && s.Options.whyRefused(err) != "":
		return refusal.OutcomeUnknown.New("%s; it may have carried the request out: send it again with the same id", s.Options.whyRefused(err)).By(cause)
	case errors.Is(err, outcome.ErrUnknown):
		return refusal.OutcomeUnknown.New("the store did not answer, and may have carried the request out: send it again with the same id").By(cause)
	case errors.Is(err, outcome.ErrTooLarge):
		return refusal.TooLarge.New("%s; nothing was written", s.Options.tooLargeText())
	case errors.Is(err, history.ErrNewer):
		return refusal.NotReady.New("a newer version of Weft wrote this run's history: deploy that version")
	case errors.Is(err, history.ErrEncoded):
		return refusal.NotReady.New("this run's history is encrypted, and cannot be opened: its key is missing or may not be used, or it was changed; the log of the server says which")
	}
	return err
}

// whyRefused returns why a store or a queue refuses, or "" if that is unknown.
func (o *Options) whyRefused(err error) string {
	if o.WhyRefused == nil {
		return ""
	}
	return o.WhyRefused(err)
}
