package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/crash"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskblobs"
	"github.com/seed-41655fb1/weft/internal/embedded/diskqueue"
	"github.com/seed-41655fb1/weft/internal/embedded/diskstore"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// Finding is one defect of a data directory.
type Finding struct {
	// Workflow is the id of the workflow with the defect; empty if there is none, or it is unknown.
	// Run is the number of its run, and RunID the run's id; 0 and empty if they are unknown. Commit
	// is the number of a commit of the run, 1 for the first, or 0.
	Workflow, RunID string
	Run, Commit     uint32
	// Err says what is wrong. It wraps disk.ErrCorrupt or an error of package history or encode.
	Err error
}

// String returns a line without a line break at its end.
func (f Finding) String() string {
	switch {
	case f.Workflow == "":
		return f.Err.Error()
	case f.Run == 0:
		return fmt.Sprintf("workflow %q: %v", f.Workflow, f.Err)
	}
	run := f.RunID
	if run == "" {
		run = fmt.Sprint(f.Run)
	}
	if f.Commit == 0 {
		return fmt.Sprintf("workflow %q, run %s: %v", f.Workflow, run, f.Err)
	}
	return fmt.Sprintf("workflow %q, run %s, commit %d: %v", f.Workflow, run, f.Commit, f.Err)
}

// Checked is how much a check has read.
type Checked struct {
	Runs, Commits, Attempts, Timers, Messages, Blobs, TableFiles int
	// Encoded is how many bodies were not decoded, because their key was not given. Their checksums
	// were verified.
	Encoded int
	// Findings is how many findings there were.
	Findings int
}

// Check reads everything in a data directory that no process has open, and calls found with each
// defect. It changes nothing there. keys opens what is encrypted; nil leaves that closed. It
// returns an error if it could not finish.
func Check(ctx context.Context, dir string, keys codec.Keys, found func(Finding)) (Checked, error) {
	c := &checker{ctx: ctx, found: found, seen: map[string]bool{}}
	db, err := disk.OpenToRead(dir, disk.Options{Damage: c.damage})
	if err != nil {
		for _, f := range c.early {
			found(f)
		}
		return c.Checked, err
	}
	c.store = diskstore.New(db)
	for _, f := range c.early {
		c.report(f)
	}
	c.codec = codec.New(codec.Options{Keys: keys, Blobs: diskblobs.New(db, nil)})
	c.TableFiles, err = db.VerifyTables(ctx)
	err = errors.Join(err, c.store.VisitAll(ctx, diskstore.Visitor{
		Item: c.item, Attempt: c.attempt, Timer: c.timer,
		Finding: func(p diskstore.Place, err error) { c.find(p, err) },
	}))
	c.endRun()
	c.known = true
	for _, r := range c.ranges { // those of the log, so far
		err = errors.Join(err, c.store.VisitDamaged(ctx, r, c.mayBeShort))
	}
	c.known = false
	err = errors.Join(err, diskqueue.VisitAll(db, c.message, c.damage))
	err = errors.Join(err, diskblobs.VisitAll(db, func(string) { c.Blobs++ }, c.damage))
	if len(c.lost) > 0 {
		c.find(diskstore.Place{}, fmt.Errorf("%w: nothing can be read of these: %s", disk.ErrCorrupt, strings.Join(c.lost, ", ")))
	}
	return c.Checked, errors.Join(err, db.Close())
}

// checker checks a data directory. One goroutine uses it.
type checker struct {
	Checked
	ctx    context.Context
	store  *diskstore.Store // nil while the directory is opened
	codec  *codec.Codec
	found  func(Finding)
	early  []Finding       // from before there was a store
	seen   map[string]bool // what was found of keys, files and ranges: several readings may report one
	ranges []disk.Range    // of the log that cannot be read
	lost   []string        // spaces that cannot be read at all
	known  bool            // what cannot be read was found before
	files  int             // damaged ones

	// The run whose items come.
	workflow string
	run      uint32
	next     uint32 // slot
	gap      error
	expires  bool // the store may have deleted items of the run
	decoder  history.Decoder
}

// damage records a report of what the data directory cannot read.
func (c *checker) damage(err error) {
	var key *disk.KeyError
	var file *disk.FileError
	var part *disk.RangeError
	var block *disk.BlockError
	switch {
	case c.known:
	case errors.As(err, &key):
		if c.isNew(fmt.Sprintf("key %d %x", key.Space, key.Key)) {
			c.find(diskstore.PlaceOf(key.Space, key.Key), err)
		}
	case errors.As(err, &file):
		if c.isNew("file " + file.File) {
			c.files++
			c.find(diskstore.Place{}, err)
		}
	case errors.As(err, &part):
		if c.isNew("range " + part.Range.String()) {
			c.missing(part)
		}
	case errors.As(err, &block) && c.files > 0: // the file is already named
	case c.isNew(err.Error()):
		c.find(diskstore.Place{}, err)
	}
}

// isNew reports whether a defect is found for the first time.
func (c *checker) isNew(id string) bool {
	if c.seen[id] {
		return false
	}
	c.seen[id] = true
	return true
}

// missing records a part of the tables that cannot be read.
func (c *checker) missing(e *disk.RangeError) {
	if e.Space == disk.Log {
		c.ranges = append(c.ranges, e.Range)
	}
	if text := diskstore.DescribeRange(e.Range); len(e.From) == 0 && len(e.To) == 0 {
		c.lost = append(c.lost, strings.TrimPrefix(text, "all "))
	} else {
		c.find(diskstore.Place{}, fmt.Errorf("%w: these cannot be read: %s", disk.ErrCorrupt, text))
	}
}

// mayBeShort records a run that may lack commits at its end, or all of them.
func (c *checker) mayBeShort(p diskstore.Place, commits uint32) {
	if !c.isNew(fmt.Sprintf("run %q %d", p.Workflow, p.Run)) {
		return
	}
	err := fmt.Errorf("%w: all commits of the run are missing", disk.ErrCorrupt)
	if commits > 0 {
		err = fmt.Errorf("%w: commits after the %d that there are may be missing", disk.ErrCorrupt, commits)
	}
	c.find(diskstore.Place{Workflow: p.Workflow, Run: p.Run}, err)
}

// DescribeRange describes the contents of a range of keys of a data directory: see the store's
// DescribeRange.
func DescribeRange(r disk.Range) string { return diskstore.DescribeRange(r) }

func (c *checker) find(p diskstore.Place, err error) {
	c.Findings++
	f := Finding{Workflow: p.Workflow, Run: p.Run, Commit: p.Commit, Err: err}
	if c.store == nil {
		c.early = append(c.early, f)
		return
	}
	c.report(f)
}

// report adds the id of the run to a finding, and reports the finding.
func (c *checker) report(f Finding) {
	if f.Run != 0 {
		f.RunID = c.store.RunID(c.ctx, f.Workflow, f.Run)
	}
	c.found(f)
}

// item checks the next item, which follows all those of earlier slots, runs and workflows.
func (c *checker) item(i store.Item) {
	c.Commits++
	if i.Workflow != c.workflow || i.Run != c.run || c.Runs == 0 {
		c.endRun()
		c.Runs++
		c.workflow, c.run, c.next, c.gap, c.expires, c.decoder = i.Workflow, i.Run, 0, nil, false, history.Decoder{}
	}
	c.expires = c.expires || !i.Expires.IsZero()
	if i.Slot != c.next && c.gap == nil {
		c.gap = fmt.Errorf("%w: commits %d to %d of the run are missing or damaged", disk.ErrCorrupt, c.next+1, i.Slot)
	}
	c.next = i.Slot + 1
	p := diskstore.Place{Workflow: i.Workflow, Run: i.Run, Commit: i.Slot + 1}
	if !c.opened(p, c.codec.OpenItem(c.ctx, &i)) {
		return
	}
	commit, err := c.decoder.Decode(i.Slot, i.Body)
	if err != nil {
		c.find(p, err)
		return
	}
	c.expires = c.expires || commit.Expires != 0
}

// endRun reports gaps in the slots of a run after its last item. A run with an expiry has gaps
// while the store deletes it.
func (c *checker) endRun() {
	if c.gap != nil && !c.expires {
		c.find(diskstore.Place{Workflow: c.workflow, Run: c.run}, c.gap)
	}
	c.gap = nil
}

// opened reports whether a body was opened, and records a finding if not.
func (c *checker) opened(p diskstore.Place, err error) bool {
	switch {
	case errors.Is(err, codec.ErrKey):
		c.Encoded++
	case err != nil && !errors.Is(err, disk.ErrCorrupt): // which the directory reports
		c.find(p, err)
	}
	return err == nil
}

func (c *checker) attempt(a store.Attempt) {
	c.Attempts++
	p := diskstore.Place{Workflow: a.Workflow, Run: a.Run}
	if !c.opened(p, c.codec.OpenAttempt(c.ctx, &a)) {
		return
	}
	if err := attempts.Check(a); err != nil {
		c.find(p, fmt.Errorf("an attempt at event %d: %w", a.Event, err))
	}
}

func (c *checker) timer(t store.Timer) {
	c.Timers++
	if c.opened(diskstore.Place{}, c.codec.OpenTimer(c.ctx, &t)) {
		c.decodeMessage(fmt.Sprintf("the timer %q", t.ID), t.Body)
	}
}

func (c *checker) message(id uint64, queue string, body []byte) {
	c.Messages++
	body, err := c.codec.OpenMessage(c.ctx, body)
	if c.opened(diskstore.Place{}, err) {
		c.decodeMessage(fmt.Sprintf("the message %d of the queue %q", id, queue), body)
	}
}

func (c *checker) decodeMessage(what string, body []byte) {
	m, err := outbox.Decode(body)
	if err == nil {
		return
	}
	var about engine.Message
	if m != nil {
		about = *m
	}
	c.find(diskstore.Place{Workflow: about.WorkflowID, Run: about.RunID.Number()}, fmt.Errorf("%s: %w", what, err))
}

// Terminate terminates the latest run of a workflow, or the one with this id, in a data directory
// that no process has open. It needs no code of the run. It also drops the workflow from the crash
// records. The run's messages are sent when a server starts. The termination is on the disk when
// Terminate returns nil. A crash before the crash records are written leaves a closed run in them,
// which a second call drops.
func Terminate(ctx context.Context, workflowID, runID, reason string, o Options) (err error) {
	if err := disk.CheckDirectory(o.Dir); err != nil {
		return err
	}
	o.noCode = true // the record of what ended the server's process stays
	s, err := Open(&engine.Registry{}, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c, err := s.Service.Process.Parser().End(workflowID, history.RunID(runID), reason)
	if err == nil {
		err = s.Service.Requests.Terminate(ctx, c)
	}
	switch {
	case err == nil, errors.Is(err, refusal.NotFound): // if the run has closed, an earlier call may have failed before the steps below
	case errors.Is(err, refusal.NotReady) && strings.Contains(err.Error(), "is encrypted"): // no code runs here that could fail
		return fmt.Errorf("the history of %q is encrypted and cannot be opened: give the server's --key-file", workflowID)
	default:
		return err
	}
	return errors.Join(err, crash.Forget(o.Dir, workflowID), isolate.Forget(filepath.Join(o.Dir, suspectsFile), workflowID))
}
