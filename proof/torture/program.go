package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflows of the test program, and their updates, signals and queries.
var (
	book    = workflow.NewWorkflow[pages, pages]("book")
	write   = workflow.NewUpdate[entry, int]("write")
	note    = workflow.NewSignal[string]("note")
	contain = workflow.NewQuery[workflow.None, pages]("contents")
	finish  = workflow.NewUpdate[workflow.None, int]("finish")

	part   = workflow.NewWorkflow[string, string]("part")
	sleeps = workflow.NewWorkflow[time.Duration, string]("sleeps")
	waits  = workflow.NewWorkflow[workflow.None, workflow.None]("waits")
	poison = workflow.NewWorkflow[string, string]("poison")

	step = activity.New("step", func(_ context.Context, token string) (string, error) { return "step of " + token, nil },
		activity.Options{StartToClose: 10 * time.Second, Retry: activity.Retry{InitialInterval: 100 * time.Millisecond}})
	poisoned = activity.New("poisoned", func(_ context.Context, kind string) (string, error) { return kind, harm(kind) },
		activity.Options{StartToClose: 5 * time.Second, Retry: activity.Retry{InitialInterval: 200 * time.Millisecond}})
)

// errRefused is the validator's error for an entry that it refuses.
var errRefused = workflow.NewError("refused", "this entry is refused")

// entry is what an update writes. Its token is unique.
type entry struct {
	Token string `json:"token"`
	// Do is what the handler does first: nothing, or "activity", "timer", "child" or "side" (a side
	// effect).
	Do     string `json:"do"`
	Refuse bool   `json:"refuse"`
	// Fill pads the entry.
	Fill string `json:"fill,omitempty"`
}

// pages are the state of a book: the tokens of all entries and notes, in order.
type pages struct {
	Entries []string `json:"entries"`
	Notes   []string `json:"notes"`
	// Runs is how many runs the book has had. PerRun is how many entries a run takes before it
	// continues as new.
	Runs   int `json:"runs"`
	PerRun int `json:"perRun"`
}

// runBook keeps a book. It returns when the book is finished, and continues as new when the run has
// enough entries.
func runBook(ctx workflow.Context, p pages) (pages, error) {
	p.Runs++
	var here int
	var done bool
	contain.Handle(ctx, func(workflow.None) (pages, error) { return p, nil })
	write.Handle(ctx, func(ctx workflow.Context, e entry) (int, error) {
		here++
		if err := before(ctx, e); err != nil {
			return 0, err
		}
		p.Entries = append(p.Entries, e.Token)
		return len(p.Entries), nil
	}, workflow.Validate(func(e entry) error {
		if e.Refuse {
			return errRefused
		}
		return nil
	}))
	finish.Handle(ctx, func(workflow.Context, workflow.None) (int, error) { done = true; return len(p.Entries), nil })
	for !done && here < p.PerRun {
		if err := workflow.Select(ctx,
			workflow.OnCondition(func() bool { return done || here >= p.PerRun }),
			workflow.OnSignal(note, func(token string) { p.Notes = append(p.Notes, token) })); err != nil {
			return p, err
		}
	}
	if err := workflow.AwaitHandlers(ctx); err != nil {
		return p, err
	}
	for {
		token, ok, err := note.TryReceive(ctx)
		if err != nil {
			return p, err
		}
		if !ok {
			break
		}
		p.Notes = append(p.Notes, token)
	}
	if done {
		return p, nil
	}
	return book.ContinueAsNew(ctx, p)
}

// before does what an entry asks for before the entry is written.
func before(ctx workflow.Context, e entry) error {
	switch e.Do {
	case "activity":
		_, err := step.Run(ctx, e.Token)
		return err
	case "timer":
		return workflow.Sleep(ctx, 50*time.Millisecond)
	case "child":
		_, err := part.RunChild(ctx, e.Token)
		return err
	case "side":
		_ = workflow.SideEffect(ctx, func() string { return e.Token })
	}
	return nil
}

// runPart is a child. It runs an activity and a short timer.
func runPart(ctx workflow.Context, token string) (string, error) {
	if err := workflow.Sleep(ctx, 20*time.Millisecond); err != nil {
		return "", err
	}
	return step.Run(ctx, token)
}

// runSleeps sleeps, and then runs an activity.
func runSleeps(ctx workflow.Context, d time.Duration) (string, error) {
	if err := workflow.Sleep(ctx, d); err != nil {
		return "", err
	}
	return step.Run(ctx, "after "+d.String())
}

// runWaits waits for a signal.
func runWaits(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
	_, err := note.Receive(ctx)
	return workflow.None{}, err
}

// runPoison harms its process, in workflow code or, if the kind begins with "activity ", in an
// activity.
func runPoison(ctx workflow.Context, kind string) (string, error) {
	if in, ok := strings.CutPrefix(kind, "activity "); ok {
		return poisoned.Run(ctx, in)
	}
	//weftvet:ignore io,global,goroutine the harness wants code that harms its process
	err := harm(kind)
	return kind, err
}

// held keeps memory that is never freed.
var held [][]byte

// harm does what bad code does.
func harm(kind string) error {
	switch kind {
	case "exit":
		os.Exit(3)
	case "overflow":
		return errors.New(overflow(1))
	case "memory":
		for range 1 << 20 {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
		}
	case "loop":
		for i := 0; ; i++ {
			if i < 0 {
				break
			}
		}
	case "panic":
		panic("poison")
	case "map":
		m := map[int]int{}
		go scribble(m)
		scribble(m)
	}
	return nil
}

// scribble writes into a map until the runtime notices that another goroutine writes, too, and ends
// the process.
func scribble(m map[int]int) {
	for i := 0; ; i++ {
		m[i%64] = i
	}
}

// overflow calls itself until the stack is full.
func overflow(depth int) string {
	if depth < 0 {
		return ""
	}
	var space [1024]byte
	space[depth%1024] = byte(depth)
	return overflow(depth+1) + string(space[:1])
}

// registry has all workflows of the test program.
func registry() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(book, runBook, workflow.Names(write, finish, contain, note)), workflow.Bind(part, runPart), workflow.Bind(sleeps, runSleeps), workflow.Bind(waits, runWaits, workflow.Names(note)),
		workflow.Bind(poison, runPoison), step, poisoned,
	}
}

// serve runs the test program's server as any program does.
func serve() { weft.Main(weft.Register(registry()...)) }

// serveShifted runs the same server over a clock that its standard input moves. Each line is a
// duration by which the clock jumps. The product has no such switch, so this opens the server as
// weft.Serve does.
func serveShifted(addr, dir string, first time.Duration) error {
	var shift atomic.Int64
	shift.Store(int64(first))
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	types, err := program.Registry(registry()...)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := local.Listen(addr)
	if err != nil {
		return err
	}
	server, err := local.Open(types, local.Options{Dir: dir, LargePayloads: true, Log: log, Clock: func() time.Time {
		return time.Now().Add(time.Duration(shift.Load()))
	}})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	go move(os.Stdin, &shift)
	_, _ = fmt.Printf("Weft is at http://%s.\n", listener.Addr())
	return errors.Join(server.Serve(ctx, listener), server.Close())
}

// move moves the clock by each duration that it reads.
func move(in io.Reader, shift *atomic.Int64) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if d, err := time.ParseDuration(lines.Text()); err == nil {
			shift.Add(int64(d))
			_, _ = fmt.Println("moved")
		}
	}
}
