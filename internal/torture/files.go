package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fileScenarios damage the files of the data directory.
var fileScenarios = []scenario{
	{"bits", "one flipped bit in a stopped directory, at 1,000 places in the full form", 2.5, damaging(1000, flip)},
	{"truncation", "a file of a stopped directory is cut", 1, damaging(200, cut)},
	{"torn", "unflushed writes at the end of the log are dropped, zeroed or swapped", 1, torn},
	{"deleted-file", "a file is deleted under a running server", 1, deletedFile},
	{"restored", "a backup of an earlier moment is put back", 1, restoredBackup},
}

// files lists the files of a directory that hold something, in order.
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

// used is how much of a file is not zero at its end: files of the log have room kept for them.
func used(data []byte) int { return len(bytes.TrimRight(data, "\x00")) }

// flip flips one bit of a file, each byte of the directory as likely as another.
func flip(r *rand.Rand, dir string) (what string, err error) {
	all, err := files(dir)
	if err != nil {
		return "", err
	}
	var sizes []int
	total := 0
	for _, f := range all {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", err
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
		return "", err
	}
	bit := r.IntN(8)
	data[at] ^= 1 << bit
	return fmt.Sprintf("bit %d of byte %d of %s", bit, at, filepath.Base(all[i])), os.WriteFile(all[i], data, 0o600)
}

// cut cuts a file somewhere.
func cut(r *rand.Rand, dir string) (what string, err error) {
	all, err := files(dir)
	if err != nil {
		return "", err
	}
	f := all[r.IntN(len(all))]
	data, err := os.ReadFile(f)
	if err != nil {
		return "", err
	}
	at := r.IntN(max(used(data), 1))
	return fmt.Sprintf("%s cut at byte %d of %d", filepath.Base(f), at, used(data)), os.Truncate(f, int64(at))
}

// fill has the server write for a while, and ends it cleanly or with kill -9, so that something is in the log as well.
func (s *scene) fill(d time.Duration, sig syscall.Signal) error {
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

// damaging damages copies of a directory. Each must start, or end with a reason. What it serves must be right, or not served: a book that
// is short of something acknowledged counts as lost unless the log of the server said at its start that something is damaged.
func damaging(full int, damage func(*rand.Rand, string) (string, error)) func(*scene) error {
	return func(s *scene) error {
		r := s.random()
		var n, started, unread, reported int
		if err := s.fill(2*time.Second, syscall.SIGTERM); err != nil {
			return err
		}
		stopped, killed := filepath.Join(s.root, "stopped"), filepath.Join(s.root, "killed")
		if err := os.CopyFS(stopped, os.DirFS(s.dir)); err != nil {
			return err
		}
		// Both copies have the same books; that of the killed process has more in its log.
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
		if err := os.CopyFS(killed, os.DirFS(s.dir)); err != nil {
			return err
		}
		later := s.ledger.without("more")
		var wrong []error
		for ; s.more(n, 5, full) && len(wrong) < 3; n++ {
			from, truth := killed, s.ledger
			if n%2 == 0 {
				from, truth = stopped, later
			}
			o := s.damaged(r, from, truth, damage)
			started, unread, reported = started+o.started, unread+o.unread, reported+o.reported
			if o.err != nil {
				wrong = append(wrong, fmt.Errorf("%s (%s): %w", o.what, filepath.Base(from), o.err))
			}
		}
		s.say("%d places: %d started, %d refused to start with a reason, %d reported damage, %d books not served", n, started, n-started, reported, unread)
		return errors.Join(wrong...)
	}
}

// harmed is what became of one damaged copy.
type harmed struct {
	what                      string
	started, unread, reported int
	err                       error
}

// damaged damages one copy and looks at what a server makes of it.
func (s *scene) damaged(r *rand.Rand, from string, truth *ledger, damage func(*rand.Rand, string) (string, error)) (o harmed) {
	if err := os.RemoveAll(s.dir); err != nil {
		return harmed{err: err}
	}
	if err := os.CopyFS(s.dir, os.DirFS(from)); err != nil {
		return harmed{err: err}
	}
	if o.what, o.err = damage(r, s.dir); o.err != nil {
		return o
	}
	p, err := s.launch(launch{})
	if err != nil {
		if o.err = clearEnd(p); p.alive() {
			p.kill(syscall.SIGKILL)
		}
		return o
	}
	o.started = 1
	var lost error
	o.unread, lost = truth.check(s.ctx, s.client(), true)
	_, slow := answers(s.ctx, s.addr)
	said := p.log.String()
	if strings.Contains(said, "level=ERROR") || strings.Contains(said, "level=WARN") {
		o.reported = 1
		lost = onlyWorse(lost)
	}
	if !p.alive() {
		o.err = fmt.Errorf("the server ended: %v: %s", p.cmd.ProcessState, said)
		return o
	}
	p.kill(syscall.SIGKILL)
	o.err = errors.Join(lost, slow)
	return o
}

// onlyWorse drops what damage that was reported may cost: something that was acknowledged. What is twice there, or was refused, stays.
func onlyWorse(err error) error {
	if err == nil {
		return nil
	}
	var worse []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, "is lost") && !strings.HasPrefix(line, "and ") {
			worse = append(worse, line)
		}
	}
	if len(worse) == 0 {
		return nil
	}
	return errors.New(strings.Join(worse, "\n"))
}

// without returns the ledger without the books whose ids begin with a name.
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

// torn damages what was written to the log after the last answer: it was never acknowledged, and a disk may have kept any part of it in any
// order. Everything that was acknowledged before must be there.
func torn(s *scene) error {
	r := s.random()
	n, tails := 0, 0
	for ; s.more(n, 3, 200); n++ {
		p, err := s.launch(launch{})
		if err != nil {
			return err
		}
		l := s.startLoad("book", callers)
		pause(s.ctx, 300*time.Millisecond)
		l.end()
		if err := s.settle(s.client(), time.Minute); err != nil {
			return err
		}
		before, err := logEnds(s.dir)
		if err != nil {
			return err
		}
		truth := s.ledger
		s.ledger = truth.copied() // what is acknowledged from here on may be lost: the disk is said to lie about it
		l = s.startLoad(fmt.Sprintf("torn-%d", n), callers)
		pause(s.ctx, time.Duration(5+r.IntN(60))*time.Millisecond)
		p.kill(syscall.SIGKILL)
		l.end()
		s.ledger = truth
		torn, err := tear(r, s.dir, before)
		if err != nil {
			return err
		}
		tails += torn
		if _, err = s.launch(launch{}); err != nil {
			return fmt.Errorf("with a torn log (%d): %w", n, err)
		}
		if err := s.verify(nil); err != nil {
			return fmt.Errorf("with a torn log (%d): %w", n, err)
		}
		s.notes = nil
		s.server.kill(syscall.SIGKILL)
	}
	done, _ := s.ledger.acknowledged()
	s.say("%d crashes, %d tails torn, %d acknowledged before", n, tails, done)
	if tails == 0 {
		return errors.New("nothing was torn")
	}
	return nil
}

// copied returns a ledger with the same accounts, which can change by itself.
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

// logEnds says how far each file of the log is written.
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

// tear drops, zeroes or swaps sectors in what was written to the last file of the log after the ends.
func tear(r *rand.Rand, dir string, before map[string]int) (torn int, err error) {
	now, err := logEnds(dir)
	if err != nil {
		return 0, err
	}
	for f, end := range now {
		from, known := before[f]
		if !known || end <= from {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			return torn, err
		}
		tail := data[from:end]
		switch at := r.IntN(len(tail)); r.IntN(3) {
		case 0: // the end is dropped
			clear(tail[at:])
		case 1: // a sector is not written
			clear(tail[at:min(at+512, len(tail))])
		case 2: // what follows is written, and what comes before is not
			clear(tail[:at])
		}
		if err := os.WriteFile(f, data, 0o600); err != nil {
			return torn, err
		}
		torn++
	}
	return torn, nil
}

// deletedFile deletes a file under a running server. The server must notice: it says so in its log, or ends.
func deletedFile(s *scene) error {
	r := s.random()
	n := 0
	for ; s.more(n, 1, 20); n++ {
		_ = os.RemoveAll(s.dir)
		s.ledger = newLedger()
		p, err := s.launch(launch{})
		if err != nil {
			return err
		}
		l := s.startLoad("book", callers)
		pause(s.ctx, time.Second)
		names, err := filepath.Glob(filepath.Join(s.dir, "log", "*.wal"))
		if err != nil || len(names) == 0 {
			l.end()
			return fmt.Errorf("there is no log in %s: %w", s.dir, err)
		}
		f := names[r.IntN(len(names))]
		if err := os.Remove(f); err != nil {
			l.end()
			return err
		}
		noticed := s.within(70*time.Second, func() bool {
			return !p.alive() || strings.Contains(p.log.String(), "level=ERROR")
		})
		l.end()
		if !noticed {
			return fmt.Errorf("%s was deleted, and the server has not noticed within 70 s: %d were acknowledged since it began", filepath.Base(f), len(s.ledger.books))
		}
		p.kill(syscall.SIGKILL)
	}
	s.say("%d deleted files, all noticed", n)
	return nil
}

// within waits until something is so, and reports whether it became so in time.
func (s *scene) within(d time.Duration, is func() bool) bool {
	for until := time.Now().Add(d); time.Now().Before(until) && s.ctx.Err() == nil; {
		if is() {
			return true
		}
		pause(s.ctx, 100*time.Millisecond)
	}
	return is()
}

// restoredBackup puts back a copy of the directory that was made while the server was stopped. What was acknowledged since is gone, and
// the harness's own truth goes back with it. The rest goes on.
func restoredBackup(s *scene) error {
	n := 0
	for ; s.more(n, 2, 30); n++ {
		if err := s.fill(500*time.Millisecond, syscall.SIGTERM); err != nil {
			return err
		}
		backup := filepath.Join(s.root, "backup")
		if err := errors.Join(os.RemoveAll(backup), os.CopyFS(backup, os.DirFS(s.dir))); err != nil {
			return err
		}
		truth := s.ledger.copied()
		if err := s.fill(500*time.Millisecond, syscall.SIGKILL); err != nil {
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
