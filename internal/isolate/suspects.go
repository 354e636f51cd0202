package isolate

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/crash"
	"github.com/seed-41655fb1/weft/queue"
)

const (
	// soloDeaths is how many solo children a workflow ends, or hangs in, before it is parked.
	soloDeaths = 3
	// certain and doubtful are what a death of the solo child counts: doubtful if others were in
	// flight whose turn was over. A workflow is parked at parkedAt.
	certain, doubtful, parkedAt = 2, 1, 2 * soloDeaths
	// mostSuspects bounds the workflows that are remembered. The one that has been there longest is
	// forgotten first.
	mostSuspects = 10_000
)

// suspects are the workflows that were in flight in a child that died, or whose code hung in one.
type suspects struct {
	mu     sync.Mutex
	deaths map[string]int // of solo children, in halves
	order  []string
	doubts int // deaths for which several workflows may be to blame

	saving sync.Mutex // held while the file is written; locked before mu
	file   string     // empty if nothing is kept
	build  string
	log    *slog.Logger
}

// suspected is a workflow in the file of suspects.
type suspected struct {
	WorkflowID string `json:"workflowId"`
	Deaths     int    `json:"halfDeaths"`
}

// kept is the form of the file.
type kept struct {
	Version int `json:"version"`
	// Build is the program that ended the children. If the program is another now, its workflows
	// are suspects, but nothing is parked.
	Build     string      `json:"build"`
	Workflows []suspected `json:"workflows"`
}

// keptVersion is the version of the file's form. A file with another version is ignored.
const keptVersion = 1

// mostKept is the largest file that is read: mostSuspects ids of any allowed length fit into it.
const mostKept = 8 << 20

// open reads the file of suspects. If it cannot be read, all workflows begin without suspicion,
// which costs some child processes again.
func (s *suspects) open(file, build string, log *slog.Logger) {
	s.file, s.build, s.log, s.deaths = file, build, log, map[string]int{}
	if file == "" {
		return
	}
	k, err := readKept(file)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			log.Warn("the file of workflows that ended child processes cannot be read: none is a suspect", "file", file, "error", err)
		}
		return
	}
	for _, w := range k.Workflows[:min(len(k.Workflows), mostSuspects)] {
		if _, there := s.deaths[w.WorkflowID]; there {
			continue
		}
		if k.Build != build {
			w.Deaths = 0 // its code may be fixed
		}
		s.deaths[w.WorkflowID] = w.Deaths
		s.order = append(s.order, w.WorkflowID)
		if w.Deaths >= parkedAt {
			log.Warn("a workflow is still parked: its code ended child processes, or hung in them, before this start; terminate it, or start the server with code that is fixed", "workflowId", w.WorkflowID)
		}
	}
}

// Forget drops a workflow from a file of suspects that no process uses: its run was terminated.
func Forget(file, workflowID string) error {
	k, err := readKept(file)
	if err != nil {
		return nil // the next pool starts without suspects, and logs that
	}
	before := len(k.Workflows)
	k.Workflows = slices.DeleteFunc(k.Workflows, func(w suspected) bool { return w.WorkflowID == workflowID })
	if len(k.Workflows) == before {
		return nil
	}
	return replace(file, k)
}

func readKept(file string) (k kept, err error) {
	f, err := os.Open(file)
	if err != nil {
		return k, err
	}
	defer func() { _ = f.Close() }()
	if err := json.NewDecoder(io.LimitReader(f, mostKept)).Decode(&k); err != nil {
		return k, err
	}
	if k.Version != keptVersion {
		return kept{}, errors.New("another version of Weft wrote it")
	}
	return k, nil
}

// save writes the file of suspects. A crash before the rename leaves the old file. A workflow is
// then suspected once too often, or has to end one more child. The next save repairs that.
func (s *suspects) save() {
	if s.file == "" {
		return
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	k := kept{Version: keptVersion, Build: s.build, Workflows: []suspected{}}
	for _, w := range s.order {
		k.Workflows = append(k.Workflows, suspected{w, s.deaths[w]})
	}
	s.mu.Unlock()
	if err := replace(s.file, k); err != nil {
		s.log.Warn("the workflows that ended child processes could not be saved: a restart forgets them", "file", s.file, "error", err)
	}
}

// replace writes a file in full beside the old one, and puts it into its place.
func replace(file string, k kept) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// state reports whether a workflow is a suspect, and whether it is parked.
func (s *suspects) state(workflow string) (suspect, parked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, suspect := s.deaths[workflow]
	return suspect, n >= parkedAt
}

// add records that a workflow was in flight when a child died, or that its code hung in one, and
// reports whether that parks it. A death counts this many halves, and none if the child was not the
// solo one. The caller saves.
func (s *suspects) add(workflow string, halves int) (parked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaths == nil {
		s.deaths = map[string]int{}
	}
	if _, there := s.deaths[workflow]; !there {
		s.deaths[workflow] = 0
		s.order = append(s.order, workflow)
	}
	before := s.deaths[workflow]
	s.deaths[workflow] += halves
	parked = before < parkedAt && s.deaths[workflow] >= parkedAt
	for len(s.order) > mostSuspects {
		delete(s.deaths, s.order[0])
		s.order = s.order[1:]
	}
	return parked
}

// clear removes the suspicion against a workflow, and reports whether there was one.
func (s *suspects) clear(workflow string) (was bool) {
	if was = s.remove(workflow); was {
		s.save()
	}
	return was
}

func (s *suspects) remove(workflow string) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.deaths[workflow]; !there {
		return false
	}
	delete(s.deaths, workflow)
	for i, w := range s.order {
		if w == workflow {
			s.order = append(s.order[:i], s.order[i+1:]...)
			break
		}
	}
	return true
}

// turn returns how long a suspect runs alone.
func (s *suspects) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return crash.Turn(s.doubts)
}

// doubt lengthens turns.
func (s *suspects) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts++
}

// delay returns how long to postpone a delivery of a suspect whose turn has not come: about until
// all others have had theirs. The receives of a message are counted, so the delay must not be
// short.
func (s *suspects) delay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := crash.Turn(s.doubts) * time.Duration(len(s.order))
	return min(most/2+rand.N(most/2+1), queue.MaxDelay)
}

// acquit clears all suspects that have not ended a process alone, except the culprit. The caller
// saves.
func (s *suspects) acquit(culprit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts = 0
	s.order = slices.DeleteFunc(s.order, func(w string) bool {
		innocent := w != culprit && s.deaths[w] < certain
		if innocent {
			delete(s.deaths, w)
		}
		return innocent
	})
}
