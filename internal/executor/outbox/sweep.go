package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// SweepEvery is the interval at which Sweep has to be called.
	SweepEvery = time.Minute
	// sweepAhead is how far ahead a sweep looks. A timer is in its queue before its moment even if
	// one sweep is missed.
	sweepAhead = 2 * SweepEvery
	sweepPage  = 100
	// largeTimer is the size, in bytes, from which a timer is sent after the others: it may need
	// the bucket.
	largeTimer = 64 << 10
	// sweepSends bounds the time in which timers of a page are sent that cannot be sent together.
	// The large timers have as much time again.
	sweepSends = 15 * time.Second
	// setAsideFor is how long a timer waits that cannot be read or sent. Each try costs two writes.
	setAsideFor = 10 * time.Minute
	// lateAfter is how long a timer in the store may be overdue before a sweep reports it. Timers
	// are only overdue if sweeps are missing or fail.
	lateAfter = time.Minute
)

var (
	// ErrUnreadable is wrapped by the error of a Sweep that could not read some timers. If it is
	// the only error, all other timers are on their way.
	ErrUnreadable = errors.New("weft: timers cannot be read, and wait: deploy the version of Weft that wrote them, or give back the key")
	// ErrUnsent is wrapped by the error of a Sweep that could not send some timers. If it is the
	// only error, all other timers are on their way.
	ErrUnsent = errors.New("weft: timers cannot be sent, and wait: give the timer function its rights, and see whether the bucket and the queues answer")
	// errNotTried is the error of messages that were not sent for lack of time.
	errNotTried = outcome.OfQueue("send", errors.New("there was no time"))
)

// Sweep sends the messages of the store that are due soon, each with its remaining delay, and
// returns how many it sent. After an outage it sends the overdue ones first, and reports how late
// the earliest is.
//
// It deletes each timer after the send. A crash between the two sends the timer twice, and its
// receiver finds that it was handled.
//
// Sweep sets a timer aside, and tries it again after setAsideFor, if the timer is the reason that
// it cannot be sent:
//
//   - it cannot be read, because a newer version of Weft wrote it or its key is missing:
//     ErrUnreadable;
//   - it is large and the bucket does not answer, or its queue does not exist: ErrUnsent.
//
// A timer that its queue refuses for another reason stays for the next sweep. Such timers are set
// aside only if they fill the page. If the whole page fails, they are set aside only after they
// have been overdue for setAsideFor.
func (o *Outbox) Sweep(ctx context.Context) (sent int, err error) {
	s := sweep{o, aside{why: ErrUnreadable}, aside{why: ErrUnsent}}
	defer func() { err = errors.Join(err, s.unreadable.report(ctx, o), s.unsent.report(ctx, o)) }()
	for first := true; ; first = false {
		due, err := o.timers.DueTimers(ctx, o.host.Now().Add(sweepAhead), sweepPage)
		if err == nil && first {
			o.reportLate(ctx, due)
		}
		if err != nil || len(due) == 0 {
			return sent, err
		}
		more := len(due) == sweepPage || due[len(due)-1].More
		n, unclear, err := s.page(ctx, due, more)
		sent += n
		if err != nil || unclear != nil && n == 0 || !more {
			return sent, errors.Join(unclear, err)
		}
	}
}

// reportLate reports how late the earliest of the timers is that are due.
func (o *Outbox) reportLate(ctx context.Context, due []store.Timer) {
	now := o.host.Now()
	if len(due) == 0 || now.Sub(due[0].Due) <= lateAfter {
		o.late.Works(o.options.Logger, "timers are sent in time again")
		return
	}
	lag := now.Sub(due[0].Due)
	o.options.Observe.Observe(ctx, &observe.LateTimers{Lag: lag})
	o.late.Fails(o.options.Logger, slog.LevelWarn, now, "timers are late: sweeps are missing, or cannot send", nil, "late", lag.String(), "first", due[0].ID)
}

// sweep is a sweep while it runs.
type sweep struct {
	outbox             *Outbox
	unreadable, unsent aside
}

// page sends the timers of a page, or sets them aside. If it returns neither error, no timer of the
// page is due any more. unclear says why timers stay due whose queue does not take them. more says
// that timers may wait behind the page.
func (s *sweep) page(ctx context.Context, due []store.Timer, more bool) (sent int, unclear, err error) {
	var messages []engine.Message
	var readable, later []store.Timer
	for _, t := range due {
		m, err := Decode(t.Body)
		if err != nil {
			s.unreadable.record(t, err)
			later = append(later, t)
			continue
		}
		messages, readable = append(messages, *m), append(readable, t)
	}
	errs := s.sendDue(ctx, readable, messages)
	var gone, stay []store.Timer
	var why []error
	for i, t := range readable {
		switch err := errs[i]; {
		case err == nil:
			gone = append(gone, t)
		case isOwnFault(err):
			s.unsent.record(t, err)
			later = append(later, t)
		default:
			stay, why = append(stay, t), append(why, err)
		}
	}
	if len(gone) > 0 && len(stay) > sweepPage/2 || more && len(stay) == len(due) && s.outbox.host.Now().Sub(due[0].Due) > setAsideFor {
		for i, t := range stay {
			s.unsent.record(t, why[i])
		}
		later, why = append(later, stay...), nil
	}
	if len(why) > 0 {
		unclear = why[0]
	}
	if len(gone) > 0 {
		if err := s.outbox.timers.DeleteTimers(ctx, gone); err != nil {
			return len(gone), unclear, err
		}
	}
	return len(gone), unclear, s.setAside(ctx, later)
}

// isOwnFault reports whether a message could not be sent because of what it is, or of where it
// goes.
func isOwnFault(err error) bool {
	return errors.Is(err, queue.ErrRefused) || errors.Is(err, queue.ErrTooLarge) || errors.Is(err, queue.ErrInvalid)
}

// sendDue sends the messages of timers, and returns the error of each. It sends the large ones
// last, because they may need the bucket. Each group has its own time, so that enough is left to
// delete what was sent. If one large timer was refused, the large ones without a try get the same
// error.
func (s *sweep) sendDue(ctx context.Context, timers []store.Timer, messages []engine.Message) []error {
	errs := make([]error, len(messages))
	var small, large []int
	for i := range timers {
		if len(timers[i].Body) < largeTimer {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	s.sendPart(ctx, messages, small, errs)
	s.sendPart(ctx, messages, large, errs)
	if i := slices.IndexFunc(large, func(i int) bool { return errs[i] != nil && isOwnFault(errs[i]) }); i >= 0 {
		for _, j := range large {
			if errors.Is(errs[j], errNotTried) {
				errs[j] = errs[large[i]]
			}
		}
	}
	return errs
}

// sendPart sends some of the messages together. If that fails it sends them one by one while there
// is time, because one of them may be the reason. It may so send a message twice.
func (s *sweep) sendPart(ctx context.Context, messages []engine.Message, part []int, errs []error) {
	if len(part) == 0 {
		return
	}
	ctx, cancel := s.outbox.host.WithTimeout(ctx, sweepSends)
	defer cancel()
	all := make([]engine.Message, 0, len(part))
	for _, i := range part {
		all = append(all, messages[i])
	}
	err := s.outbox.Resume(ctx, all)
	if err == nil {
		return
	}
	for n, i := range part {
		switch {
		case n == 0 && (len(part) == 1 || ctx.Err() != nil):
			errs[i] = err
		case ctx.Err() != nil:
			errs[i] = errNotTried
		default:
			errs[i] = s.outbox.Resume(ctx, messages[i:i+1])
		}
	}
}

// setAside moves timers to a later moment: it puts them there, and then deletes them here. A crash
// between the two leaves both. The moment follows from the clock in steps, so that the next sweep
// puts most of them to the same place.
func (s *sweep) setAside(ctx context.Context, timers []store.Timer) error {
	if len(timers) == 0 {
		return nil
	}
	later := slices.Clone(timers)
	for i := range later {
		// The moment lies between two moments of parked messages. A message that is sent from here
		// and parked again, before the sweep deletes it here, would otherwise have the same id.
		later[i].Due = s.outbox.host.Now().Add(sweepAhead).Truncate(setAsideFor).Add(setAsideFor + ParkedFor/2)
	}
	if err := s.outbox.timers.PutTimers(ctx, later); err != nil {
		return err
	}
	return s.outbox.timers.DeleteTimers(ctx, timers)
}

// aside has the timers that a sweep has set aside for one reason.
type aside struct {
	why   error
	count int
	first store.Timer
	err   error // of the first
}

func (a *aside) record(t store.Timer, err error) {
	if a.count++; a.count == 1 {
		a.first, a.err = t, err
	}
}

// report logs that timers were set aside, once for each sweep, and returns an error that says so.
func (a *aside) report(ctx context.Context, o *Outbox) error {
	if a.count == 0 {
		return nil
	}
	o.options.Logger.ErrorContext(ctx, strings.TrimPrefix(a.why.Error(), "weft: "),
		"timers", a.count, "first", a.first.ID, "error", a.err, "triedAgainEvery", setAsideFor.String())
	return fmt.Errorf("%w: %d of them, the first %q: %w", a.why, a.count, a.first.ID, a.err)
}
