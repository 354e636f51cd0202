package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/workflow"
)

// ledger is the harness's own record of its requests and their answers.
type ledger struct {
	mu sync.Mutex
	// expired says that closed runs may be deleted, because more time than their retention has
	// passed.
	expired bool
	books   map[string]*account
}

// account is what the harness has recorded of one book.
type account struct {
	started bool
	// entries and notes were acknowledged. refused were refused. asked are all that were sent.
	entries, notes, refused, asked map[string]bool
}

func newLedger() *ledger { return &ledger{books: map[string]*account{}} }

// of returns the account of a book. The caller holds the lock.
func (l *ledger) of(id string) *account {
	if l.books[id] == nil {
		l.books[id] = &account{entries: map[string]bool{}, notes: map[string]bool{}, refused: map[string]bool{}, asked: map[string]bool{}}
	}
	return l.books[id]
}

// with changes the account of a book.
func (l *ledger) with(id string, change func(*account)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.of(id))
}

// acknowledged returns how many entries and notes were acknowledged, and how many refused.
func (l *ledger) acknowledged() (done, refused int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.books {
		done += len(a.entries) + len(a.notes)
		refused += len(a.refused)
	}
	return done, refused
}

// ids lists the books that were started.
func (l *ledger) ids() (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, a := range l.books {
		if a.started {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// check demands of each book what must hold after a scenario.
func (l *ledger) check(ctx context.Context, c *client.Client) error {
	return few(each(l.ids(), func(id string) error {
		wrong, unread := l.checkBook(ctx, c, id, 20*time.Second)
		if unread != nil {
			return fmt.Errorf("%s cannot be read: %w", id, unread)
		}
		return wrong
	}))
}

// few joins errors, but at most five of them.
func few(all []error) error {
	all = slices.DeleteFunc(all, func(err error) bool { return err == nil })
	if len(all) > 5 {
		all = append(all[:5:5], fmt.Errorf("and %d more", len(all)-5))
	}
	return errors.Join(all...)
}

// toll is the cost of damage, in books.
type toll struct {
	unread, short []string // not served, and served without something acknowledged
}

// checkHarmed demands that an unaffected book is right. An affected book may be right, not served,
// or lack something acknowledged. No token may appear twice, or after it was refused. The caller
// checks that the server reports the loss.
func (l *ledger) checkHarmed(ctx context.Context, c *client.Client, hit func(id string) bool) (h toll, err error) {
	var mu sync.Mutex
	err = few(each(l.ids(), func(id string) error {
		const limit = 3 * time.Second // the client retries requests for a damaged book
		if !hit(id) {
			wrong, unread := l.checkBook(ctx, c, id, 20*time.Second)
			if unread != nil {
				return fmt.Errorf("%s is undamaged and not served: %w", id, unread)
			}
			return wrong
		}
		wrong, unread := l.checkBook(ctx, c, id, limit)
		worse := onlyWorse(wrong)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case unread != nil:
			h.unread = append(h.unread, id)
		case wrong != nil && worse == nil:
			h.short = append(h.short, id)
		}
		return worse
	}))
	slices.Sort(h.unread)
	slices.Sort(h.short)
	return h, err
}

// onlyWorse drops errors that reported damage may cause, which is the loss of something
// acknowledged. Duplicates and refused tokens remain errors.
func onlyWorse(err error) error {
	if err == nil {
		return nil
	}
	var worse []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, "is lost") {
			worse = append(worse, line)
		}
	}
	if len(worse) == 0 {
		return nil
	}
	return errors.New(strings.Join(worse, "\n"))
}

// checkBook compares a book with its account.
func (l *ledger) checkBook(ctx context.Context, c *client.Client, id string, limit time.Duration) (wrong, unread error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := contain.Ask(limited, c, id, workflow.None{})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	refused := maps.Clone(l.of(id).refused)
	l.mu.Unlock()
	var all []error
	accepted := acceptances{}
	for run := history.RunID(""); ; {
		h, err := c.History(limited, id, string(run))
		if run != "" && l.expired && errors.Is(err, client.ErrNotFound) {
			accepted.cut(run)
			break
		}
		if err != nil {
			return nil, err
		}
		before, err := checkHistory(id, h, accepted, refused)
		all = append(all, err)
		if before == "" {
			break
		}
		run = before
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(id)
	all = append(all,
		compare(id, "entry", p.Entries, a.entries, a.refused, a.asked, accepted.entries),
		compare(id, "note", p.Notes, a.notes, a.refused, a.asked, func(string) int { return 1 }))
	return errors.Join(all...), nil
}

// acceptances has the numbers of the runs that accepted an update, by its id, the latest first. A
// run looks ids up in its own history and in that of the run before, so that an update which a
// caller repeats later is accepted again.
type acceptances map[string][]uint32

// add adds an acceptance, and reports whether it may be there.
func (a acceptances) add(id string, run uint32) bool {
	later := a[id]
	a[id] = append(later, run)
	return len(later) == 0 || later[len(later)-1] > run+1
}

// cut adds an acceptance to each update that a run which is gone, or one before it, may have
// accepted as well.
func (a acceptances) cut(gone history.RunID) {
	for id, runs := range a {
		if runs[len(runs)-1] > gone.Number()+1 {
			a[id] = append(runs, gone.Number())
		}
	}
}

// entries returns how many entries an update may have written.
func (a acceptances) entries(id string) int { return max(len(a[id]), 1) }

// compare demands that each acknowledged token is there, that none is there more often than it may
// be, that no refused one is there, and that each was sent.
func compare(id, what string, there []string, acknowledged, refused, asked map[string]bool, most func(token string) int) error {
	var all []error
	count := map[string]int{}
	for _, token := range there {
		count[token]++
		switch {
		case count[token] == most(token)+1:
			all = append(all, fmt.Errorf("%s: %s %s is there too often: %d times", id, what, token, count[token]))
		case refused[token]:
			all = append(all, fmt.Errorf("%s: %s %s was refused, and is there", id, what, token))
		case !asked[token]:
			all = append(all, fmt.Errorf("%s: nobody sent %s %s", id, what, token))
		}
	}
	for token := range acknowledged {
		if count[token] == 0 {
			all = append(all, fmt.Errorf("%s: %s %s was acknowledged and is lost", id, what, token))
		}
	}
	return errors.Join(all...)
}

// checkHistory demands that a history has no gap, resolves each activity and timer once, accepts no
// update twice, nor again after the run before, and has no refused update. It returns the run that
// this one continues.
func checkHistory(id string, h *client.History, accepted acceptances, refused map[string]bool) (before history.RunID, err error) {
	var all []error
	resolved, next := map[int64]bool{}, int64(1)
	resolve := func(scheduled, by int64) {
		if resolved[scheduled] {
			all = append(all, fmt.Errorf("%s %s: event %d resolves %d again", id, h.RunID, by, scheduled))
		}
		resolved[scheduled] = true
	}
	var last time.Time
	for _, e := range h.Events {
		if e.ID != next {
			all = append(all, fmt.Errorf("%s %s: event %d is in the place of %d", id, h.RunID, e.ID, next))
		}
		next = e.ID + 1
		if e.Time.Before(last) {
			all = append(all, fmt.Errorf("%s %s: the time goes backwards at event %d, by %v", id, h.RunID, e.ID, last.Sub(e.Time)))
		}
		last = e.Time
		switch a := e.Attributes.(type) {
		case *history.WorkflowExecutionStarted:
			before = a.ContinuedFrom
		case *history.WorkflowExecutionUpdateAccepted:
			if !accepted.add(a.UpdateID, h.RunID.Number()) {
				all = append(all, fmt.Errorf("%s: the update %s was accepted twice, by the runs %d", id, a.UpdateID, accepted[a.UpdateID]))
			}
			if refused[a.UpdateID] {
				all = append(all, fmt.Errorf("%s: the update %s was refused, and is in the history", id, a.UpdateID))
			}
		case *history.ActivityTaskCompleted:
			resolve(a.ScheduledEventID, e.ID)
		case *history.ActivityTaskFailed:
			resolve(a.ScheduledEventID, e.ID)
		case *history.ActivityTaskTimedOut:
			resolve(a.ScheduledEventID, e.ID)
		case *history.ActivityTaskCanceled:
			resolve(a.ScheduledEventID, e.ID)
		case *history.TimerFired:
			resolve(a.StartedEventID, e.ID)
		case *history.TimerCanceled:
			resolve(a.StartedEventID, e.ID)
		}
	}
	return before, errors.Join(all...)
}

// answers demands that the server answers a query or a list within a second. It asks up to five
// times, because a busy machine may delay some answers, but not all of them.
func answers(ctx context.Context, addr string) (fastest time.Duration, err error) {
	h := &http.Client{Timeout: 20 * time.Second}
	fastest = time.Hour
	var last error
	for range 5 {
		began := time.Now()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v1/workflows", nil)
		if err != nil {
			return 0, err
		}
		answer, err := h.Do(r)
		if err != nil {
			last = err
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode >= 300 {
			last = fmt.Errorf("a list was answered with %s", answer.Status)
			continue
		}
		if fastest = min(fastest, time.Since(began)); fastest < time.Second {
			return fastest, nil
		}
	}
	if last != nil {
		return fastest, fmt.Errorf("the server does not answer: %w", last)
	}
	return fastest, fmt.Errorf("the server took %v for an answer", fastest)
}

// isRefused reports whether an update was refused by its validator.
func isRefused(err error) bool {
	return client.AsRejected(err) != nil && strings.Contains(err.Error(), "this entry is refused")
}
