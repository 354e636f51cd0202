package disk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	tableSuffix = ".sst"
	// mostDamaged is how many damaged blocks of a file are remembered. Then all are forgotten.
	mostDamaged = 1000
)

// tablesFS is the file system of the tables. It checks the blocks of their files, and withholds
// damaged ones from Pebble: Pebble would search for the wrong bit on each read, which takes 27 s
// for a block of 768 KB. It writes no list of files once Pebble cannot continue: see
// watcher.Fatalf.
type tablesFS struct {
	vfs.FS
	dead <-chan struct{}  // nil never is
	cut  map[string]int64 // the sizes that files had before they were cut short, by the names of the files; see cutTables
	// hidden is the name of a file that is not listed; see damagedOptions.
	hidden string
}

// Unwrap returns the file system below.
func (fs tablesFS) Unwrap() vfs.FS { return fs.FS }

// List lists a directory.
func (fs tablesFS) List(dir string) ([]string, error) {
	names, err := fs.FS.List(dir)
	if fs.hidden != "" {
		names = slices.DeleteFunc(names, func(name string) bool { return name == fs.hidden })
	}
	return names, err
}

// Create makes a file.
func (fs tablesFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, category)
	if err == nil && strings.HasPrefix(fs.PathBase(name), "MANIFEST") {
		f = &listFile{f, fs.dead}
	}
	return f, err
}

// listFile is a list of files that is being written. After a failed write its contents are unknown,
// and another write could name files that are not in the list.
type listFile struct {
	vfs.File
	dead <-chan struct{}
}

func (f *listFile) refuse() error {
	select {
	case <-f.dead:
		return ErrEnded
	default:
		return nil
	}
}

// Write writes, unless Pebble cannot continue.
func (f *listFile) Write(p []byte) (int, error) {
	if err := f.refuse(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

// Sync flushes, unless Pebble cannot continue.
func (f *listFile) Sync() error {
	if err := f.refuse(); err != nil {
		return err
	}
	return f.File.Sync()
}

// SyncData flushes, unless Pebble cannot continue.
func (f *listFile) SyncData() error {
	if err := f.refuse(); err != nil {
		return err
	}
	return f.File.SyncData()
}

// Open opens a file for reading.
func (fs tablesFS) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name, options...)
	if err != nil || !strings.HasSuffix(name, tableSuffix) {
		return f, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	t := &tableFile{File: f, size: info.Size(), there: info.Size()}
	if size, is := fs.cut[fs.PathBase(name)]; is {
		t.size = size
	}
	return t, nil
}

// Stat returns the size of a file, or the size that it had before it was cut short. Pebble does not
// open the tables if a file does not have the size in their list.
func (fs tablesFS) Stat(name string) (vfs.FileInfo, error) {
	info, err := fs.FS.Stat(name)
	if size, is := fs.cut[fs.PathBase(name)]; is && err == nil {
		return sized{info, size}, nil
	}
	return info, err
}

// sized is the info of a file with another size.
type sized struct {
	vfs.FileInfo
	size int64
}

// Size is the other size.
func (s sized) Size() int64 { return s.size }

// sizeMismatch is Pebble's text for a table whose size is not that of the list.
var sizeMismatch = regexp.MustCompile(`object size mismatch \(([^()]*\.sst)\): (\d+) \(disk\) != (\d+) \(MANIFEST\)`)

// cutTables returns the sizes that files of the tables had before they were cut short, by name, and reports each of them. It
// returns nothing if err is nil, or if Pebble refused to open the tables for any other reason.
func cutTables(err error, report func(error)) map[string]int64 {
	if err == nil {
		return nil
	}
	cut := map[string]int64{}
	for line := range strings.Lines(err.Error()) {
		m := sizeMismatch.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		there, _ := strconv.ParseInt(m[2], 10, 64)
		size, _ := strconv.ParseInt(m[3], 10, 64)
		if there >= size {
			return nil
		}
		name := m[1][strings.LastIndexAny(m[1], `/\`)+1:]
		cut[name] = size
		report(&FileError{"tables/" + name, fmt.Sprintf("it is cut short at byte %d of %d, and what was in it is lost", there, size)})
	}
	return cut
}

// damagedOptions returns the name of the newest file of options in a directory, if it does not say what all of them say, and reports it.
// Pebble only compares it with what it is given, which never changes: without the file it opens the tables, and writes another one. A later
// version of Weft that gives something else has another format in weft.db.
func damagedOptions(dir string, options *pebble.Options, report func(error)) string {
	found, err := pebble.Peek(dir, options.FS)
	if err != nil || found.OptionsFilename == "" {
		return ""
	}
	text, err := readStart(options.FS, found.OptionsFilename, 1<<20)
	if err == nil {
		complete := options.Clone()
		complete.EnsureDefaults()
		err = complete.CheckCompatibility(dir, text)
	}
	if err == nil {
		return ""
	}
	name := options.FS.PathBase(found.OptionsFilename)
	report(&FileError{"tables/" + name, fmt.Sprintf("it is not used, and nothing of the data was in it (%v)", err)})
	return name
}

// tableFile is a file of the tables that is read. Nobody changes it any more.
type tableFile struct {
	vfs.File
	size  int64 // what it has, or had before it was cut short
	there int64 // what it has

	mu      sync.Mutex
	damaged map[extent]bool // the blocks that were read and are damaged, so that they are not read again
}

// extent is a part of a file.
type extent struct{ at, length int64 }

// ReadAt reads a block, or the end of the file. It returns a pebble.ErrCorruption for a block that is damaged.
func (f *tableFile) ReadAt(p []byte, at int64) (int, error) {
	block := extent{at, int64(len(p))}
	if f.there < f.size && at+block.length > f.there {
		return 0, fmt.Errorf("%w: the file is cut short at byte %d of %d", pebble.ErrCorruption, f.there, f.size)
	}
	f.mu.Lock()
	known := f.damaged[block]
	f.mu.Unlock()
	if known {
		return 0, block.damage()
	}
	n, err := f.File.ReadAt(p, at)
	if err != nil || at+int64(n) == f.size || isSound(p[:n]) { // the end of a file is no block
		return n, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damaged == nil || len(f.damaged) == mostDamaged {
		f.damaged = map[extent]bool{}
	}
	f.damaged[block] = true
	return 0, block.damage()
}

// Stat returns the size that the file has, or had before it was cut short.
func (f *tableFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	return sized{info, f.size}, err
}

func (e extent) damage() error {
	return fmt.Errorf("%w: the checksum of the block of %d bytes at %d is wrong", pebble.ErrCorruption, e.length, e.at)
}

// isSound reports whether the checksum at the end of a block fits, as Pebble makes it: a CRC-32C, turned and shifted.
func isSound(block []byte) bool {
	at := len(block) - crc32.Size
	if at < 0 {
		return true // no block is so short, and Pebble says what it is
	}
	sum := crc32.Checksum(block[:at], castagnoli)
	return binary.LittleEndian.Uint32(block[at:]) == (sum>>15|sum<<17)+0xa282ead8
}
