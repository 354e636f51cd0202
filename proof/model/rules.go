package model

import "slices"

// Kind is the kind of a message. The numbers are those of engine.MessageKind.
type Kind uint8

// The kinds that rules treat differently.
const (
	RunActivity       Kind = 1
	FireTimer         Kind = 2
	RetryTask         Kind = 3
	EndRun            Kind = 4
	TakeResult        Kind = 5
	StartTask         Kind = 6
	CloseActiv        Kind = 7
	StartOrCloseChild Kind = 8
	NotifyParent      Kind = 9
	DeliverExternal   Kind = 10
	CloseAttempt      Kind = 11
	NotifyCaller      Kind = 12
)

// outlives reports whether messages of this kind still have work to do after their run has closed.
func (k Kind) outlives() bool {
	return k == StartOrCloseChild || k == NotifyParent || k == DeliverExternal || k == NotifyCaller
}

// Status is the state of a run after a commit.
type Status uint8

// The states of a run.
const (
	Open Status = iota
	Completed
	Continued // closed, and the same put opened the next run
	Terminated
	Void // a fence in the first slot: the run never existed
)

// Owing is a message that a commit schedules.
type Owing struct {
	Kind  Kind
	Event int32
}

// Commit is one item of a log. Commits are immutable. All ids are numbers that represent the real
// ones; 0 means none.
type Commit struct {
	ID, Run      uint32 // the commit's id and its run's id
	Workflow     uint32
	Number       int32 // the run's number
	Slot         int32
	CausationIDs []uint32 // the causation ids of the messages that triggered it; none for a request
	Status       Status
	Fence        bool
	Request      uint32 // the request id of the start that opened the run; only in the first slot
	Lap          int32  // how often the run's chain has continued as new; only in the first slot
	From         uint32 // the run that this one continues; only in the first slot
	Next         uint32 // the run that continues this one; only in the last slot
	Sched        []Owing
	Done         []int32 // the events that it resolves
	Started      []int32 // children that are known to have started
	Task         bool    // a task wrote it or tried to, or it pauses its run
	Inline       []int32 // the scheduled events that its writer continues inline, without a message
	Signals      []uint32
	Updates      []uint32
	Over         uint32 // a void commit, or the last one of a deleted run, that this one replaces
	Beside       int32  // in a void run: the number of the run that the same put opened, or 0
}

// Message names the commit that schedules it.
type Message struct {
	Kind        Kind
	Workflow    uint32
	Number      int32  // the run's number
	Run         uint32 // the run's id
	Slot        int32
	Commit      uint32
	Event       int32
	CausationID uint32
	Send        uint32
	Seen        int32
	Attempt     int32

	// Only the explorer needs these.
	Received uint8
	Dead     bool // it is a dead letter
	Copied   bool // it is a delayed copy
	Twin     uint32

	Starts bool // a result that only says that a child has started
}

// Run is a run in the store.
type Run struct {
	Number  int32
	Commits []*Commit
	Gone    uint32         // the deleted ones of the first 32 slots, as bits
	far     map[int32]bool // the other deleted slots
	Old     bool           // a void run whose expiry has passed
	Cover   *Commit        // a void commit in the first slot, if the run's own commit is gone
}

// At returns the commit in a slot, or nil.
func (r *Run) At(slot int32) *Commit {
	if slot == 0 && r.Cover != nil {
		return r.Cover
	}
	if r.left() {
		if c := r.Commits[0]; c.Slot == slot {
			return c
		}
		return nil
	}
	if slot < 0 || int(slot) >= len(r.Commits) || r.gone(slot) {
		return nil
	}
	return r.Commits[slot]
}

// left reports whether nothing is left of the run but a void commit in the place of its last one,
// which was not its first.
func (r *Run) left() bool { return r.Commits[0].Status == Void && r.Commits[0].Slot > 0 }

// replaces reports whether a commit makes the run void in the place of its last commit.
func (r *Run) replaces(c *Commit) bool {
	return c.Status == Void && c.Over != 0 && r.Commits[0].Status != Void && int(c.Slot) == len(r.Commits)-1 && r.Last().ID == c.Over
}

// alone reports whether all commits but the last have been deleted.
func (r *Run) alone() bool {
	for slot := range int32(len(r.Commits) - 1) {
		if !r.gone(slot) {
			return false
		}
	}
	return true
}

// gone reports whether the commit in a slot has been deleted.
func (r *Run) gone(slot int32) bool { return slot < 32 && r.Gone&(1<<slot) != 0 || r.far[slot] }

// lose records that the commit in a slot was deleted.
func (r *Run) lose(slot int32) {
	if slot < 32 {
		r.Gone |= 1 << slot
		return
	}
	if r.far == nil {
		r.far = map[int32]bool{}
	}
	r.far[slot] = true
}

// intact reports whether no commit has been deleted.
func (r *Run) intact() bool { return r.Gone == 0 && len(r.far) == 0 }

// Last returns the last commit.
func (r *Run) Last() *Commit { return r.Commits[len(r.Commits)-1] }

// ID returns the id of the run.
func (r *Run) ID() uint32 { return r.Commits[0].Run }

// Closed reports whether the run has closed.
func (r *Run) Closed() bool { return r.Last().Status != Open }

// resolved reports whether one of the run's commits resolves an event.
func (r *Run) resolved(event int32) bool {
	for _, c := range r.Commits {
		if slices.Contains(c.Done, event) {
			return true
		}
	}
	return false
}

// started reports whether a child is known to have started.
func (r *Run) started(event int32) bool {
	return slices.ContainsFunc(r.Commits, func(c *Commit) bool { return slices.Contains(c.Started, event) })
}

// scheduled returns the commit that schedules an event, or nil.
func (r *Run) scheduled(event int32) *Commit {
	for _, c := range r.Commits {
		for _, o := range c.Sched {
			if o.Event == event && c.Status == Open {
				return c
			}
		}
	}
	return nil
}

// Needed reports whether the work of a message still has to be done (engine.Run.Needed). commit is
// the one that schedules the message.
func (r *Run) Needed(k Kind, event int32, commit uint32) bool {
	switch {
	case k == NotifyParent || k == NotifyCaller:
		return r.Closed()
	case k.outlives():
		return !r.resolved(event)
	case r.Closed():
		return false
	case k == EndRun:
		return true
	case k == RetryTask || k == StartTask:
		last := uint32(0)
		for _, c := range r.Commits {
			if c.Task || c.ID == commit {
				last = c.ID
			}
		}
		return last == commit
	}
	return !r.resolved(event)
}

// Trigger is what a handler holds: the causation id of a message, and the slot from which on it
// answers for that causation id's commits.
type Trigger struct {
	CausationID uint32
	Seen        int32
}

// Due is an owed message, with the commit that schedules it.
type Due struct {
	Commit *Commit
	Owing
}

// Owed returns the messages that the commits of the triggers' causation ids schedule and that are
// still needed (engine.Run.Owed).
func (r *Run) Owed(triggers []Trigger, except *Commit) (owed []Due) {
	for n, c := range r.Commits {
		if c == except || r.Closed() && n < len(r.Commits)-1 {
			continue
		}
		of := func(t Trigger) bool { return c.Slot >= t.Seen && slices.Contains(c.CausationIDs, t.CausationID) }
		if slices.ContainsFunc(triggers, of) {
			owed = append(owed, r.needed(c)...)
		}
	}
	return owed
}

// OwedFirst does the same as Owed for a message of the run that this one continues.
func (r *Run) OwedFirst(causation uint32) []Due {
	if c := r.Commits[0]; slices.Contains(c.CausationIDs, causation) {
		return r.needed(c)
	}
	return nil
}

// needed returns the messages that a commit schedules and that are still needed.
func (r *Run) needed(c *Commit) (due []Due) {
	for _, o := range c.Sched {
		if r.Needed(o.Kind, o.Event, c.ID) {
			due = append(due, Due{c, o})
		}
	}
	return due
}

// View is the result of a read of a workflow's log.
type View struct {
	Run     *Run  // the latest run that counts; nil if there is none
	Highest int32 // the highest number in the store
	// Vanishing are the runs that may be deleted at any moment: void runs, and runs that are being
	// deleted.
	Vanishing []Vanishing
}

// Vanishing is a run that may be deleted at any moment. It has the id of the commit in its first
// slot, or 0 if that slot is empty.
type Vanishing struct {
	Number int32
	Commit uint32
}

// Beside returns the numbers that a start takes in addition to that of its run
// (executor/commit.beside). No other start that finds less can then take one of them. Each number
// has the commit that is in its place.
func (v View) Beside() (all []Vanishing) {
	stays := int32(0)
	if v.Run != nil {
		stays = v.Run.Number
	}
	take := func(number int32) {
		taken := func(x Vanishing) bool { return x.Number == number }
		if number == v.Highest+1 || slices.ContainsFunc(all, taken) {
			return
		}
		at := Vanishing{Number: number}
		if i := slices.IndexFunc(v.Vanishing, taken); i >= 0 {
			at = v.Vanishing[i]
		}
		all = append(all, at)
	}
	take(stays + 1)
	for _, x := range v.Vanishing {
		if x.Number > stays {
			take(x.Number + 1)
		}
	}
	return all
}

// Look does a consistent read. It skips void runs and runs that are being deleted.
func Look(runs []Run) (v View) {
	for i := range runs {
		r := &runs[i]
		if !r.present() {
			continue
		}
		v.Highest = max(v.Highest, r.Number)
		if r.whole() == 0 || r.Commits[0].Status == Void {
			x := Vanishing{Number: r.Number}
			if c := r.At(0); c != nil {
				x.Commit = c.ID
			}
			v.Vanishing = append(v.Vanishing, x)
		}
	}
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		if n := r.whole(); n > 0 && r.Commits[0].Status != Void {
			v.Run = r
			if n < len(r.Commits) { // the run's end is gone, and nothing shows that
				v.Run = &Run{Number: r.Number, Commits: r.Commits[:n]}
			}
			return v
		}
	}
	return v
}

// whole returns how many of the run's commits a reader sees, counted from the first. It returns 0
// if a commit before the last existing one is missing, because such a run is being deleted.
func (r *Run) whole() int {
	if r.intact() {
		return len(r.Commits)
	}
	if r.Cover != nil {
		return 0
	}
	n := 0
	for n < len(r.Commits) && r.At(int32(n)) != nil {
		n++
	}
	for slot := n; slot < len(r.Commits); slot++ {
		if r.At(int32(slot)) != nil {
			return 0
		}
	}
	return n
}

// present reports whether any commit of the run is in the store.
func (r *Run) present() bool {
	if r.left() {
		return true
	}
	for slot := range r.Commits {
		if r.At(int32(slot)) != nil {
			return true
		}
	}
	return false
}

// Place says where a message's commit is.
type Place uint8

const (
	// NotYet means that the commit's slot is empty and may still be filled.
	NotYet Place = iota
	// InLog means that the commit is in the log.
	InLog
	// Never means that the commit's slot holds another commit, or can no longer be filled.
	Never
)

// Find returns where a message's commit is.
func (v View) Find(m *Message) Place {
	switch r := v.Run; {
	case r == nil || r.Number < m.Number:
		if slices.ContainsFunc(v.Vanishing, func(x Vanishing) bool { return x.Number == m.Number }) {
			return Never // the run is void or gone
		}
		return NotYet // even below a void run, a start that found less may still take the slot
	case r.Number > m.Number || r.ID() != m.Run:
		return Never
	case int(m.Slot) < len(r.Commits):
		if r.Commits[m.Slot].ID != m.Commit {
			return Never
		}
		return InLog
	case r.Closed():
		return Never
	}
	return NotYet
}

// MayFence reports whether a message whose commit is not in the log yet allows a fence in that
// commit's slot. It does if the slot before is taken, so that the commit's writer could still fill
// the slot.
func (v View) MayFence(m *Message) bool {
	if v.Highest == 0 && m.Slot != 0 {
		return false // the run was deleted: a run that opens with several commits continues another run, which would exist
	}
	if v.Run == nil || v.Run.Number < m.Number {
		return true // the run's first slot is fenced, whichever slot the message names
	}
	return int(m.Slot) == len(v.Run.Commits)
}

// Fits returns the rule that a put would break, or "". runs are the workflow's runs in the store.
// puts are the commits of the put, which land together.
func Fits(runs []Run, puts []*Commit) string {
	last := map[uint32]*Commit{}
	for _, c := range puts {
		before := func(d *Commit) bool { return d.Run == c.Run && d.Slot == c.Slot-1 }
		if slices.ContainsFunc(puts, before) {
			last[c.Run] = c // earlier commits of the put land, too
			continue
		}
		if broken := fits(runs, c); broken != "" {
			return broken
		}
		last[c.Run] = c
	}
	open := 0
	for i := range runs {
		r := &runs[i]
		if c := last[r.ID()]; c == nil && !r.Closed() && r.Commits[0].Status != Void || c != nil && c.Status == Open && c.Slot > 0 {
			open++
		}
	}
	for _, c := range puts {
		switch closing := closes(puts, c.From); {
		case c.Slot > 0 || c.Fence:
			continue
		case c.From != 0 && closing == nil:
			return "a run continues another, and the put that opened it did not close that"
		case c.Status == Open:
			open++
		}
	}
	for _, c := range puts {
		opening := func(o *Commit) bool { return o.Slot == 0 && o.Run == c.Next }
		if c.Next != 0 && !slices.ContainsFunc(puts, opening) {
			return "a run was closed to be continued, and the put that closed it did not open the next"
		}
	}
	if open > 1 {
		return "two runs are open"
	}
	return ""
}

func closes(puts []*Commit, run uint32) *Commit {
	for _, c := range puts {
		if run != 0 && c.Run == run && c.Status != Open {
			return c
		}
	}
	return nil
}

// fits does the same as Fits for the rules of one run.
func fits(runs []Run, c *Commit) string {
	var run *Run
	for i := range runs {
		if runs[i].Number == c.Number && runs[i].present() {
			run = &runs[i]
		}
	}
	switch {
	case c.Status == Void && c.Slot > 0 && (run == nil || run.Commits[0].Status == Void):
		return "" // another process has deleted the last commit, because it saw a run above
	case run == nil && c.Slot != 0:
		return "a commit landed in a run that is not there"
	case run == nil:
		return ""
	case run.replaces(c) && !run.Closed():
		return "a commit of an open run was replaced"
	case run.replaces(c) && !run.alone():
		return "the last commit of a run was replaced before the others were deleted"
	case run.replaces(c):
		return "" // a deletion
	case c.Slot == 0 && c.Fence && !run.intact():
		return "" // a start makes void the number of a run that is being deleted
	case c.Slot == 0 && run.Commits[0].Status == Void:
		return "" // a void run gives its place up
	case c.Slot == 0 && run.Gone&1 != 0:
		return "a run began in the place of one that is being deleted"
	case int(c.Slot) != len(run.Commits):
		return "a commit landed elsewhere than in the next slot"
	case run.Closed():
		return "a commit landed after the run had closed"
	case c.Run != run.ID():
		return "a commit landed in another run than its own"
	}
	for _, event := range c.Done {
		if run.resolved(event) {
			return "an event was resolved twice"
		}
	}
	for _, o := range c.Sched {
		if c.Status == Open && (o.Kind == RunActivity || o.Kind == FireTimer || o.Kind == StartOrCloseChild) && run.scheduled(o.Event) != nil {
			return "an event was scheduled twice"
		}
	}
	for _, before := range run.Commits {
		for _, id := range c.Updates {
			if slices.Contains(before.Updates, id) {
				return "an update was accepted twice in a run"
			}
		}
		for _, id := range c.Signals {
			if slices.Contains(before.Signals, id) {
				return "a signal was recorded twice in a run"
			}
		}
	}
	return ""
}

// Record is the record of an activity between its attempts.
type Record struct {
	Workflow uint32
	Number   int32
	Run      uint32
	Event    int32
	Begun    int32 // the last attempt that began, if the number of attempts is limited
	Failed   int32 // the last attempt that failed
	By       uint32
}

// Verdict is the decision on a message that asks for an attempt.
type Verdict uint8

const (
	// MayBegin means that the attempt begins.
	MayBegin Verdict = iota
	// Failed means that the attempt has failed, and that the message sends the next one.
	Failed
	// Dropped means that the attempt has failed, and that another message sends the next one.
	Dropped
	// Begun means that the attempt has begun. It still runs, or was interrupted.
	Begun
)

// isBy reports whether a record was written on behalf of a message, which then has to send what
// follows. A repaired first message stands for an attempt that ran inline.
func (r *Record) isBy(g *Message) bool { return r.By == g.Send || g.Seen > 0 && g.Attempt == 1 }

// Admit decides on a message for an attempt, by the activity's record
// (executor/activities.compare). sends says whether the message sends the next attempt if a
// delivery of the same sending has recorded the failure.
func Admit(r *Record, g *Message, sends bool) Verdict {
	switch mine := sends && r != nil && r.isBy(g); {
	case r == nil:
		return MayBegin
	case r.Failed >= g.Attempt && mine:
		return Failed
	case r.Failed >= g.Attempt:
		return Dropped
	case r.Begun >= g.Attempt:
		return Begun
	}
	return MayBegin
}
