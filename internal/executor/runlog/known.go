package runlog

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// MaxAge is how long what is known is used after it was proved. A run is deleted two hours after it
// has closed at the earliest, so no slot becomes empty that is known to be taken.
const MaxAge = time.Hour

// Known is what a process knows of a workflow: its latest run as far as it has seen it, and what
// may stand beside that.
type Known struct {
	WorkflowID string
	// Run is the latest run, or nil if nothing is known.
	Run *engine.Run
	// Highest is the highest run number that was seen, whatever became of the run.
	Highest uint32

	// before is the run that the latest one continues. It is closed, so it never changes; it is nil
	// if it is gone. It was read for the run with the id looked, or not at all if that is empty.
	before *engine.Run
	looked history.RunID
	// vanishing has, by number, the commit in the first slot of each run that was seen and is void
	// or gone. Its items may be deleted at any moment. The id is zero if the slot is empty.
	vanishing map[uint32][16]byte
	// beside is the highest number of a run that a void run was put beside, and besideAt is when.
	beside   uint32
	besideAt history.Timestamp
	// proved is when this was last the truth: it was read, or a put of the next commit landed.
	proved time.Time
}

// NewKnown returns what is known of a workflow of which nothing is known.
func NewKnown(workflowID string, now time.Time) *Known {
	return &Known{WorkflowID: workflowID, proved: now}
}

// IsOld reports whether this was proved longer ago than age.
func (k *Known) IsOld(now time.Time, age time.Duration) bool { return now.Sub(k.proved) > age }

// Prove records that this was the truth at a moment. Void runs and runs that are gone may be
// deleted earlier than others, so what knows of them is not made younger.
func (k *Known) Prove(at time.Time) {
	if k.Run != nil && len(k.vanishing) == 0 && k.beside == 0 {
		k.proved = at
	}
}

// Opened makes a run that this process has opened, or written to, the latest one.
func (k *Known) Opened(run *engine.Run) {
	k.Highest = max(k.Highest, run.Number)
	if before := k.Run; before != nil && run.State.Started.ContinuedFrom == before.State.RunID {
		k.before, k.looked = before, before.State.RunID
	}
	k.Run = run
}

// MadeVoid records that this process has made a run void.
func (k *Known) MadeVoid(number uint32, first [16]byte) {
	k.Highest = max(k.Highest, number)
	k.noteVanishing(number, first)
}

// Trim drops commits from memory, so that the latest run keeps about logBytes. It drops all commits
// of the run before, whose state is enough for requests. Trim returns about how many bytes are
// left.
func (k *Known) Trim(logBytes int64) (bytes int) {
	k.Run.Trim(logBytes)
	bytes = k.Run.Footprint()
	if k.before != nil {
		k.before.Trim(0)
		bytes += k.before.Footprint()
	}
	return bytes
}

// Vanishing returns, by number, the first commits of the runs above the latest that are void or
// gone.
func (k *Known) Vanishing() map[uint32][16]byte { return k.vanishing }

func (k *Known) noteVanishing(number uint32, first [16]byte) {
	if k.vanishing == nil {
		k.vanishing = map[uint32][16]byte{}
	}
	k.vanishing[number] = first
}

// saw reports whether anything of a run was seen, or a later run that is not void. A void run above
// it may stand for another put.
func (k *Known) saw(number uint32) bool {
	_, vanishing := k.vanishing[number]
	return vanishing || k.Run != nil && k.Run.Number >= number
}
