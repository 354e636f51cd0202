package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrGone is wrapped by what Write and Later return when a file of the data directory was deleted or replaced. Reads go on. Nothing is
// written any more, because the next process would not find it.
var ErrGone = errors.New("disk: a file of the data directory was deleted or replaced while it was in use: stop the server, and put the file back or restore a backup")

// lookEvery is how often all files of the directory are checked. The current segment of the log is
// checked after each flush.
const lookEvery = 5 * time.Second

// idleLooks is how many checks follow the last write, even one that changes nothing. An idle
// directory is not checked: the next write starts the checks again.
const idleLooks = 12

func gone(name string) error { return fmt.Errorf("%w: %s", ErrGone, name) }

// looker checks whether the files of a directory are still those that were opened. It works only on
// the disk's file system: others do not distinguish files.
type looker struct {
	fixed  map[string]os.FileInfo // by path: the directory, and what is in it as long as it is open
	tables map[string]os.FileInfo // by path, as far as they were seen
	timer  *time.Timer            // calls DB.look
	left   int                    // how many looks there are without another write; guarded by order
}

// newLooker returns the looker of a directory that is open; nil for another file system than the disk's.
func newLooker(fs vfs.FS, dir string) (*looker, error) {
	if fs != vfs.Default {
		return nil, nil
	}
	l := &looker{fixed: map[string]os.FileInfo{}, tables: map[string]os.FileInfo{}}
	for _, path := range []string{dir, fs.PathJoin(dir, formatFile), fs.PathJoin(dir, "LOCK"), fs.PathJoin(dir, "log"), fs.PathJoin(dir, "tables")} {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		l.fixed[path] = info
	}
	return l, nil
}

// isSame reports whether a path leads to the file that info describes. It returns true after an
// error other than a missing file.
func isSame(path string, info os.FileInfo) bool {
	now, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return os.SameFile(info, now)
}

// beginLooking starts the checks of the files. They end with the writer.
func (d *DB) beginLooking() (err error) {
	if d.looker, err = newLooker(d.fs, d.dir); d.looker != nil {
		d.looker.timer = stopped(d.contained(d.look))
		d.lookOn()
	}
	return err
}

// lookOn looks for the files because of a write. The caller holds order, or is alone.
func (d *DB) lookOn() {
	if d.looker == nil {
		return
	}
	if d.looker.left == 0 {
		d.looker.timer.Reset(lookEvery)
	}
	d.looker.left = idleLooks
}

// look ends all writing if a file is gone.
func (d *DB) look() {
	err := d.lookAtTables()
	d.order.Lock()
	defer d.order.Unlock()
	if d.ended || d.watch.broken.Load() != nil {
		return
	}
	if err == nil {
		err = d.lookAtLog()
	}
	if err != nil {
		d.watch.fail(err)
		return
	}
	if d.looker.left--; d.looker.left > 0 {
		d.looker.timer.Reset(lookEvery)
	}
}

// lookAtLog looks for the segments that may be needed, and for what is never replaced. The caller holds order.
func (d *DB) lookAtLog() error {
	for path, info := range d.looker.fixed {
		if !isSame(path, info) {
			return gone(path)
		}
	}
	for _, s := range append(d.log.full[:len(d.log.full):len(d.log.full)], d.log.current) {
		if err := s.look(); err != nil {
			return err
		}
	}
	return nil
}

// look returns ErrGone if the path of a segment does not lead to its file.
func (s *segment) look() error {
	if s.info != nil && !isSame(s.name, s.info) {
		return gone(s.name)
	}
	return nil
}

// lookAtTables looks for the files of the tables. Pebble deletes files that it does not need, so a file is gone only if it still needs
// the file afterwards.
func (d *DB) lookAtTables() error {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.closed.Load() {
		return nil
	}
	first := d.missingTable()
	if first == "" || d.missingTable() != first {
		return nil
	}
	return gone(first)
}

// missingTable returns the path of a file of the tables that is not there, or is another than before; empty if there is none.
func (d *DB) missingTable() string {
	dir := d.fs.PathJoin(d.dir, "tables")
	levels, err := d.tables.SSTables()
	if err != nil {
		return ""
	}
	seen := map[string]os.FileInfo{}
	for _, level := range levels {
		for _, table := range level {
			path := d.fs.PathJoin(dir, table.BackingSSTNum.String()+tableSuffix)
			now, err := os.Stat(path)
			if errors.Is(err, os.ErrNotExist) || err == nil && d.looker.tables[path] != nil && !os.SameFile(now, d.looker.tables[path]) {
				return path
			}
			seen[path] = now
		}
	}
	list := listPath(d.fs, dir)
	if list != "" {
		now, err := os.Stat(list)
		if errors.Is(err, os.ErrNotExist) || err == nil && d.looker.tables[list] != nil && !os.SameFile(now, d.looker.tables[list]) {
			return list
		}
		seen[list] = now
	}
	d.looker.tables = seen
	return ""
}

// listPath returns the path of the list of the tables. If the file is missing whose name has the name of the list, it returns
// the path of that. It returns nothing if the directory cannot be read.
func listPath(fs vfs.FS, dir string) string {
	const marker = "marker.manifest." // then a number that grows, and behind another dot the name of the list
	names, err := os.ReadDir(dir)     // in order
	if err != nil {
		return "" // lookAtLog finds a directory that is gone
	}
	list := ""
	for _, name := range names {
		if rest, is := strings.CutPrefix(name.Name(), marker); is {
			_, list, _ = strings.Cut(rest, ".")
		}
	}
	if list == "" {
		return fs.PathJoin(dir, marker+"*")
	}
	return fs.PathJoin(dir, list)
}
