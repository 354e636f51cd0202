package function

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/probe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

const (
	// probeFor is how long the timer function waits for the api function, and beatFor how long that
	// tries to carry out a beat: it has to answer before.
	probeFor = 10 * time.Second
	beatFor  = 8 * time.Second
)

// The errors of a Probe. Any other one means that there was no answer.
var (
	// ErrThrottled is wrapped by the error of a Probe whose event Lambda has throttled.
	ErrThrottled = errors.New("function: the event was throttled")
	// ErrRefused is wrapped by the error of a Probe that Lambda refuses: the function does not
	// exist, or may not be invoked.
	ErrRefused = errors.New("function: the event was refused")
	// ErrFailed is wrapped by the error of a Probe if the function failed.
	ErrFailed = errors.New("function: the function failed")
)

// Probe sends an event to the api function, and returns its answer.
type Probe func(ctx context.Context, event []byte) ([]byte, error)

// ownEvent is the part of an event that is Weft's own: no gateway and no rule sends one.
type ownEvent struct {
	// Probe asks the api function to carry out the beat with this number; 0 is none.
	Probe int64 `json:"probe,omitempty"`
	// AtOnce asks the timer function for a beat, whatever the time is. Number is that of the beat,
	// or 0 for that of the moment. A beat whose number was sent before writes nothing.
	AtOnce bool  `json:"beat,omitempty"`
	Number int64 `json:"number,omitempty"`
}

// beatOf returns the number of the beat that the timer function sends for an event at a moment, or
// 0 if it sends none.
func beatOf(event []byte, now time.Time) int64 {
	var g gateway
	asked := json.Unmarshal(event, &g) == nil && g.Weft.AtOnce
	switch {
	case asked && g.Weft.Number > 0:
		return g.Weft.Number
	case asked, now.Truncate(outbox.SweepEvery).Equal(now.Truncate(probe.Every)):
		return probe.Number(now)
	}
	return 0
}

// health is what the answer to a beat says.
type health struct {
	OK bool `json:"ok"`
	// Cause says what it failed by, in a word, and Detail more of it. They are empty if it is OK.
	Cause  string `json:"cause,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// The causes of a beat that failed, besides the causes and the kinds of refusals.
const (
	byLate       = "late"
	byCode       = "code"
	byThrottled  = "throttled"
	byRefused    = "refused"
	byFunction   = "function"
	byUnanswered = "unanswered"
)

// probe sends the beat with a number to the api function, and reports if it failed.
func (f *Function) probe(ctx context.Context, number int64) {
	if f.options.Probe == nil {
		return
	}
	if h := f.ask(ctx, number); !h.OK {
		f.process.Service.Process.Observed().Observe(ctx, &observe.ProbeFailed{})
		f.log.WarnContext(ctx, "the synthetic update failed", "cause", h.Cause, "detail", h.Detail, "beat", number)
	}
}

// ask returns what the api function says of a beat.
func (f *Function) ask(ctx context.Context, number int64) (h health) {
	event, err := encode(map[string]ownEvent{"weft": {Probe: number}})
	if err != nil {
		return failed(byFunction, err.Error())
	}
	ctx, cancel := f.process.Service.Process.World.WithTimeout(ctx, probeFor)
	defer cancel()
	answer, err := f.options.Probe(ctx, event)
	switch {
	case errors.Is(err, ErrThrottled):
		return failed(byThrottled, err.Error())
	case errors.Is(err, ErrRefused):
		return failed(byRefused, err.Error())
	case errors.Is(err, ErrFailed):
		return failed(byFunction, err.Error())
	case err != nil:
		return failed(byUnanswered, err.Error())
	}
	if err := json.Unmarshal(answer, &h); err != nil || h.OK == (h.Cause != "") {
		return failed(byFunction, "its answer is not that of an api function: check WEFT_PROBE")
	}
	return h
}

func failed(cause, detail string) health { return health{Cause: cause, Detail: detail} }

// beat carries out the beat with a number, and says whether the one before has completed. A beat
// before that no run has accepted is not judged: the deployment may be new, or its run has
// continued since, which it does between beats.
func (f *Function) beat(ctx context.Context, number int64) health {
	if err := f.takeBeat(ctx, probe.BeatID(number)); err != nil {
		return refusedBeat(err)
	}
	before := probe.BeatID(number - 1)
	p, err := f.process.Service.Process.Parser().Poll(probe.WorkflowID, "", before, "")
	if err != nil {
		return refusedBeat(err)
	}
	answer, err := f.process.Service.Requests.PollUpdate(ctx, p)
	switch {
	case errors.Is(err, refusal.NotFound):
		return health{OK: true}
	case err != nil:
		return refusedBeat(err)
	case answer.Stage != schema.StageCompleted:
		return failed(byLate, before+" was accepted, and its activity has not completed")
	}
	return health{OK: true}
}

// takeBeat sends a beat to the workflow of the probe, and starts that if none is open.
func (f *Function) takeBeat(ctx context.Context, id string) error {
	timeout := schema.Duration(beatFor)
	u, err := f.process.Service.Process.Parser().UpdateOwn(probe.WorkflowID, probe.UpdateName, &schema.UpdateRequest{
		UpdateID: id, WaitFor: schema.StageAccepted, Timeout: &timeout,
		Start: &schema.StartRequest{Type: history.ProbeWorkflow, IDConflictPolicy: string(command.UseExisting)},
	})
	if err != nil {
		return err
	}
	answer, err := f.process.Service.Requests.Update(ctx, u)
	switch {
	case err != nil:
		return err
	case answer.Stage != schema.StageAccepted && answer.Stage != schema.StageCompleted:
		return refusal.NotReady.New("%s is %s", id, answer.Stage)
	}
	return nil
}

// refusedBeat says by what a beat was refused. A run refuses one because of earlier ones that have
// not completed.
func refusedBeat(err error) health {
	var r *refusal.Error
	switch {
	case errors.Is(err, refusal.UpdatesInFlight):
		return failed(byLate, err.Error())
	case errors.Is(err, refusal.NotReady):
		return failed(byCode, err.Error())
	case errors.As(err, &r):
		return failed(cmp.Or(string(r.Cause), string(r.Kind)), err.Error())
	}
	return failed(string(refusal.Internal), err.Error())
}
