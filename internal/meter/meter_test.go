package meter_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// ports answers every call with err.
type ports struct{ err error }

func (p *ports) Append(context.Context, ...store.Item) error { return p.err }
func (p *ports) Backward(context.Context, string, store.Key, store.Key, int) (store.Page, error) {
	return store.Page{}, p.err
}

func (p *ports) Forward(context.Context, store.Key, int) (store.Page, error) {
	return store.Page{}, p.err
}
func (p *ports) RecordAttempt(context.Context, store.Attempt) error { return p.err }
func (p *ports) ReadAttempts(context.Context, string, uint32) ([]store.Attempt, error) {
	return nil, p.err
}
func (p *ports) PutTimers(context.Context, []store.Timer) error { return p.err }
func (p *ports) DueTimers(context.Context, time.Time, int) ([]store.Timer, error) {
	return nil, p.err
}
func (p *ports) DeleteTimers(context.Context, []store.Timer) error { return p.err }
func (p *ports) ListRuns(context.Context, store.Filter, string, int) ([]store.Summary, string, error) {
	return nil, "", p.err
}
func (p *ports) ReadKey(context.Context) ([]byte, error) { return nil, p.err }
func (p *ports) MakeKey(context.Context, []byte) error   { return p.err }
func (p *ports) Reserve(context.Context, store.Reservation) (time.Time, error) {
	return time.Time{}, p.err
}
func (p *ports) Send(context.Context, string, ...queue.Message) error { return p.err }

// Each call of each port, what it costs, and how it ends.
func TestEachCallIsCounted(t *testing.T) {
	t.Parallel()
	errOther := errors.New("no such table")
	conflict := fmt.Errorf("append: %w", &store.Conflict{})
	write := func(n int64) map[error]meter.Cost {
		return map[error]meter.Cost{
			nil: {Writes: n}, store.ErrUnknown: {Writes: n}, errOther: {Writes: n}, conflict: {Lost: n}, store.ErrStale: {Lost: n},
			store.ErrThrottled: {}, store.ErrTooLarge: {},
		}
	}
	read := map[error]meter.Cost{nil: {Reads: 1}, errOther: {Reads: 1}, store.ErrThrottled: {Reads: 1}}
	for name, test := range map[string]struct {
		call func(ctx context.Context, p *ports)
		cost map[error]meter.Cost
	}{
		"append":         {func(ctx context.Context, p *ports) { _ = meter.Log(p).Append(ctx, store.Item{}) }, write(1)},
		"append two":     {func(ctx context.Context, p *ports) { _ = meter.Log(p).Append(ctx, store.Item{}, store.Item{}) }, write(2)},
		"record attempt": {func(ctx context.Context, p *ports) { _ = meter.Attempts(p).RecordAttempt(ctx, store.Attempt{}) }, write(1)},
		"put timers":     {func(ctx context.Context, p *ports) { _ = meter.Timers(p).PutTimers(ctx, make([]store.Timer, 3)) }, write(3)},
		"delete timers":  {func(ctx context.Context, p *ports) { _ = meter.Timers(p).DeleteTimers(ctx, make([]store.Timer, 3)) }, write(3)},
		"backward": {func(ctx context.Context, p *ports) {
			_, _ = meter.Log(p).Backward(ctx, "a", store.Key{}, store.Key{}, 0)
		}, read},
		"forward":       {func(ctx context.Context, p *ports) { _, _ = meter.Log(p).Forward(ctx, store.Key{}, 0) }, read},
		"read the key":  {func(ctx context.Context, p *ports) { _, _ = meter.Keys(p).ReadKey(ctx) }, read},
		"make the key":  {func(ctx context.Context, p *ports) { _ = meter.Keys(p).MakeKey(ctx, nil) }, write(1)},
		"reserve":       {func(ctx context.Context, p *ports) { _, _ = meter.Rates(p).Reserve(ctx, store.Reservation{}) }, write(1)},
		"read attempts": {func(ctx context.Context, p *ports) { _, _ = meter.Attempts(p).ReadAttempts(ctx, "a", 1) }, read},
		"due timers":    {func(ctx context.Context, p *ports) { _, _ = meter.Timers(p).DueTimers(ctx, time.Time{}, 1) }, read},
		"list":          {func(ctx context.Context, p *ports) { _, _, _ = meter.Lister(p).ListRuns(ctx, store.Filter{}, "", 1) }, read},
		"send": {
			func(ctx context.Context, p *ports) { _ = meter.Sender(p).Send(ctx, "q", make([]queue.Message, 4)...) },
			map[error]meter.Cost{nil: {Messages: 4}, errOther: {Messages: 4}},
		},
	} {
		for err, want := range test.cost {
			ctx, m := meter.With(context.Background())
			if test.call(ctx, &ports{err}); m.Cost() != want {
				t.Errorf("%s that ends with %v cost %v, want %v", name, err, m.Cost(), want)
			}
			test.call(context.Background(), &ports{err}) // no meter counts
		}
	}
}

// All meters of a context count each cost once, from many goroutines. The meter of another context
// does not.
func TestMetersAddUp(t *testing.T) {
	t.Parallel()
	total := &meter.Meter{}
	outer, one := meter.With(total.Counting(context.Background()))
	inner, two := meter.With(outer)
	_, beside := meter.With(outer)
	log := meter.Log(&ports{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			_ = log.Append(inner, store.Item{})
			_, _ = log.Forward(outer, store.Key{}, 0)
		})
	}
	all.Wait()
	for name, test := range map[string]struct {
		m    *meter.Meter
		want meter.Cost
	}{
		"total": {total, meter.Cost{Writes: 50, Reads: 50}}, "outer": {one, meter.Cost{Writes: 50, Reads: 50}},
		"inner": {two, meter.Cost{Writes: 50}}, "beside": {beside, meter.Cost{}},
	} {
		if got := test.m.Cost(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]meter.Cost{
		"writes=0, reads=0, messages=0":         {},
		"writes=1, reads=2, messages=3":         {Writes: 1, Reads: 2, Messages: 3},
		"writes=0, reads=0, messages=0, lost=1": {Lost: 1},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A context shows what its work waits for: a call that has not been answered, and a race.
func TestWaits(t *testing.T) {
	t.Parallel()
	outer, _ := meter.With(context.Background())
	ctx, _ := meter.With(outer)
	waits := func(what string, want meter.Waits) {
		t.Helper()
		if inner, all := meter.WaitsOf(ctx), meter.WaitsOf(outer); inner != want || all != want {
			t.Errorf("%s: it waits for %d, and the request around it for %d, want %d", what, inner, all, want)
		}
	}
	waits("before any call", meter.ForNothing)
	log := meter.Log(&inCall{during: func() { waits("in a call to the store", meter.ForStore) }})
	if err := log.Append(ctx, store.Item{}); err != nil {
		t.Fatal(err)
	}
	waits("after it", meter.ForNothing)
	for _, c := range []struct {
		err  error
		want meter.Waits
	}{
		{store.ErrThrottled, meter.ForStore},
		{store.ErrUnknown, meter.ForStore},
		{errors.New("access denied"), meter.ForStore},
		{&store.Conflict{}, meter.ForRace},
		{store.ErrStale, meter.ForRace},
		{nil, meter.ForNothing},
	} {
		failing := &ports{c.err}
		for what, call := range map[string]func() error{
			"a put":            func() error { return meter.Log(failing).Append(ctx, store.Item{}) },
			"an attempt":       func() error { return meter.Attempts(failing).RecordAttempt(ctx, store.Attempt{}) },
			"timers":           func() error { return meter.Timers(failing).PutTimers(ctx, nil) },
			"a read":           func() error { _, err := meter.Log(failing).Forward(ctx, store.Key{}, 1); return err },
			"a read of a run":  func() error { _, err := meter.Log(failing).Backward(ctx, "w", store.Key{}, store.Key{}, 1); return err },
			"a read of record": func() error { _, err := meter.Attempts(failing).ReadAttempts(ctx, "w", 1); return err },
		} {
			if err := call(); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			waits(fmt.Sprint(what, " that returned ", c.err), c.want)
		}
	}
	refused := errors.New("no such queue")
	sender := meter.Sender(&inCall{ports{refused}, func() { waits("in a call to a queue", meter.ForQueue) }})
	if err := sender.Send(ctx, "q"); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	waits("after a send that failed", meter.ForQueue)
	if got := meter.WaitsOf(context.Background()); got != meter.ForNothing {
		t.Errorf("without a meter it waits for %d", got)
	}
}

// inCall calls during in each put and each send.
type inCall struct {
	ports
	during func()
}

func (c *inCall) Append(context.Context, ...store.Item) error {
	c.during()
	return c.err
}

func (c *inCall) Send(context.Context, string, ...queue.Message) error {
	c.during()
	return c.err
}
