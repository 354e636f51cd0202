package observe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/tracelog"
)

// Run says which run an event is about.
type Run struct {
	WorkflowID string
	// Type is the type of the workflow.
	Type  string
	RunID history.RunID
	// FirstRunID is the first run of the chain that this one continues; empty if it continues none.
	FirstRunID history.RunID
	// TraceParent is the trace context that the chain was started with, as a W3C traceparent
	// header; empty if it was started without tracing.
	TraceParent string
}

// about returns the run that an event is about.
func (r *Run) about() *Run { return r }

// TraceID is the id of the trace of the run's workflow, and SpanID that of a span in it.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// String returns the id in hexadecimal.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// String returns the id in hexadecimal.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// Trace returns the trace of the run's workflow: its id, the span that the workflow was started in,
// and that span's flags. kept is false for a run that was started without tracing: it has no such
// span, and its trace id is derived from its ids.
func (r *Run) Trace() (id TraceID, start SpanID, flags byte, kept bool) {
	if id, start, flags, kept = parse(r.TraceParent); kept {
		return id, start, flags, true
	}
	sum := sha256.Sum256([]byte(r.WorkflowID + "\x00" + string(cmp.Or(r.FirstRunID, r.RunID))))
	return TraceID(sum[:16]), SpanID{}, 0, false
}

// parse reads a traceparent header of version 00, which the start event of a run has.
func parse(traceParent string) (id TraceID, span SpanID, flags byte, ok bool) {
	parts := strings.Split(traceParent, "-")
	if len(parts) != 4 || parts[0] != "00" {
		return id, span, 0, false
	}
	var f [1]byte
	ok = decode(id[:], parts[1]) && decode(span[:], parts[2]) && decode(f[:], parts[3]) && id != TraceID{} && span != SpanID{}
	return id, span, f[0], ok
}

func decode(into []byte, digits string) bool {
	if len(digits) != hex.EncodedLen(len(into)) {
		return false
	}
	_, err := hex.Decode(into, []byte(digits))
	return err == nil
}

// Span returns the span of the run itself, from its start to its end: the random digits of its id.
func (r *Run) Span() (id SpanID) {
	_, digits, _ := strings.Cut(string(r.RunID), "-")
	_ = decode(id[:], digits) // a run's id has them
	return id
}

// TaskSpan returns the span of the workflow task that wrote a commit: the first half of the
// commit's id.
func TaskSpan(id history.CommitID) SpanID { return SpanID(id[:8]) }

// InTask returns a context of a workflow task of a run. Only a run that was started with tracing
// has a span to name.
func InTask(ctx context.Context, r *Run, commit history.CommitID) context.Context {
	id, _, _, kept := r.Trace()
	if !kept {
		return ctx
	}
	return tracelog.With(ctx, id.String(), TaskSpan(commit).String())
}
