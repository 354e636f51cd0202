// Package crash finds out which user code ends the process: with os.Exit, with a stack overflow, or
// by using up the memory. Go cannot recover from any of these.
//
// A [Recorder] records in a file of the data directory which code runs. The notes are written to
// the page cache and not flushed. They survive the death of the process, and after a power failure
// nobody is blamed. The next process reads them:
//
//   - Code that ran when a process died is a suspect.
//   - Suspects take turns, so that the next death names the culprit. A suspect whose code returns
//     is cleared.
//   - A death counts against the suspect whose turn it is. It counts half if others ran whose turn
//     was over.
//   - Three deaths park code for this build: it does not run.
//
// The states of code:
//
//	running          every note of a process that died, and was not closed
//	  └─▶ suspect    its code waits for its turn; cleared when it returns
//	        └─▶ parked   after three deaths; until the build is another, or the run closes
//
// Correctness does not depend on a note. Without one, code that ends the process does so again.
package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

const (
	// enough is how many deaths park code.
	enough = 3
	// FirstTurn is how long the turn of a suspect is at first, and LongestTurn how long it may
	// become: see Turn.
	FirstTurn, LongestTurn = 5 * time.Second, 80 * time.Second
	// notesName and suspectsName are the files.
	notesName, suspectsName = "crash.notes", "crash.suspects"
	// noNote is the note of code that is not recorded. awaited stands for the note of code that has
	// its turn and has not begun.
	noNote, awaited = -1, -2
)

// key names code.
type key struct {
	kind       runner.CodeKind
	workflowID string
	run        uint32 // its number: a start that never landed has the same when it is tried again
	part       uint64
}

// runKey names a run.
type runKey struct {
	workflowID string
	run        uint32
}

func keyOf(c runner.CodeRef) key { return key{c.Kind, c.WorkflowID, c.RunID.Number(), c.Part} }

func (k key) of() runKey { return runKey{k.workflowID, k.run} }

// suspect is code that ran when a process died.
type suspect struct {
	runID history.RunID
	// deaths counts those in which no other suspect ran, and doubtful those in which another ran
	// whose turn was over.
	deaths, doubtful int
}

func (s *suspect) parked() bool { return 2*s.deaths+s.doubtful >= 2*enough }

// Recorder implements runner.Recorder with two files of a data directory, which only its owner
// uses.
type Recorder struct {
	dir, build string
	log        *slog.Logger
	notes      *notes
	failed     atomic.Bool  // a write has failed, and that was logged
	watched    atomic.Int32 // suspects, those that are parked included; spares the lock while there are none

	mu       sync.Mutex
	suspects map[key]*suspect
	doubts   int            // deaths for which two suspects may be to blame
	runs     map[runKey]int // how many of the suspects a run has
	turn     int            // the note of the suspect whose turn it is, or noNote, or awaited
	// turnNumber changes with each turn, and when the code of a turn begins. turnEnd is when the
	// turn is over.
	turnNumber int
	turnEnd    time.Time
	change     chan struct{} // closed when the turn is free; nil while nobody waits
}

var _ runner.Recorder = (*Recorder)(nil)

// Open opens the recorder of a data directory, which only the caller uses. It counts the code that
// ran when the last process died, and logs what is parked.
func Open(dir, build string, log *slog.Logger) (*Recorder, error) {
	r := &Recorder{dir: dir, build: build, log: log, suspects: map[key]*suspect{}, runs: map[runKey]int{}, turn: noNote}
	known, doubts, err := readSuspects(filepath.Join(dir, suspectsName), build)
	if err != nil {
		log.Warn("the record of code that ended the process cannot be read: a new record begins", "error", err)
	}
	died, err := readNotes(filepath.Join(dir, notesName), build)
	if err != nil {
		log.Warn("the record of code that ran when the last process ended cannot be read", "error", err)
	}
	r.suspects, r.doubts = judged(known, doubts, died)
	for k := range r.suspects {
		r.runs[k.of()]++
	}
	r.watched.Store(int32(len(r.suspects)))
	r.announce() // before anything that may fail
	if len(died) > 0 {
		if err := r.save(); err != nil {
			return nil, err
		}
	}
	if r.notes, err = createNotes(filepath.Join(dir, notesName), build); err != nil {
		return nil, fmt.Errorf("create the file of notes: %w", err)
	}
	return r, nil
}

// judged returns the suspects after a death, and the doubts. Code becomes a suspect at its first
// death. A later death counts against the suspect whose turn it was. It counts half if others ran
// whose turn was over. A death counts once against code that ran several times at once, as local
// activities of one type do.
func judged(known map[key]*suspect, doubts int, died []note) (map[key]*suspect, int) {
	doubt := slices.ContainsFunc(died, func(n note) bool { return n.passed })
	counted := map[key]bool{}
	for _, n := range died {
		k := keyOf(n.code)
		s := known[k]
		if s == nil {
			if len(known) < mostSuspects {
				known[k] = &suspect{runID: n.code.RunID, deaths: 1}
				counted[k] = true
			}
			continue
		}
		s.runID = n.code.RunID // a start that never landed has another one when it is tried again
		if n.passed || counted[k] {
			continue
		}
		counted[k] = true
		if doubt {
			s.doubtful++
		} else {
			s.deaths++
		}
	}
	if doubt {
		doubts++
	}
	return known, doubts // turns keep their length until no suspect is left
}

// Turn returns how long the turn of a suspect is. After it the next suspect runs as well. If the
// process then dies, either of them may be to blame. After each such doubt turns are four times as
// long, so that slow code ends a process in its own turn.
func Turn(doubts int) time.Duration {
	turn := FirstTurn
	for ; doubts > 0 && turn < LongestTurn; doubts-- {
		turn *= 4
	}
	return min(turn, LongestTurn)
}

// announce logs what is parked, in one line.
func (r *Recorder) announce() {
	var parked []string
	for k, s := range r.suspects {
		if s.parked() {
			parked = append(parked, fmt.Sprintf("workflow %q run %q (%s)", k.workflowID, s.runID, what(k)))
		}
	}
	if len(parked) == 0 {
		return
	}
	r.log.Error("parked: code of these runs has ended the process each time that it ran, and does not run under this build; start a fixed build, or terminate or reset the runs",
		"runs", parked, "deaths", enough)
}

func what(k key) string {
	if k.kind == runner.CodeActivity {
		return fmt.Sprintf("activity of event %d", k.part)
	}
	return k.kind.String()
}

// Begin implements runner.Recorder. It allocates nothing for code that is not a suspect.
func (r *Recorder) Begin(c runner.CodeRef, turn int) int {
	if turn != runner.NoTurn {
		return r.beginInTurn(c, turn)
	}
	if r.watched.Load() > 0 {
		return r.beginSuspect(c)
	}
	return r.write(c)
}

// write records that code runs.
func (r *Recorder) write(c runner.CodeRef) int {
	n, err := r.notes.write(c)
	r.complain(err)
	return n
}

// complain logs the first write that fails: from then on deaths may have no explanation.
func (r *Recorder) complain(err error) {
	if err != nil && !r.failed.Swap(true) {
		r.log.Warn("code that ends the process may not be found: the crash recorder cannot write", "error", err)
	}
}

// Await implements runner.Recorder.
func (r *Recorder) Await(c runner.CodeRef) (turn int) {
	if r.watched.Load() == 0 {
		return runner.NoTurn
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := keyOf(c)
	if !r.waitForTurn(k) {
		return runner.NoTurn
	}
	r.take(awaited)
	return r.turnNumber
}

// Leave implements runner.Recorder.
func (r *Recorder) Leave(turn int) {
	if turn == runner.NoTurn {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == awaited && r.turnNumber == turn {
		r.freeTurn()
	}
}

// beginSuspect is Begin while there are suspects. A suspect without a turn waits for one.
func (r *Recorder) beginSuspect(c runner.CodeRef) int {
	r.mu.Lock()
	if !r.waitForTurn(keyOf(c)) {
		r.mu.Unlock()
		return r.write(c)
	}
	defer r.mu.Unlock()
	return r.writeInTurn(c)
}

// beginInTurn is Begin for code that Await gave a turn. It does not wait, because the lease of
// the code has begun. If that turn is over, the code runs beside the suspect that has the turn now.
func (r *Recorder) beginInTurn(c runner.CodeRef, turn int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.turn == awaited && r.turnNumber == turn
	switch {
	case r.suspects[keyOf(c)] == nil: // cleared, or its run was forgotten, since Await
		if own {
			r.freeTurn()
		}
		return r.write(c)
	case own, r.turn == noNote:
		return r.writeInTurn(c)
	}
	n := r.write(c)
	if n != noNote {
		r.complain(r.notes.pass(n))
	}
	return n
}

// writeInTurn records that code runs, and that it has the turn.
func (r *Recorder) writeInTurn(c runner.CodeRef) int {
	n := r.write(c)
	if n == noNote {
		r.freeTurn()
		return n
	}
	r.take(n)
	return n
}

// take gives the turn to code with this note, for the length of a turn.
func (r *Recorder) take(n int) {
	r.turnNumber++
	r.turn, r.turnEnd = n, time.Now().Add(Turn(r.doubts))
}

// waitForTurn waits until no suspect has the turn, or the code is no suspect any more, and reports
// whether it is one. It ends a turn whose time is over. It releases the lock while it waits.
func (r *Recorder) waitForTurn(k key) (suspected bool) {
	for r.suspects[k] != nil && r.turn != noNote {
		left := time.Until(r.turnEnd)
		if left <= 0 {
			if r.turn != awaited {
				r.complain(r.notes.pass(r.turn))
			}
			r.freeTurn()
			break
		}
		if r.change == nil {
			r.change = make(chan struct{})
		}
		change := r.change
		r.mu.Unlock()
		timer := time.NewTimer(left)
		select {
		case <-change:
		case <-timer.C:
		}
		timer.Stop()
		r.mu.Lock()
	}
	return r.suspects[k] != nil
}

// End implements runner.Recorder.
func (r *Recorder) End(n int) {
	if n == noNote {
		return
	}
	if r.watched.Load() > 0 {
		r.clear(n)
	}
	r.complain(r.notes.clear(n))
}

// clear clears a suspect whose code has returned, and lets the next one begin.
func (r *Recorder) clear(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == n {
		r.freeTurn()
	}
	if k := keyOf(r.notes.code(n)); r.suspects[k] != nil {
		r.drop(k)
		r.complain(r.save())
	}
}

// freeTurn lets the next suspect begin.
func (r *Recorder) freeTurn() {
	r.turn = noNote
	if r.change != nil {
		close(r.change)
		r.change = nil
	}
}

func (r *Recorder) drop(k key) {
	delete(r.suspects, k)
	if r.runs[k.of()]--; r.runs[k.of()] == 0 {
		delete(r.runs, k.of())
	}
	if len(r.suspects) == 0 {
		r.doubts = 0
		r.freeTurn()
	}
	r.watched.Store(int32(len(r.suspects)))
}

// Parked implements runner.Recorder. An activity or a query is parked alone. Other code is parked
// with all code of its run.
func (r *Recorder) Parked(c runner.CodeRef) string {
	if r.watched.Load() == 0 {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := keyOf(c)
	if r.runs[own.of()] == 0 {
		return ""
	}
	for k, s := range r.suspects {
		if k.of() == own.of() && s.parked() && bars(k, own) {
			if s.runID != c.RunID { // of a start that never landed: the next process names the run that did
				s.runID = c.RunID
				r.complain(r.save())
			}
			return fmt.Sprintf("parked: %s ended the process %d times in a row, so it does not run under this build (%s): start a fixed build, or terminate or reset the run",
				what(k), s.deaths+s.doubtful, r.build)
		}
	}
	return ""
}

// bars reports whether parked code keeps other code of its run from running.
func bars(parked, other key) bool {
	switch {
	case parked.kind == runner.CodeActivity || other.kind == runner.CodeActivity:
		return parked == other
	case parked.kind == runner.CodeQuery:
		return other.kind == runner.CodeQuery
	}
	return true
}

// Forget implements runner.Recorder.
func (r *Recorder) Forget(workflowID string, run uint32) {
	if r.watched.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[runKey{workflowID, run}] == 0 {
		return
	}
	for k := range r.suspects {
		if k.workflowID == workflowID && k.run == run {
			r.drop(k)
		}
	}
	r.complain(r.save())
}

// Close records that the process ends normally: the code still running is not suspected.
func (r *Recorder) Close() error {
	r.failed.Store(true) // what still runs may end later, and cannot be written any more
	return r.notes.close()
}

// Forget drops what is recorded of a workflow in a data directory that no process has open,
// whichever build wrote it: its run was terminated. A crash in the middle leaves records of a
// closed run, which Forget can drop again.
func Forget(dir, workflowID string) error {
	path := filepath.Join(dir, suspectsName)
	f, _ := suspectsIn(path) // an unreadable file counts as empty: the next process creates a new one, and logs that
	before := len(f.Suspects)
	f.Suspects = slices.DeleteFunc(f.Suspects, func(e suspectEntry) bool { return e.WorkflowID == workflowID })
	var err error
	if len(f.Suspects) < before {
		err = save(path, f)
	}
	return errors.Join(err, forgetNotes(filepath.Join(dir, notesName), workflowID))
}

// save writes the suspects. The caller holds the lock, or is alone.
func (r *Recorder) save() error {
	f := suspectFile{Build: r.build, Doubts: r.doubts}
	for k, s := range r.suspects {
		f.Suspects = append(f.Suspects, suspectEntry{k.kind, k.workflowID, s.runID, k.part, s.deaths, s.doubtful})
	}
	return save(filepath.Join(r.dir, suspectsName), f)
}

// save writes suspects to a file. A crash in the middle leaves the old file.
func save(path string, f suspectFile) error {
	body, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", body, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
