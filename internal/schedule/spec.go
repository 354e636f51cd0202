// Package schedule decides for a schedule, without acting: which moments it has, and what happens
// at a moment while an earlier run is still open. Package flow is the workflow that acts.
package schedule

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/cron"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// The limits of a spec: how many expressions and intervals it may have, and how close moments may
// be.
const (
	maxParts    = 100
	minInterval = time.Second
)

// DefaultCatchUp is the catch-up window of a schedule that gives none.
const DefaultCatchUp = 365 * 24 * time.Hour

// Spec is a compiled spec, which returns its moments.
type Spec struct {
	crons     []cron.Schedule
	intervals []stored.Interval
	startAt   time.Time
	endAt     time.Time
	jitter    time.Duration
	id        string
}

// Compile checks a spec, and prepares it for computing moments. id is the schedule's id, from which
// the jitter is derived.
func Compile(id string, s stored.Spec) (*Spec, error) {
	spec := &Spec{intervals: s.Intervals, jitter: time.Duration(s.Jitter), id: id}
	if len(s.Cron)+len(s.Intervals) == 0 {
		return nil, errors.New("the spec has no moments: give cron, intervals, or both")
	}
	if len(s.Cron)+len(s.Intervals) > maxParts {
		return nil, fmt.Errorf("the spec has more than %d expressions and intervals", maxParts)
	}
	for _, expression := range s.Cron {
		c, err := cron.ParseDefault(expression, s.TimeZone)
		if err != nil {
			return nil, err
		}
		spec.crons = append(spec.crons, c)
	}
	if _, err := cron.Zone(s.TimeZone); err != nil {
		return nil, err
	}
	for _, i := range s.Intervals {
		if time.Duration(i.Every) < minInterval || i.Offset < 0 || i.Offset >= i.Every {
			return nil, errors.New("an interval is shorter than a second, or its offset is negative or not shorter than it")
		}
	}
	if s.Jitter < 0 {
		return nil, errors.New("the jitter is negative")
	}
	if s.StartAt != nil {
		spec.startAt = *s.StartAt
	}
	if s.EndAt != nil {
		spec.endAt = *s.EndAt
	}
	if !spec.endAt.IsZero() && spec.endAt.Before(spec.startAt) {
		return nil, errors.New("the spec ends before it starts")
	}
	return spec, nil
}

// Check returns an error if a schedule is invalid.
func Check(id string, s *stored.Schedule) error {
	if s == nil {
		return errors.New("the schedule is missing")
	}
	spec, err := Compile(id, s.Spec)
	if err != nil {
		return err
	}
	for i, c := range spec.crons {
		if c.Next(time.Unix(0, 0)).IsZero() {
			return fmt.Errorf("the cron expression %q names a day that does not exist", s.Spec.Cron[i])
		}
	}
	if err := checkIDs(id, s.Action.WorkflowID); err != nil {
		return err
	}
	if s.Action.Type == "" {
		return errors.New("the action has no type: give the workflow type to start")
	}
	if engine.OwnType(s.Action.Type) {
		return fmt.Errorf("the action starts workflow type %q, which is one of Weft's own: give a type of the program", s.Action.Type)
	}
	if s.Action.RunTimeout < 0 || s.CatchUpWindow < 0 {
		return errors.New("a time of the schedule is negative")
	}
	if p := s.Action.Retry; p != nil {
		if _, err := engine.CompleteRetry(p.Policy()); err != nil {
			return fmt.Errorf("the retryPolicy of the action is invalid: %w", err)
		}
	}
	if err := (engine.Visibility{Memo: s.Action.Memo, SearchAttributes: s.Action.SearchAttributes}).Check(); err != nil {
		return fmt.Errorf("the action: %w", err)
	}
	return CheckOverlap(s.Overlap)
}

// momentRoom is the space for what follows the beginning of a run's workflow id: the moment, to the
// microsecond, and a number.
const momentRoom = 40

// checkIDs returns an error if the id of a schedule is invalid, or the beginning of the workflow
// ids of its runs, which is that id if it is empty.
func checkIDs(id, workflowID string) error {
	if err := engine.CheckID("schedule's id", id); err != nil {
		return err
	}
	begin := cmp.Or(workflowID, id)
	if err := engine.CheckID("workflow id of the runs", begin); err != nil {
		return err
	}
	if engine.OwnID(begin) {
		return errors.New("the workflow ids of the runs begin with \"weft.\", as only those of batches and schedules do: give the action another workflowId, or the schedule another id")
	}
	if most := engine.MaxIDLength - momentRoom; len(begin) > most {
		return fmt.Errorf("the workflow ids of the runs begin with %d characters, which leaves no room for a moment: give at most %d", len(begin), most)
	}
	return nil
}

// CheckOverlap returns an error if a policy does not exist; empty is the schedule's, or the
// default.
func CheckOverlap(o stored.Overlap) error {
	switch o {
	case "", stored.OverlapSkip, stored.OverlapBufferOne, stored.OverlapBufferAll, stored.OverlapAllowAll, stored.OverlapCancel, stored.OverlapTerminate:
		return nil
	}
	return fmt.Errorf("there is no overlapPolicy %q: give %s, %s, %s, %s, %s or %s", o, stored.OverlapSkip, stored.OverlapBufferOne,
		stored.OverlapBufferAll, stored.OverlapAllowAll, stored.OverlapCancel, stored.OverlapTerminate)
}

// Next returns the first moment after t; zero if there is none.
func (s *Spec) Next(t time.Time) time.Time {
	if t.Before(s.startAt) {
		t = s.startAt.Add(-time.Microsecond)
	}
	var next time.Time
	for _, c := range s.crons {
		next = sooner(next, c.Next(t))
	}
	for _, i := range s.intervals {
		next = sooner(next, after(i, t))
	}
	if !s.endAt.IsZero() && next.After(s.endAt) {
		return time.Time{}
	}
	return next
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// after returns the first moment of an interval after t.
func after(i stored.Interval, t time.Time) time.Time {
	every, offset := time.Duration(i.Every).Microseconds(), time.Duration(i.Offset).Microseconds()
	since := t.UnixMicro() - offset
	n := since / every
	if since%every < 0 {
		n-- // it was rounded towards zero
	}
	return time.UnixMicro((n+1)*every + offset).UTC()
}

// Jittered returns a moment delayed by its jitter, which is always the same for a moment of a
// schedule.
func (s *Spec) Jittered(t time.Time) time.Time {
	most := s.jitter
	if next := s.Next(t); !next.IsZero() {
		most = min(most, next.Sub(t))
	}
	if most <= 0 {
		return t
	}
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(s.id), uint64(t.UnixMicro())))
	const steps = 1 << 20
	return t.Add(most / steps * time.Duration(h.Sum64()%steps)).Truncate(time.Microsecond)
}

// Moment is a moment of a schedule: by its spec, and with its jitter.
type Moment struct {
	At  time.Time `json:"at"`
	Due time.Time `json:"due"`
}

// maxAtOnce is how many moments a part lists, and maxPassed how many more it passes over.
const (
	maxAtOnce = 1000
	maxPassed = 100_000
)

// Part is a part of the moments that are due. One task handles it.
type Part struct {
	// Due are the moments that may need action.
	Due []Moment `json:"due,omitempty"`
	// Next is the moment after them; zero if there is none. It may be due, too.
	Next Moment `json:"next"`
	// Passed is how many moments before Due are passed over, and Last the last of them.
	Passed int       `json:"passed,omitempty"`
	Last   time.Time `json:"last,omitzero"`
	// Bounded says that due moments beyond this part wait for a later task. It is false in the
	// recordings of earlier versions, whose tasks handled all moments.
	Bounded bool `json:"bounded,omitempty"`
	// Goes says that the same task also handles the next part.
	Goes bool `json:"goes,omitempty"`
}

// Part returns the first moments after last that are due by now. It counts those that passes
// accepts, and lists at most this many others, and no more than a thousand.
func (s *Spec) Part(last, now time.Time, most int, passes func(Moment) bool) Part {
	p := Part{Bounded: true}
	for most = min(most, maxAtOnce); ; {
		at := s.Next(last)
		if at.IsZero() {
			p.Next = Moment{}
			return p
		}
		p.Next = Moment{At: at, Due: s.Jittered(at)}
		switch {
		case p.Next.Due.After(now):
			return p
		case len(p.Due) == 0 && passes(p.Next):
			if p.Passed == maxPassed {
				return p
			}
			p.Passed, p.Last = p.Passed+1, at
		case len(p.Due) >= most:
			return p
		default:
			p.Due = append(p.Due, p.Next)
		}
		last = at
	}
}

// Between returns the moments from start to end, both included, at most a thousand.
func (s *Spec) Between(start, end time.Time) (all []time.Time, more bool) {
	for at := s.Next(start.Add(-time.Microsecond)); !at.IsZero() && !at.After(end); at = s.Next(at) {
		if len(all) == maxAtOnce {
			return all, true
		}
		all = append(all, at)
	}
	return all, false
}

// Coming returns the next moments after one, at most n.
func (s *Spec) Coming(t time.Time, n int) []time.Time {
	all := []time.Time{}
	for t = s.Next(t); !t.IsZero() && len(all) < n; t = s.Next(t) {
		all = append(all, t)
	}
	return all
}
