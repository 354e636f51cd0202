package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// memTable is how much the tables keep in memory before they write it out, unless Memory says
	// less.
	memTable = 16 << 20
	// mostInMemory is how many times memTable is in memory at most, and the group after that,
	// before writes wait for the tables.
	mostInMemory = 10
	// blockCache is how much of the tables' files is kept in memory at most. A start and a commit
	// look for keys that are not there, in tables just written: with 32 MB a tenth of a busy
	// server's processor time went into reading them again.
	blockCache = 128 << 20
	// tablesPause is how long the tables wait after a failure before they try again. Pebble itself
	// does not wait. A write may wait for it.
	tablesPause = 20 * time.Millisecond
	// longestPause is how long work on the tables that fails again and again, and that nobody waits
	// for, is put off at most.
	longestPause = time.Minute
	// giveUpAfter is how many failures in a row nobody waits for any more.
	giveUpAfter = 3
	// repeatAfter is how long after a line of the log the next one of its kind may come.
	repeatAfter = 10 * time.Second
)

// openTables opens the Pebble database of a directory, which has no log. It makes one only if
// create says so: elsewhere one that is not there is damage.
func openTables(dir string, create bool, w *watcher, o Options) (*pebble.DB, error) {
	if !o.readOnly {
		if err := makeDir(o.fs, dir, innerMode); err != nil {
			return nil, err
		}
	}
	cache := pebble.NewCache(o.Memory.Cache / o.part)
	defer cache.Unref()
	compactions := newScheduler()
	fs := tablesFS{FS: o.fs, dead: w.dead}
	options := &pebble.Options{
		FS: fs, Cache: cache, DisableWAL: true, ReadOnly: o.readOnly, MemTableSize: uint64(o.memTable()), ErrorIfNotExists: !create,
		// More in memory, and more files, than there ever are: Pebble would have a write wait that
		// should be refused. See crowded.
		MemTableStopWritesThreshold: 8 * mostInMemory, L0StopWritesThreshold: 1 << 20,
		FormatMajorVersion: pebble.FormatColumnarBlocks, Logger: w, EventListener: w.listener(compactions),
	}
	options.Experimental.CompactionScheduler = compactions
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone }) // package encode compresses
	tables, err := w.openPebble(dir, options)
	if fs.cut = cutTables(err, reporter(w, o)); len(fs.cut) > 0 {
		options.FS = fs
		tables, err = w.openPebble(dir, options)
	}
	if err != nil && !w.isDead() {
		if fs.hidden = damagedOptions(dir, options, reporter(w, o)); fs.hidden != "" {
			options.FS = fs
			tables, err = w.openPebble(dir, options)
		}
	}
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		err = fmt.Errorf("%w: there are no tables, or what names them (tables/marker.manifest.*) is gone: put it back or restore a backup of the directory (%w)", ErrCorrupt, err)
	case isFull(err) || w.isDead(): // nothing is damaged
		err = fmt.Errorf("the tables cannot be opened: %w", err)
	case err != nil:
		err = fmt.Errorf("the tables cannot be opened: %w: if a file in %s is damaged or missing (MANIFEST-* is their list), put it back or restore a backup of the whole directory; weft check says whether a directory is sound",
			err, dir)
	}
	return tables, err
}

// errOpenPanicked reports that Pebble panicked, or called Fatalf, in the goroutine that opens the
// tables.
var errOpenPanicked = errors.New("disk: the tables cannot be opened")

// openPebble is pebble.Open that returns an error if Pebble panics or calls Fatalf, which it does
// if the disk has no room for its list of files. A goroutine that Pebble has begun may call Fatalf
// too: pebble.Open then waits for ever, and what it has opened stays open until the process ends.
// Nothing has been acknowledged yet: the next process finds in the log what was.
func (w *watcher) openPebble(dir string, options *pebble.Options) (*pebble.DB, error) {
	var tables *pebble.DB // which only a call that ended has set
	err := w.unlessDead(func() (err error) {
		tables, err = openPebble(dir, options)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tables, nil
}

// openPebble is pebble.Open that returns an error if Pebble panics or calls Fatalf in this
// goroutine.
func openPebble(dir string, options *pebble.Options) (tables *pebble.DB, err error) {
	defer func() {
		value := recover()
		if reason, is := value.(*fatal); is {
			tables, err = nil, fmt.Errorf("%w: %w", errOpenPanicked, reason)
		} else if value != nil {
			tables, err = nil, fmt.Errorf("%w: %v", errOpenPanicked, value)
		}
	}()
	return pebble.Open(dir, options)
}

// whose reports about the calling goroutine: whether it is in openPebble, and whether Pebble began
// it.
func whose() (opening, pebbles bool) {
	var callers [256]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		opening = opening || strings.HasSuffix(frame.Function, "disk.openPebble")
		if frame.Function != "runtime.goexit" {
			pebbles = strings.HasPrefix(frame.Function, "github.com/cockroachdb/pebble/")
		}
	}
	return opening, pebbles
}

// watcher watches the tables: it reports what goes wrong, and knows whether they can be written
// out.
type watcher struct {
	log    *slog.Logger
	pause  time.Duration // after a failure
	ending chan struct{} // closed before the tables are

	lastFlush   atomic.Pointer[error] // what the last try to write the tables out came to
	failures    atomic.Int64          // of writing the tables out, since the last success
	failed      chan struct{}
	lastFailure atomic.Pointer[error] // of these; nil if there was none
	lastMerge   atomic.Pointer[error] // what the last compaction came to
	looks       time.Duration         // how long looking into a table was put off last; one goroutine of Pebble does

	// broken is why there are no more writes, and over is closed then, unless a file is gone. dead
	// is closed when Pebble cannot go on: a flush that it has begun does not end, and neither does
	// its Close.
	broken atomic.Pointer[error]
	over   chan struct{}
	die    sync.Once
	dead   chan struct{}
	// opened is set when the directory is open. Before that whoever opens it gets the error that
	// ends all writing, and the log does not.
	opened atomic.Bool
	lock   *pebble.Lock // of a directory that did not open; see unlock

	mu       sync.Mutex
	reported map[string]time.Time
}

func newWatcher(o Options) *watcher {
	pause := tablesPause
	if o.hurry {
		pause = 0
	}
	return &watcher{
		log: o.Log, pause: pause, ending: make(chan struct{}), failed: make(chan struct{}, 1), over: make(chan struct{}), dead: make(chan struct{}),
		reported: map[string]time.Time{},
	}
}

// listener is what Pebble tells of its work. It calls all of it but BackgroundError of a look into
// a table with a lock that readers do not need.
func (w *watcher) listener(compactions *scheduler) *pebble.EventListener {
	return &pebble.EventListener{
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			defer w.contain()
			w.report(i.Path, "stored data is damaged", "file", i.Path, "error", whyDamaged(i.Details))
		},
		BackgroundError: w.backgroundError,
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) { // which should not be: see crowded
			defer w.contain()
			w.report("stall", "a write waits for the tables of the data directory", "reason", i.Reason)
		},
		FlushEnd: func(i pebble.FlushInfo) {
			if w.lastFlush.Store(&i.Err); i.Err == nil {
				w.failures.Store(0)
			}
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			w.lastMerge.Store(&i.Err)
			compactions.ended(i.Err)
		},
	}
}

// backgroundError takes an error of Pebble's work, which Pebble does again at once unless it has to
// wait.
func (w *watcher) backgroundError(err error) {
	defer w.contain()
	damaged := pebble.IsCorruptionError(err)
	switch {
	case isLast(&w.lastMerge, err):
		if damaged { // the scheduler has it wait
			w.report("merge", "a file of the tables of the data directory is damaged, so they cannot be merged and grow with each write: restore a backup of the whole directory",
				"error", whyDamaged(err))
			return
		}
		w.reportWork(err)
	case isLast(&w.lastFlush, err):
		w.reportWork(err)
		w.lastFailure.Store(&err)
		w.failures.Add(1)
		select {
		case w.failed <- struct{}{}:
		default:
		}
		time.Sleep(w.pause)
	case damaged: // a look into a table, which has no lock
		w.reportWork(err)
		w.looks = longer(w.looks)
		select {
		case <-time.After(w.looks):
		case <-w.ending:
		}
	default:
		w.reportWork(err)
		time.Sleep(w.pause)
	}
}

func (w *watcher) reportWork(err error) {
	w.report("background", "the tables of the data directory: background work failed, and will be tried again", "error", err.Error())
}

// isLast reports whether an error is the one that work came to last.
func isLast(last *atomic.Pointer[error], err error) bool {
	l := last.Load()
	return l != nil && *l != nil && errors.Is(err, *l)
}

// close closes the tables. If Pebble cannot go on, they stay open until the process ends.
func (w *watcher) close(tables *pebble.DB) error {
	close(w.ending)
	return w.unlessDead(tables.Close)
}

// unlessDead returns what fn returns, or why Pebble cannot go on: fn may wait for ever then. A
// panic of fn is an error.
func (w *watcher) unlessDead(fn func() error) error {
	ended := make(chan error, 1)
	go func() {
		err := errPanicked
		defer func() { ended <- err }()
		defer w.contain()
		err = fn()
	}()
	select {
	case err := <-ended:
		return err
	case <-w.dead:
		return *w.broken.Load()
	}
}

// isDead reports whether Pebble cannot go on.
func (w *watcher) isDead() bool {
	select {
	case <-w.dead:
		return true
	default:
		return false
	}
}

// unlock gives back the lock of a directory that did not open. If Pebble cannot go on, it still has
// files of the directory open: the lock stays until the process ends.
func (w *watcher) unlock(lock *pebble.Lock) error {
	if w.isDead() {
		w.lock = lock // else the garbage collector would close its file
		return nil
	}
	return lock.Close()
}

// contain is deferred by goroutines, and by what Pebble's goroutines call. A panic in one ends all
// writing, and not the process: reads go on, and the next process reads what is on the disk.
func (w *watcher) contain() {
	if value := recover(); value != nil {
		if w.broken.Load() == nil {
			w.log.Error("the data directory has a defect", "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
		}
		w.fail(errPanicked)
	}
}

// ErrEnded is wrapped by what Write and Later return when the directory takes no more writes, and
// only another process can find out what is on the disk. Nothing was written. See DB.Ended.
var ErrEnded = errors.New("disk: the data directory takes no more writes until another process opens it; nothing was written")

// ended is the reason of ErrEnded. It does not wrap the error of the write that found out, whose
// outcome was not known.
type ended struct {
	text   string
	number error // of the system; nil if there is none
	opened bool  // the directory was open
}

// Error returns what happened.
func (e *ended) Error() string {
	if !e.opened {
		return e.text
	}
	return ErrEnded.Error() + ": " + e.text
}

// Unwrap returns ErrEnded, and the error number of the system.
func (e *ended) Unwrap() []error {
	if e.number == nil {
		return []error{ErrEnded}
	}
	return []error{ErrEnded, e.number}
}

// fail ends all writing. It logs the first error that does, if the directory is open.
func (w *watcher) fail(err error) {
	why := err
	if !errors.Is(err, ErrGone) {
		e := &ended{text: strings.TrimPrefix(err.Error(), ErrUnknown.Error()+": "), opened: w.opened.Load()}
		if number := syscall.Errno(0); errors.As(err, &number) {
			e.number = number
		}
		why = e
	}
	if !w.broken.CompareAndSwap(nil, &why) {
		return
	}
	if w.opened.Load() {
		w.log.Error("the data directory takes no more writes; reads go on", "error", err.Error())
	}
	if why != err {
		close(w.over)
	}
}

// largestReported is how many kinds of lines are remembered. Then all are forgotten.
const largestReported = 1000

// report logs a line, unless one of its kind was logged just now. Pebble's errors come as texts: a
// logger would add their stacks.
func (w *watcher) report(kind, message string, args ...any) {
	w.mu.Lock()
	last, now := w.reported[kind], time.Now()
	again := now.Sub(last) >= repeatAfter
	if again {
		if len(w.reported) == largestReported {
			clear(w.reported)
		}
		w.reported[kind] = now
	}
	w.mu.Unlock()
	if again {
		w.log.Error(message, args...)
	}
}

// Infof drops what is no trouble.
func (*watcher) Infof(string, ...any) {}

// Errorf reports what Pebble tries again.
func (w *watcher) Errorf(format string, args ...any) {
	defer w.contain()
	w.report("error", "the tables of the data directory: "+fmt.Sprintf(format, args...))
}

// Fatalf ends all writing: Pebble calls it when it cannot go on without losing what it was given,
// and must not go on after it. The log has what it was given. A goroutine of Pebble ends here, and
// gives back its locks, so that reads go on; one of ours panics, which it contains. No list of
// files is written any more (see listFile), and the process should end: see DB.Ended. While Pebble
// opens the tables, Open returns an error; see openPebble.
func (w *watcher) Fatalf(format string, args ...any) {
	opening, pebbles := whose()
	reason := newFatal(format, args)
	if opening {
		panic(reason)
	}
	w.fail(fmt.Errorf("%w: its tables cannot be written: %w", ErrUnknown, reason))
	w.die.Do(func() { close(w.dead) })
	if pebbles {
		runtime.Goexit()
	}
	panic(reason)
}

// fatal is why Pebble cannot go on.
type fatal struct {
	text   string
	number error // of the system; nil if there is none
}

// newFatal returns the error of a call of Fatalf.
func newFatal(format string, args []any) *fatal {
	f := &fatal{text: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		number := syscall.Errno(0)
		if err, is := arg.(error); is && errors.As(err, &number) {
			f.number = number
		}
	}
	return f
}

// Error returns what Pebble said.
func (f *fatal) Error() string { return f.text }

// Unwrap returns the error number of the system.
func (f *fatal) Unwrap() error { return f.number }

// isFull reports whether an error says that a disk, or what a user may have of it, is full.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// errTables is that the tables cannot be written out for now, and why.
func (w *watcher) errTables() error {
	return fmt.Errorf("%w: the tables cannot be written out: %w", ErrFull, *w.lastFailure.Load())
}

// failing reports whether nobody should wait for the tables to be written out.
func (w *watcher) failing() bool { return w.failures.Load() >= giveUpAfter }

// await waits until the tables are written out, or cannot be.
func (w *watcher) await(written <-chan struct{}) error {
	for {
		select {
		case <-written:
			return nil
		case <-w.failed:
			if w.failing() {
				return w.errTables()
			}
		case <-w.dead:
			return *w.broken.Load()
		}
	}
}

// flush writes the tables out. Failures before the call do not count.
func (w *watcher) flush(tables *pebble.DB) error {
	w.failures.Store(0)
	written, err := tables.AsyncFlush()
	if err != nil {
		return err
	}
	return w.await(written)
}
