package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskstore"
	"github.com/seed-41655fb1/weft/store"
)

// fileScenarios damage the files of the data directory.
var fileScenarios = []scenario{
	{name: "bits", what: "one flipped bit in a stopped directory, at 1,000 places in the full form", weight: 2.5, least: 8 * time.Second, run: damaging(1000, flip)},
	{name: "truncation", what: "a file of a stopped directory is cut, at 200 places in the full form", weight: 1.2, least: 6 * time.Second, run: damaging(200, cut)},
	{name: "torn", what: "unflushed writes at the end of the log are dropped, zeroed or swapped", weight: 1, least: 3 * time.Second, run: torn},
	{name: "deleted-file", what: "each kind of file is deleted or replaced under a running server", weight: 0.1, least: 45 * time.Second, run: deletedFile, aside: true},
	{name: "restored", what: "a backup of an earlier moment is put back", weight: 0.7, least: 4 * time.Second, run: restoredBackup},
}

// files returns the nonempty files of a directory, in order.
func files(dir string) (all []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > 0 {
			all = append(all, path)
		}
		return err
	})
	slices.Sort(all)
	return all, err
}

// used returns the length of a file without the zeros at its end, because files of the log have
// reserved room.
func used(data []byte) int { return len(bytes.TrimRight(data, "\x00")) }

// flip flips one bit of a file. Each byte of the directory is equally likely.
func flip(r *rand.Rand, dir string) (w wound, err error) {
	all, err := files(dir)
	if err != nil {
		return w, err
	}
	var sizes []int
	total := 0
	for _, f := range all {
		data, err := os.ReadFile(f)
		if err != nil {
			return w, err
		}
		sizes = append(sizes, max(used(data), 1))
		total += max(used(data), 1)
	}
	at := r.IntN(total)
	i := 0
	for ; at >= sizes[i]; i++ {
		at -= sizes[i]
	}
	data, err := os.ReadFile(all[i])
	if err != nil {
		return w, err
	}
	bit := r.IntN(8)
	data[at] ^= 1 << bit
	return wound{filepath.Base(all[i]), fmt.Sprintf("bit %d of byte %d of %s", bit, at, filepath.Base(all[i]))}, os.WriteFile(all[i], data, 0o600)
}

// cut cuts a file off somewhere.
func cut(r *rand.Rand, dir string) (w wound, err error) {
	all, err := files(dir)
	if err != nil {
		return w, err
	}
	f := all[r.IntN(len(all))]
	data, err := os.ReadFile(f)
	if err != nil {
		return w, err
	}
	at := r.IntN(max(used(data), 1))
	return wound{filepath.Base(f), fmt.Sprintf("%s cut at byte %d of %d", filepath.Base(f), at, used(data))}, os.Truncate(f, int64(at))
}

// wound is damage to a directory: the file, and what was done to it.
type wound struct{ file, what string }

// fillFor lets the server write for a while, and ends it cleanly or with kill -9, which leaves some
// data only in the log.
func (s *testbed) fillFor(d time.Duration, sig syscall.Signal) error {
	p, err := s.launch(launch{})
	if err != nil {
		return err
	}
	l := s.startLoad("book", callers)
	pause(s.ctx, d)
	l.end()
	if err := s.settle(s.client(), time.Minute); err != nil {
		return err
	}
	p.kill(sig)
	return nil
}

// damaging damages copies of a directory, and starts a server on each.
//   - The server must start, or end with a reason that names the file, if docs/decisions/0033
//     allows that.
//   - What it serves must be right.
//   - A damaged book may be missing or lack something acknowledged, if the server's log names the
//     book or the file.
//   - All other books must be whole.
func damaging(full int, damage func(*rand.Rand, string) (wound, error)) func(*testbed) error {
	return func(s *testbed) error {
		r := s.random()
		s.spread = 4 // so that there are many books which the damage does not hit
		if err := s.fillFor(2*time.Second, syscall.SIGTERM); err != nil {
			return err
		}
		stopped, err := s.copyAs("stopped", "more")
		if err != nil {
			return err
		}
		// Both copies have the same books. That of the killed process has more in its log.
		p, err := s.launch(launch{})
		if err != nil {
			return err
		}
		l := s.startLoad("more", 2)
		pause(s.ctx, time.Second)
		l.end()
		if err := s.settle(s.client(), time.Minute); err != nil {
			return err
		}
		p.kill(syscall.SIGKILL)
		killed, err := s.copyAs("killed", "")
		if err != nil {
			return err
		}
		n, t := 0, tally{refused: map[string]int{}}
		var wrong []error
		for ; s.more(n, 5, full) && len(wrong) < 3; n++ {
			from := killed
			if n%2 == 0 {
				from = stopped
			}
			w, err := s.damaged(r, from, damage, &t)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s (%s): %w", w.what, filepath.Base(from.dir), err))
			}
		}
		s.say("%d places: %v", n, t)
		return errors.Join(wrong...)
	}
}

// copied is a copy of a data directory that no process has open, with its contents.
type copied struct {
	dir   string
	truth *ledger
	items items
}

// copyAs copies the data directory of a server that has ended. If without is not empty, the copy's
// ledger leaves out the books whose names begin with it, because they are opened later.
func (s *testbed) copyAs(name, without string) (c copied, err error) {
	c.dir = filepath.Join(s.root, name)
	if err := os.CopyFS(c.dir, os.DirFS(s.dir)); err != nil {
		return c, err
	}
	c.truth = s.ledger
	if without != "" {
		c.truth = s.ledger.without(without)
	}
	c.items, err = itemsOf(c.dir)
	return c, err
}

// items are the readable items of the workflows in a data directory.
type items map[string]*readable

// readable is what can be read of a workflow: the places of its commits (runs and slots), and
// whether the attempt records of all these runs can be read. Without those records a run is not
// loaded.
type readable struct {
	commits  map[[2]uint32]bool
	attempts bool
}

// itemsOf reads the undamaged items of a data directory that no process has open.
func itemsOf(dir string) (items, error) {
	ctx := context.Background()
	db, err := disk.OpenToRead(dir, disk.Options{Damage: func(error) {}})
	if err != nil {
		return nil, err
	}
	s, all := diskstore.New(db), items{}
	err = s.VisitAll(ctx, diskstore.Visitor{
		Item: func(i store.Item) {
			if all[i.Workflow] == nil {
				all[i.Workflow] = &readable{commits: map[[2]uint32]bool{}, attempts: true}
			}
			all[i.Workflow].commits[[2]uint32{i.Run, i.Slot}] = true
		},
		Attempt: func(store.Attempt) {}, Timer: func(store.Timer) {}, Finding: func(diskstore.Place, error) {},
	})
	for workflow, x := range all {
		for place := range x.commits {
			if _, err := s.ReadAttempts(ctx, workflow, place[0]); err != nil {
				x.attempts = false
			}
		}
	}
	return all, errors.Join(err, db.Close())
}

// hits returns the workflows some of whose items can be read here and not in a damaged copy. With
// edges, it also returns their neighbours in the order of the keys, because a damaged block of a
// table may have keys of the neighbours.
func (i items) hits(damaged items, edges bool) map[string]bool {
	all, order := map[string]bool{}, slices.SortedFunc(maps.Keys(i), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // a key begins with its length
	})
	for n, workflow := range order {
		if !i.isHit(damaged, workflow) {
			continue
		}
		all[workflow] = true
		if edges && n > 0 {
			all[order[n-1]] = true
		}
		if edges && n+1 < len(order) {
			all[order[n+1]] = true
		}
	}
	return all
}

// isHit reports whether an item of a workflow can be read here and not in a damaged copy.
func (i items) isHit(damaged items, workflow string) bool {
	whole, left := i[workflow], damaged[workflow]
	if whole == nil || left == nil {
		return whole != left
	}
	for place := range whole.commits {
		if !left.commits[place] {
			return true
		}
	}
	return whole.attempts && !left.attempts
}

// tally counts the outcomes for damaged copies.
type tally struct {
	started, reported, unread, short, whole int
	refused                                 map[string]int // by kind of file
}

// String prints the tally.
func (t tally) String() string {
	text := fmt.Sprintf("%d started, %d reported damage, books: %d whole, %d not served, %d short of something, all of them reported", t.started, t.reported, t.whole, t.unread, t.short)
	for _, kind := range slices.Sorted(maps.Keys(t.refused)) {
		text += fmt.Sprintf("; %d refused to start for a damaged %s, with a reason", t.refused[kind], kind)
	}
	return text
}

// kindOf returns the kind of a file of a data directory, by its name.
func kindOf(file string) string {
	kind, _, _ := strings.Cut(file, "-")
	if i := strings.LastIndexByte(file, '.'); i > 0 && file[i:] != ".db" && !strings.HasPrefix(file, "crash.") && !strings.HasPrefix(file, "marker.") {
		kind = "*" + file[i:]
	}
	return kind
}

// mayRefuse are the kinds of files without which a server may refuse to start
// (docs/decisions/0033): the list of the tables, and the file with the directory's format.
var mayRefuse = []string{"MANIFEST", "weft.db"}

// mayRefuseGone are the kinds of files whose loss may make a server refuse to start.
// docs/operations.md says how the operator puts them back.
var mayRefuseGone = append(mayRefuse[:len(mayRefuse):len(mayRefuse)], "*.wal", "*.sst", "marker.manifest.")

// damaged damages one copy and checks a server on it.
func (s *testbed) damaged(r *rand.Rand, from copied, damage func(*rand.Rand, string) (wound, error), t *tally) (w wound, err error) {
	if err := os.RemoveAll(s.dir); err != nil {
		return w, err
	}
	if err := os.CopyFS(s.dir, os.DirFS(from.dir)); err != nil {
		return w, err
	}
	if w, err = damage(r, s.dir); err != nil {
		return w, err
	}
	return w, s.judge(from, suffered{file: w.file, mayRefuse: mayRefuse}, t)
}

// suffered is the damage that a directory has suffered.
type suffered struct {
	file      string
	said      string               // what the log said about the damage before
	mayRefuse []string             // the kinds of files without which a server may refuse to start
	hit       func(id string) bool // books that may have lost something, besides those with unreadable commits; may be nil
}

// judge starts a server on a damaged directory and checks what it serves.
func (s *testbed) judge(from copied, d suffered, t *tally) error {
	file, said := d.file, d.said
	left, unreadable := itemsOf(s.dir)
	p, err := s.launch(launch{})
	if err != nil {
		if p.alive() {
			p.kill(syscall.SIGKILL)
			return err
		}
		kind := kindOf(file)
		t.refused[kind]++
		if err := clearEnd(p); err != nil {
			return err
		}
		known, _, _ := strings.Cut(strings.TrimSuffix(file, ".sst"), "-") // Pebble names tables by their numbers
		if !strings.Contains(p.log.String(), known) && !strings.Contains(said, file) {
			return fmt.Errorf("the server refuses to start without naming the file: %s", p.log)
		}
		if !slices.Contains(d.mayRefuse, kind) {
			return fmt.Errorf("the server refuses to start because of one file: %s", p.log)
		}
		return nil
	}
	t.started++
	if unreadable != nil { // the server starts, as without weft.db: nothing is affected
		left = from.items
	}
	hits := from.items.hits(left, strings.HasSuffix(file, ".sst"))
	h, wrong := from.truth.checkHarmed(s.ctx, s.client(), func(id string) bool { return hits[id] || d.hit != nil && d.hit(id) })
	_, slow := answers(s.ctx, s.addr)
	if !p.alive() {
		return fmt.Errorf("the server ended: %v: %s", p.cmd.ProcessState, p.log)
	}
	p.kill(syscall.SIGKILL)
	said += p.log.all()
	if strings.Contains(said, "damage") {
		t.reported++
	}
	t.unread, t.short, t.whole = t.unread+len(h.unread), t.short+len(h.short), t.whole+len(from.truth.ids())-len(h.unread)-len(h.short)
	if wrong != nil {
		wrong = fmt.Errorf("%w\nthe log: %s", wrong, strings.Join(damageOf(said), "\n"))
	}
	return errors.Join(wrong, slow, h.unreported(said, file))
}

// damageOf returns the first lines of a log that report damage.
func damageOf(log string) (found []string) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=ERROR") && len(found) < 6 {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// unreported returns an error if a log names neither a harmed book nor the damaged file.
func (h toll) unreported(said, file string) error {
	if strings.Contains(said, file) {
		return nil
	}
	for _, id := range append(h.unread, h.short...) {
		if !strings.Contains(said, id) && !strings.Contains(said, hex.EncodeToString([]byte(id))) {
			return fmt.Errorf("%s has lost something (not served: %v, short: %v), and the log names neither it nor %s: %s", id, h.unread, h.short, file, said[:min(len(said), 3000)])
		}
	}
	return nil
}

// without returns the ledger without the books whose ids begin with a prefix.
func (l *ledger) without(name string) *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := newLedger()
	for id, a := range l.books {
		if !strings.HasPrefix(id, name) {
			kept.books[id] = a
		}
	}
	return kept
}

// torn damages what was written to the log and not flushed when the process was killed, because a
// disk may have kept any part of it in any order. Everything that was acknowledged before must be
// there, and the server reports no damage. At the end the disk lies: what it has flushed is torn,
// too.
func torn(s *testbed) error {
	r := s.random()
	n, tails := 0, 0
	for ; s.more(n, 3, 200); n++ {
		torn, err := s.tornOnce(r, fmt.Sprintf("torn-%d", n), disk.Unflushed)
		if err != nil {
			return err
		}
		tails += torn
		p, err := s.launch(launch{})
		if err == nil {
			err = s.verify(nil)
		}
		if err == nil && strings.Contains(p.log.all(), "damage") {
			err = fmt.Errorf("the server reports damage: %s", p.log)
		}
		if err != nil {
			return fmt.Errorf("with a torn log (%d): %w", n, err)
		}
		s.notes = nil
		p.kill(syscall.SIGKILL)
	}
	done, _ := s.ledger.acknowledged()
	s.say("%d crashes, %d tails torn, %d acknowledged before", n, tails, done)
	if tails == 0 {
		return errors.New("nothing was torn")
	}
	return s.disksThatLie(r)
}

// tornOnce kills a server under load, and tears the ends of its log after places in its files.
// Afterwards the ledger has what was acknowledged before the last load began.
func (s *testbed) tornOnce(r *rand.Rand, name string, after func(dir string) (map[string]int, error)) (torn int, err error) {
	p, err := s.launch(launch{})
	if err != nil {
		return 0, err
	}
	l := s.startLoad("book", callers)
	pause(s.ctx, 300*time.Millisecond)
	l.end()
	if err := s.settle(s.client(), time.Minute); err != nil {
		return 0, err
	}
	before, err := logEnds(s.dir)
	if err != nil {
		return 0, err
	}
	truth := s.ledger
	s.ledger = truth.copied() // what is acknowledged from here on may be lost, because its flush may be the torn one
	l = s.startLoad(name, callers)
	pause(s.ctx, time.Duration(5+r.IntN(60))*time.Millisecond)
	p.kill(syscall.SIGKILL)
	l.end()
	s.ledger = truth
	from, err := after(s.dir)
	if err != nil {
		return 0, err
	}
	for f, end := range before {
		from[f] = max(from[f], end)
	}
	return tear(r, s.dir, from)
}

// disksThatLie also tears what was flushed. The server must still start, twice in a row, and report
// the damage if a book lacks something.
func (s *testbed) disksThatLie(r *rand.Rand) error {
	n, short := 0, 0
	for most := s.size(2, 20); n < most; n++ {
		// A damaged book takes no load, so each round has books of its own.
		s.ledger = newLedger()
		name := fmt.Sprintf("lie-%d", n)
		if err := os.RemoveAll(s.dir); err != nil {
			return err
		}
		if _, err := s.tornOnce(r, name, func(string) (map[string]int, error) { return map[string]int{}, nil }); err != nil {
			return err
		}
		reported := false
		for range 2 {
			p, err := s.launch(launch{})
			if err != nil {
				return fmt.Errorf("with a log whose flushes the disk has lost (%d): %w", n, err)
			}
			h, wrong := s.ledger.checkHarmed(s.ctx, s.client(), func(string) bool { return true })
			reported = reported || strings.Contains(p.log.all(), "damage")
			if len(h.unread)+len(h.short) > 0 && !reported {
				wrong = errors.Join(wrong, fmt.Errorf("%v are not served and %v are short of something, and the log reports no damage: %s", h.unread, h.short, p.log))
			}
			if wrong != nil {
				return fmt.Errorf("with a log whose flushes the disk has lost (%d): %w", n, wrong)
			}
			short += len(h.unread) + len(h.short)
			p.kill(syscall.SIGKILL)
		}
	}
	s.say("%d logs of which flushed parts were torn: %d books that were not whole, all of them reported", n, short)
	return nil
}

// copied returns an independent copy of a ledger.
func (l *ledger) copied() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := newLedger()
	for id, a := range l.books {
		b := c.of(id)
		b.started = a.started
		for _, m := range [][2]map[string]bool{{a.entries, b.entries}, {a.notes, b.notes}, {a.refused, b.refused}, {a.asked, b.asked}} {
			for k := range m[0] {
				m[1][k] = true
			}
		}
	}
	return c
}

// logEnds returns for each file of the log how far it is written.
func logEnds(dir string) (ends map[string]int, err error) {
	ends = map[string]int{}
	names, err := filepath.Glob(filepath.Join(dir, "log", "*"))
	for _, f := range names {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		ends[f] = used(data)
	}
	return ends, err
}

// tear drops, zeroes or swaps sectors of what was written to the files of the log after some
// places.
func tear(r *rand.Rand, dir string, after map[string]int) (torn int, err error) {
	now, err := logEnds(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range slices.Sorted(maps.Keys(now)) {
		from, end := after[f], now[f]
		if end <= from {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			return torn, err
		}
		tail := data[from:end]
		switch at := r.IntN(len(tail)); r.IntN(3) {
		case 0: // the end is lost
			clear(tail[at:])
		case 1: // a sector was not written
			clear(tail[at:min(at+512, len(tail))])
		case 2: // a later part was written, and an earlier one was not
			clear(tail[:at])
		}
		if err := os.WriteFile(f, data, 0o600); err != nil {
			return torn, err
		}
		torn++
	}
	return torn, nil
}

// harmedFiles are the kinds of files that deletedFile deletes or replaces, as patterns in the data
// directory.
var harmedFiles = []string{"log/*.wal", "tables/*.sst", "tables/MANIFEST-*", "tables/marker.manifest.*", "weft.db", "LOCK"}

// deletedFile deletes a file under a running server, or puts a copy in its place.
//   - The server must notice: its log names the file, it refuses writes with a reason, and it
//     continues to read.
//   - The next process serves what is left, and its log has reported what is lost.
//   - When the file is put back, nothing that was acknowledged is lost.
func deletedFile(s *testbed) error {
	r := s.random()
	s.spread = 4
	if err := s.fillFor(time.Second, syscall.SIGTERM); err != nil {
		return err
	}
	old, err := s.copyAs("old", "")
	if err != nil {
		return err
	}
	n, t := 0, tally{refused: map[string]int{}}
	var wrong []error
	for ; s.more(n, len(harmedFiles), 10*len(harmedFiles)) && len(wrong) < 3; n++ {
		pattern, replace := harmedFiles[n%len(harmedFiles)], n/len(harmedFiles)%2 == 1
		if s.brief { // the short form has no second round
			replace = r.IntN(2) == 1
		}
		replace = replace && !strings.Contains(pattern, "marker.") // the marker is empty, and only its name matters
		if err := s.goneWhileUsed(r, old, pattern, replace, &t); err != nil {
			wrong = append(wrong, fmt.Errorf("%s (replaced: %v): %w", pattern, replace, err))
		}
	}
	s.say("%d files deleted or replaced, all noticed, and nothing lost when they were put back; without them: %v", n, t)
	return errors.Join(wrong...)
}

// lookEvery is how often the server checks the files of its directory (internal/disk).
const lookEvery = 5 * time.Second

// noticeWithin is how long a server may take to notice a missing file.
const noticeWithin = 30 * time.Second

// goneWhileUsed deletes or replaces one file under a server on a copy of an old directory.
func (s *testbed) goneWhileUsed(r *rand.Rand, old copied, pattern string, replace bool, t *tally) error {
	s.ledger = old.truth.copied()
	if err := errors.Join(os.RemoveAll(s.dir), os.CopyFS(s.dir, os.DirFS(old.dir))); err != nil {
		return err
	}
	p, err := s.launch(launch{})
	if err != nil {
		return err
	}
	defer func() { s.server.kill(syscall.SIGKILL) }()
	l := s.startLoad("late", callers)
	defer l.end()
	pause(s.ctx, 300*time.Millisecond)
	if strings.HasSuffix(pattern, ".sst") {
		l.end() // under load a table may be merged with others, and then nobody would miss it
	}
	if replace {
		pause(s.ctx, lookEvery+time.Second) // the server does not notice that a table was replaced before it first looked at it
	}
	names, err := filepath.Glob(filepath.Join(s.dir, filepath.FromSlash(pattern)))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("the file does not exist: %w", err)
	}
	file := names[len(names)-1] // the current log, and the current list of the tables
	if strings.HasSuffix(file, ".sst") {
		file = names[0] // the oldest table, because the others may be merged into it
	}
	base, aside := filepath.Base(file), filepath.Join(s.root, "aside")
	visibility := base
	if strings.HasPrefix(base, "marker.manifest.") {
		visibility = "marker.manifest." // a growing number follows
	}
	_ = os.Remove(aside)
	if err := os.Link(file, aside); err != nil { // the link gets what is still written to the file
		return err
	}
	if err := remove(file, replace); err != nil {
		return err
	}
	if !s.within(noticeWithin, func() bool { return strings.Contains(p.log.all(), visibility) || !p.alive() }) {
		return fmt.Errorf("%s is gone, and the log does not name it after %v: %s", base, noticeWithin, p.log)
	}
	if !p.alive() {
		return fmt.Errorf("the server ended: %s", p.log)
	}
	took, refused := s.probe("gone")
	_, slow := answers(s.ctx, s.addr)
	l.end()
	if refused == nil {
		return fmt.Errorf("%s is gone, and writes are accepted", base)
	}
	if took > time.Second || slow != nil {
		return fmt.Errorf("%s is gone, and a write is refused after %v (%w): %w", base, took, refused, slow)
	}
	p.kill([]syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[r.IntN(2)])
	// What was written last may be gone with the file, so those books are affected. A book of the
	// old directory is affected if it cannot be read.
	rest := filepath.Join(s.root, "rest")
	if err := errors.Join(os.RemoveAll(rest), os.Rename(s.dir, rest), os.CopyFS(s.dir, os.DirFS(rest))); err != nil {
		return err
	}
	written := copied{truth: s.ledger, items: old.items}
	lost := suffered{file: visibility, said: p.log.all(), mayRefuse: mayRefuseGone, hit: func(id string) bool { return strings.HasPrefix(id, "late") }}
	if err := s.judge(written, lost, t); err != nil {
		return fmt.Errorf("without %s: %w", base, err)
	}
	if err := errors.Join(os.RemoveAll(s.dir), os.Rename(rest, s.dir), os.Rename(aside, file)); err != nil {
		return err
	}
	if _, err := s.launch(launch{}); err != nil {
		return fmt.Errorf("after %s was put back: %w", base, err)
	}
	notes := s.notes
	err = s.verify(l)
	s.notes = notes
	if err != nil {
		return fmt.Errorf("after %s was put back: %w", base, err)
	}
	return nil
}

// remove removes a file, or puts a copy in its place.
func remove(file string, replace bool) error {
	if !replace {
		return os.Remove(file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(file+".copy", data, 0o600), os.Rename(file+".copy", file))
}

// within waits until a condition holds, and reports whether it held in time.
func (s *testbed) within(d time.Duration, is func() bool) bool {
	for until := time.Now().Add(d); time.Now().Before(until) && s.ctx.Err() == nil; {
		if is() {
			return true
		}
		pause(s.ctx, 100*time.Millisecond)
	}
	return is()
}

// restoredBackup puts back a copy of the directory that was made while the server was stopped. What
// was acknowledged since is gone, so the harness's record is set back, too. The rest continues.
func restoredBackup(s *testbed) error {
	n := 0
	for ; s.more(n, 2, 30); n++ {
		if err := s.fillFor(500*time.Millisecond, syscall.SIGTERM); err != nil {
			return err
		}
		backup := filepath.Join(s.root, "backup")
		if err := errors.Join(os.RemoveAll(backup), os.CopyFS(backup, os.DirFS(s.dir))); err != nil {
			return err
		}
		truth := s.ledger.copied()
		if err := s.fillFor(500*time.Millisecond, syscall.SIGKILL); err != nil {
			return err
		}
		s.ledger = truth
		if err := errors.Join(os.RemoveAll(s.dir), os.CopyFS(s.dir, os.DirFS(backup))); err != nil {
			return err
		}
	}
	if _, err := s.launch(launch{}); err != nil {
		return err
	}
	s.say("%d restores", n)
	return s.verify(nil)
}
