package crash

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"sync"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

// The file of notes has a header and then a fixed number of places, one for each piece of code that
// runs at the same time:
//
//	header   "weftnotes1", 1 if the process ended normally, the length of the build's name, the name
//	place    state, kind, lengths of the ids (2), part (8), CRC-32 of what is before and after it (4), workflow
//	         id, run id
const (
	magic      = "weftnotes1"
	headerSize = 512
	places     = 1024
	idsAt      = 16
	placeSize  = idsAt + engine.MaxIDLength + maxRunID
	maxRunID   = 49 // more than any run id has
	// mostSuspects is how many suspects are kept.
	mostSuspects = 2 * places

	free, running, passed = 0, 1, 2
)

// notes is the file of notes of this process.
type notes struct {
	file *os.File

	mu    sync.Mutex
	empty []int // places, the one used last at the end

	bodies [places][placeSize]byte
	codes  [places]runner.CodeRef
}

// createNotes replaces the file of notes by an empty one. It writes all of it: later writes need no
// space on the disk.
func createNotes(path, build string) (*notes, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	body := make([]byte, headerSize+places*placeSize)
	copy(body, magic)
	body[len(magic)+1] = byte(copy(body[len(magic)+2:headerSize], build[:min(len(build), 255)]))
	if _, err := f.WriteAt(body, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	n := &notes{file: f}
	for i := places - 1; i >= 0; i-- {
		n.empty = append(n.empty, i)
	}
	return n, nil
}

// write records that code runs. It returns noNote if there are no free places, or the ids are too
// long.
func (n *notes) write(c runner.CodeRef) (int, error) {
	if len(c.WorkflowID) > engine.MaxIDLength || len(c.RunID) > maxRunID {
		return noNote, nil
	}
	n.mu.Lock()
	if len(n.empty) == 0 {
		n.mu.Unlock()
		return noNote, nil
	}
	i := n.empty[len(n.empty)-1]
	n.empty = n.empty[:len(n.empty)-1]
	n.mu.Unlock()
	n.codes[i] = c
	b := n.bodies[i][:]
	b[0], b[1], b[2], b[3] = running, byte(c.Kind), byte(len(c.WorkflowID)), byte(len(c.RunID))
	binary.LittleEndian.PutUint64(b[4:], c.Part)
	end := idsAt + copy(b[idsAt:], c.WorkflowID)
	end += copy(b[end:], c.RunID)
	binary.LittleEndian.PutUint32(b[12:], sum(b[:end]))
	_, err := n.file.WriteAt(b[:end], at(i))
	return i, err
}

// sum returns the checksum of a note. The state may change later.
func sum(b []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(b[1:12]), crc32.IEEETable, b[idsAt:])
}

func at(place int) int64 { return int64(headerSize + place*placeSize) }

// code returns the code of a note that was written and not cleared.
func (n *notes) code(i int) runner.CodeRef { return n.codes[i] }

// pass records that the turn of a suspect is over, although its code still runs.
func (n *notes) pass(i int) error { return n.state(i, passed) }

// clear records that the code has returned.
func (n *notes) clear(i int) error {
	err := n.state(i, free)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.empty = append(n.empty, i)
	return err
}

var states = [...][1]byte{free: {free}, running: {running}, passed: {passed}}

func (n *notes) state(i int, state byte) error {
	_, err := n.file.WriteAt(states[state][:], at(i))
	return err
}

// close records that the process ends normally.
func (n *notes) close() error {
	_, err := n.file.WriteAt([]byte{1}, int64(len(magic)))
	return errors.Join(err, n.file.Close())
}

// note is a note that an earlier process left.
type note struct {
	code   runner.CodeRef
	passed bool
}

// readNotes returns the code that ran when the last process died. It returns nothing if there was
// no process, or it closed its notes or was of another build.
func readNotes(path, build string) (left []note, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b) < headerSize || string(b[:len(magic)]) != magic || b[len(magic)] == 1 {
		return nil, nil // the process died before it ran anything, or was closed
	}
	if name := b[len(magic)+2:]; string(name[:b[len(magic)+1]]) != build[:min(len(build), 255)] {
		return nil, nil
	}
	for b = b[headerSize:]; len(b) >= placeSize; b = b[placeSize:] {
		if n, ok := decodeNote(b[:placeSize]); ok {
			left = append(left, n)
		}
	}
	return left, nil
}

// decodeNote returns a note of code that ran. A half-written note does not count.
func decodeNote(b []byte) (n note, ok bool) {
	ids := idsAt + int(b[2])
	end := ids + int(b[3])
	if b[0] != running && b[0] != passed || end > len(b) || sum(b[:end]) != binary.LittleEndian.Uint32(b[12:]) {
		return n, false
	}
	return note{runner.CodeRef{
		Kind: runner.CodeKind(b[1]), WorkflowID: string(b[idsAt:ids]), RunID: history.RunID(b[ids:end]), Part: binary.LittleEndian.Uint64(b[4:]),
	}, b[0] == passed}, true
}

// suspectFile is the file of suspects.
type suspectFile struct {
	Build    string         `json:"build"`
	Doubts   int            `json:"doubts,omitempty"`
	Suspects []suspectEntry `json:"suspects"`
}

type suspectEntry struct {
	Kind       runner.CodeKind `json:"kind"`
	WorkflowID string          `json:"workflowId"`
	RunID      history.RunID   `json:"runId"`
	Part       uint64          `json:"part,omitempty"`
	Deaths     int             `json:"deaths"`
	Doubtful   int             `json:"doubtful,omitempty"`
}

// readSuspects returns the suspects and the doubts of the file, or none if another build wrote it.
func readSuspects(path, build string) (all map[key]*suspect, doubts int, err error) {
	all = map[key]*suspect{}
	f, err := suspectsIn(path)
	if err != nil || f.Build != build {
		return all, 0, err
	}
	for _, e := range f.Suspects[:min(len(f.Suspects), mostSuspects)] {
		all[keyOf(runner.CodeRef{Kind: e.Kind, WorkflowID: e.WorkflowID, RunID: e.RunID, Part: e.Part})] = &suspect{e.RunID, e.Deaths, e.Doubtful}
	}
	return all, f.Doubts, nil
}

// suspectsIn returns the contents of the file, or nothing if there is none.
func suspectsIn(path string) (f suspectFile, err error) {
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &f)
	}
	return f, err
}

// forgetNotes marks the notes about a workflow as notes of code that has returned.
func forgetNotes(path, workflowID string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var b [placeSize]byte
	for place := range places {
		if _, err := f.ReadAt(b[:], at(place)); err != nil {
			return nil // the file ends: the process died before it ran anything
		}
		if n, ok := decodeNote(b[:]); ok && n.code.WorkflowID == workflowID {
			if _, err := f.WriteAt(states[free][:], at(place)); err != nil {
				return err
			}
		}
	}
	return nil
}
