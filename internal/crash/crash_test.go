package crash

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

// process is a recorder whose process ends without closing it.
type process struct {
	*Recorder
	log *bytes.Buffer
}

// Begin begins code that has not waited for its turn.
func (p *process) Begin(c runner.CodeRef) int { return p.Recorder.Begin(c, runner.NoTurn) }

func open(t *testing.T, dir, build string) *process {
	t.Helper()
	log := &bytes.Buffer{}
	r, err := Open(dir, build, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return &process{r, log}
}

// die closes the file as the death of a process does.
func (p *process) die(t *testing.T) {
	t.Helper()
	if err := p.notes.file.Close(); err != nil {
		t.Fatal(err)
	}
}

// park lets code end enough processes of the build b1 to be parked.
func park(t *testing.T, dir string, c runner.CodeRef) {
	t.Helper()
	for range enough {
		p := open(t, dir, "b1")
		p.Begin(c)
		p.die(t)
	}
}

func code(kind runner.CodeKind, id string, part uint64) runner.CodeRef {
	return runner.CodeRef{Kind: kind, WorkflowID: id, RunID: history.NewRunID(1, [8]byte{7}), Part: part}
}

// Code that runs at three deaths is parked, for this build, and named in the first line of the log.
// Code that ran beside it at the first death and returns under the next process is cleared.
func TestParkedAfterThreeDeaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad, good := code(runner.CodeTask, "bad", 0), code(runner.CodeActivity, "good", 5)
	for death := range enough {
		p := open(t, dir, "b1")
		if p.log.Len() > 0 || p.Parked(bad) != "" {
			t.Errorf("after %d deaths: parked for %q, with the log %q", death, p.Parked(bad), p.log)
		}
		n := p.Begin(good)
		if death > 0 {
			p.End(n)
		}
		p.Begin(bad)
		p.die(t)
	}
	p := open(t, dir, "b1")
	for c, want := range map[runner.CodeRef]bool{
		bad: true, code(runner.CodeQuery, "bad", 1): true, code(runner.CodeUpdate, "bad", 1): true, code(runner.CodeActivity, "bad", 1): false,
		good: false, code(runner.CodeTask, "good", 0): false,
	} {
		if reason := p.Parked(c); strings.HasPrefix(reason, "parked:") != want {
			t.Errorf("%v: %q; want it parked: %v", c, reason, want)
		}
	}
	line, _, _ := strings.Cut(p.log.String(), "\n")
	for _, want := range []string{"level=ERROR", "parked", "bad", string(bad.RunID), "terminate or reset", "start a fixed build"} {
		if !strings.Contains(line, want) || strings.Contains(line, "good") {
			t.Errorf("the first line has no %q, or names a good run: %s", want, line)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if p = open(t, dir, "b1"); p.Parked(bad) == "" {
		t.Error("a clean end has freed it")
	}
	p.Forget("bad", 1)
	p.die(t)
	if p = open(t, dir, "b1"); p.Parked(bad) != "" || p.log.Len() > 0 {
		t.Errorf("it is parked although its run has closed: %s", p.log)
	}
}

// A death counts once against code that runs several times at once, as local activities of one type
// do.
func TestDeathCountsOnce(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), code(runner.CodeLocal, "w", 9)
	p := open(t, dir, "b1")
	for range 2 * enough {
		p.Begin(c)
	}
	p.die(t)
	if p = open(t, dir, "b1"); p.Parked(c) != "" || p.log.Len() > 0 {
		t.Errorf("parked for %q after one death, with the log %q", p.Parked(c), p.log)
	}
}

// Another build runs what was parked.
func TestAnotherBuildFrees(t *testing.T) {
	t.Parallel()
	dir, bad := t.TempDir(), code(runner.CodeQuery, "bad", 9)
	park(t, dir, bad)
	if p := open(t, dir, "b2"); p.Parked(bad) != "" || p.log.Len() > 0 {
		t.Errorf("another build has it parked: %s", p.log)
	}
}

// What runs when a process is closed is no suspect, and what is kept after a failure is as before.
func TestCleanEnd(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), code(runner.CodeActivity, "w", 5)
	for range 2 * enough {
		p := open(t, dir, "b1")
		n := p.Begin(c)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p.End(n)
		if p.Parked(c) != "" || p.log.Len() > 0 {
			t.Fatalf("parked for %q, with the log %q", p.Parked(c), p.log)
		}
	}
}

// Suspects run one at a time. After its time the next one begins, and a death is not held against
// the one before.
func TestSuspectsTakeTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow, bad := code(runner.CodeActivity, "slow", 5), code(runner.CodeTask, "bad", 0)
	synctest.Test(t, func(t *testing.T) {
		p := open(t, dir, "b1")
		p.Begin(slow)
		p.Begin(bad)
		p.die(t)
		for doubts := range 2 * (enough - 1) { // slow runs beside bad each time
			p := open(t, dir, "b1")
			if p.Parked(bad) != "" {
				t.Errorf("parked after %d deaths that may be another's", doubts)
			}
			n := p.Begin(slow)
			began := time.Now()
			done := make(chan int)
			go func() { done <- p.Begin(bad) }()
			synctest.Wait()
			select {
			case <-done:
				t.Error("two suspects run at once")
			default:
			}
			<-done
			if waited := time.Since(began); waited != []time.Duration{5, 20, 80, 80}[doubts]*time.Second || n == noNote {
				t.Errorf("after %d doubts the second waited for %v", doubts, waited)
			}
			p.die(t)
		}
		p = open(t, dir, "b1")
		if p.Parked(slow) != "" || p.Parked(bad) == "" {
			t.Errorf("slow is parked for %q, and bad for %q; want bad alone", p.Parked(slow), p.Parked(bad))
		}
		n := p.Begin(slow)
		p.End(n)
		if len(p.suspects) != 1 || p.turn != noNote {
			t.Errorf("%d suspects, and the turn is of %d; want the parked one alone, and nobody's", len(p.suspects), p.turn)
		}
		p.die(t)
	})
}

// Code that ends the process 7 s after it begins is parked. Code that runs beside it for longer is
// not.
func TestSlowCulprit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	culprit, innocents := code(runner.CodeActivity, "culprit", 5), []runner.CodeRef{code(runner.CodeActivity, "a", 5), code(runner.CodeActivity, "b", 5)}
	synctest.Test(t, func(t *testing.T) {
		for death := 0; ; death++ {
			p := open(t, dir, "b1")
			for _, c := range innocents {
				if why := p.Parked(c); why != "" {
					t.Fatalf("after %d deaths %s is parked: %s", death, c.WorkflowID, why)
				}
			}
			if p.Parked(culprit) != "" {
				if death > enough+1 {
					t.Errorf("the culprit is parked after %d deaths", death)
				}
				p.die(t)
				return
			}
			ended := make(chan struct{})
			go func() {
				p.Begin(culprit)
				time.Sleep(7 * time.Second)
				close(ended)
			}()
			synctest.Wait()
			for _, c := range innocents {
				go func() {
					select {
					case <-ended:
					default:
						n := p.Begin(c)
						time.Sleep(time.Minute)
						_ = n // the process is dead by then
					}
				}()
				synctest.Wait()
			}
			<-ended
			left, err := os.ReadFile(filepath.Join(dir, notesName))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // those of this process end
			p.die(t)
			if err := os.WriteFile(filepath.Join(dir, notesName), left, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A recorder whose file takes no more says so once, and the code runs.
func TestFailedWrites(t *testing.T) {
	t.Parallel()
	p := open(t, t.TempDir(), "b1")
	p.die(t) // its file is closed
	for range 3 {
		p.End(p.Begin(code(runner.CodeTask, "w", 0)))
	}
	if n := strings.Count(p.log.String(), "cannot write"); n != 1 {
		t.Errorf("%d warnings, want one: %s", n, p.log)
	}
}

// With any content of the files, the recorder opens, and reads no note that was not written.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := open(t, dir, "b1")
	p.Begin(code(runner.CodeTask, "w", 3))
	p.die(t)
	path := filepath.Join(dir, notesName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if notes, err := readNotes(path, "b1"); err != nil || len(notes) != 1 || notes[0].code != code(runner.CodeTask, "w", 3) {
		t.Fatalf("%v, %v; want the note", notes, err)
	}
	for at := headerSize; at < headerSize+idsAt+40; at++ {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x80
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		notes, err := readNotes(path, "b1")
		inside := at < headerSize+idsAt+len("w")+len(history.NewRunID(1, [8]byte{}))
		if err != nil || len(notes) != map[bool]int{true: 0, false: 1}[inside] {
			t.Errorf("with byte %d changed: %v, %v", at-headerSize, notes, err)
		}
	}
	if err := os.WriteFile(path, whole[:headerSize+9], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, suspectsName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p = open(t, dir, "b1"); len(p.suspects) != 0 || !strings.Contains(p.log.String(), "a new record begins") {
		t.Errorf("%d suspects, and the log: %s", len(p.suspects), p.log)
	}
	p.die(t)
}

// Code for which there is no place runs without a note. A note allocates nothing.
func TestNotes(t *testing.T) {
	t.Parallel()
	p := open(t, t.TempDir(), "b1")
	defer p.die(t)
	var all []int
	for i := range places {
		all = append(all, p.Begin(code(runner.CodeTask, fmt.Sprint("w", i), 0)))
	}
	if n := p.Begin(code(runner.CodeTask, "one too many", 0)); n != noNote {
		t.Errorf("one too many has note %d", n)
	}
	for _, n := range all {
		p.End(n)
	}
	c := code(runner.CodeUpdate, "w", 1)
	p.End(p.Begin(c))
	if notes, err := readNotes(filepath.Join(p.dir, notesName), "b1"); err != nil || len(notes) != 0 {
		t.Errorf("%d notes are left, %v", len(notes), err)
	}
}

// BenchmarkNote measures what the recorder costs for each piece of code.
func BenchmarkNote(b *testing.B) {
	r, err := Open(b.TempDir(), "b1", slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	c := code(runner.CodeUpdate, "workflow", 1)
	b.ReportAllocs()
	for b.Loop() {
		r.End(r.Begin(c, runner.NoTurn))
	}
}

// All records of a terminated workflow are dropped, of all builds and of the last death. The rest
// stays.
func TestForgetOffline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Forget(dir, "bad"); err != nil {
		t.Errorf("in a directory without a record: %v", err)
	}
	bad, worse := code(runner.CodeTask, "bad", 0), code(runner.CodeTask, "worse", 0)
	for range enough + 1 { // the last death is only in the notes
		p := open(t, dir, "b1")
		p.write(bad)
		p.write(worse)
		p.die(t)
	}
	if err := Forget(dir, "bad"); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, "b1")
	if p.Parked(bad) != "" || p.Parked(worse) == "" {
		t.Errorf("parked: %q and %q, want the second alone", p.Parked(bad), p.Parked(worse))
	}
	if strings.Contains(p.log.String(), "bad") {
		t.Errorf("the log names a forgotten run: %s", p.log)
	}
}

// A suspect is named by the run id that its code last ran with: a start that never landed has
// another one when it is tried again.
func TestLastRunIDIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var last history.RunID
	for death := range enough {
		last = history.NewRunID(1, [8]byte{byte(death)})
		p := open(t, dir, "b1")
		p.Begin(runner.CodeRef{Kind: runner.CodeTask, WorkflowID: "w", RunID: last})
		p.die(t)
	}
	if p := open(t, dir, "b1"); !strings.Contains(p.log.String(), string(last)) {
		t.Errorf("the log has not the run id %s: %s", last, p.log)
	}
}

// A parked start lands under the run id of its last try, which never ran. The next process names
// that id.
func TestLandedRunIsNamed(t *testing.T) {
	t.Parallel()
	dir, bad := t.TempDir(), code(runner.CodeTask, "bad", 0)
	park(t, dir, bad)
	landed := bad
	landed.RunID = history.NewRunID(1, [8]byte{9})
	p := open(t, dir, "b1")
	if p.Parked(landed) == "" {
		t.Fatal("the start that is tried again is not parked")
	}
	p.die(t)
	if p = open(t, dir, "b1"); !strings.Contains(p.log.String(), string(landed.RunID)) || strings.Contains(p.log.String(), string(bad.RunID)) {
		t.Errorf("the first line is %s, want the run id %s alone", p.log, landed.RunID)
	}
}
