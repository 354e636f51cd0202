package calls_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/calls"
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

func (p *ports) Scan(context.Context, string, int) ([]store.Item, string, error) {
	return nil, "", p.err
}
func (p *ports) Delete(context.Context, []store.Item, []store.Attempt) error { return p.err }
func (p *ports) ReadMark(context.Context) ([]byte, error)                    { return nil, p.err }
func (p *ports) WriteMark(context.Context, []byte, []byte) error             { return p.err }
func (p *ports) Send(context.Context, string, ...queue.Message) error        { return p.err }
func (p *ports) Depth(context.Context, string) (queue.Depth, error)          { return queue.Depth{}, p.err }
func (p *ports) Redrive(context.Context, string) error                       { return p.err }
func (p *ports) Extend(context.Context, string, string, time.Duration) error { return p.err }

type payloads struct{ err error }

func (p *payloads) Put(context.Context, string, []byte) error   { return p.err }
func (p *payloads) Get(context.Context, string) ([]byte, error) { return nil, p.err }
func (p *payloads) List(context.Context, string, string, int) ([]blob.Listed, error) {
	return nil, p.err
}
func (p *payloads) Delete(context.Context, ...string) error { return p.err }
func (p *payloads) Current() string                         { return "key" }
func (p *payloads) Generate(context.Context, string) (plain [32]byte, wrapped []byte, err error) {
	return plain, nil, p.err
}

func (p *payloads) Unwrap(context.Context, string, string, []byte) (plain [32]byte, err error) {
	return plain, p.err
}

// sums adds up the metrics of events.
type sums struct {
	mu  sync.Mutex
	all map[string]float64
}

// Observe implements observe.Sink.
func (s *sums) Observe(_ context.Context, e observe.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	observe.Measure(e, func(m *observe.Metric, value float64) {
		if s.all == nil {
			s.all = map[string]float64{}
		}
		s.all[m.Name] += value
	})
}

// take returns the sums since it was called last.
func (s *sums) take() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// one returns what a single failure adds to.
func one(metric string) map[string]float64 {
	if metric == "" {
		return nil
	}
	return map[string]float64{"CallFailures": 1, metric: 1}
}

// counting returns calls with a sink, and no log.
func counting() (*calls.Calls, *sums) {
	s := &sums{}
	return calls.New(calls.Options{Observe: observe.New(s), Log: slog.New(slog.DiscardHandler)}), s
}

// answer is an error that a service of AWS answers with.
type answer struct {
	status int
	code   string
}

func (a *answer) Error() string       { return a.code }
func (a *answer) ErrorCode() string   { return a.code }
func (a *answer) HTTPStatusCode() int { return a.status }

var (
	denied    = &answer{400, "AccessDeniedException"}
	throttled = &answer{400, "ThrottlingException"}
	crashed   = &answer{500, "InternalServerError"}
)

type methods map[string]func(ctx context.Context, p executor.Ports)

func storeMethods() methods {
	return methods{
		"Append": func(ctx context.Context, p executor.Ports) { _ = p.Log.Append(ctx, store.Item{}) },
		"Backward": func(ctx context.Context, p executor.Ports) {
			_, _ = p.Log.Backward(ctx, "a", store.Key{}, store.Key{}, 0)
		},
		"Forward":       func(ctx context.Context, p executor.Ports) { _, _ = p.Log.Forward(ctx, store.Key{}, 0) },
		"RecordAttempt": func(ctx context.Context, p executor.Ports) { _ = p.Attempts.RecordAttempt(ctx, store.Attempt{}) },
		"ReadAttempts":  func(ctx context.Context, p executor.Ports) { _, _ = p.Attempts.ReadAttempts(ctx, "a", 1) },
		"PutTimers":     func(ctx context.Context, p executor.Ports) { _ = p.Timers.PutTimers(ctx, nil) },
		"DueTimers":     func(ctx context.Context, p executor.Ports) { _, _ = p.Timers.DueTimers(ctx, time.Time{}, 1) },
		"DeleteTimers":  func(ctx context.Context, p executor.Ports) { _ = p.Timers.DeleteTimers(ctx, nil) },
		"ListRuns":      func(ctx context.Context, p executor.Ports) { _, _, _ = p.Lister.ListRuns(ctx, store.Filter{}, "", 1) },
		"ReadKey":       func(ctx context.Context, p executor.Ports) { _, _ = p.Keys.ReadKey(ctx) },
		"MakeKey":       func(ctx context.Context, p executor.Ports) { _ = p.Keys.MakeKey(ctx, nil) },
		"Reserve":       func(ctx context.Context, p executor.Ports) { _, _ = p.Rates.Reserve(ctx, store.Reservation{}) },
		"Scan":          func(ctx context.Context, p executor.Ports) { _, _, _ = p.Scanner.Scan(ctx, "", 1) },
		"ReadMark":      func(ctx context.Context, p executor.Ports) { _, _ = p.Scanner.ReadMark(ctx) },
		"WriteMark":     func(ctx context.Context, p executor.Ports) { _ = p.Scanner.WriteMark(ctx, nil, nil) },
		"Delete":        func(ctx context.Context, p executor.Ports) { _ = p.Scanner.Delete(ctx, nil, nil) },
		"Eraser.Delete": func(ctx context.Context, p executor.Ports) { _ = p.Eraser.Delete(ctx, nil, nil) },
	}
}

// over returns all ports, wrapped.
func over(c *calls.Calls, p *ports) executor.Ports {
	return c.Ports(executor.Ports{Log: p, Attempts: p, Timers: p, Lister: p, Scanner: p, Keys: p, Rates: p, Eraser: p}.Over(p))
}

// Each failure of each method of the store counts once, by its verdict. What the store has answered
// as it should counts nothing.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, call := range storeMethods() {
		for err, want := range map[error]string{
			nil:                                      "",
			fmt.Errorf("put: %w", &store.Conflict{}): "", store.ErrStale: "", store.ErrTooLarge: "", store.ErrCorrupt: "", store.ErrBadToken: "",
			context.Canceled: "",
			denied:           "StoreRefused", errors.New("the disk is full"): "StoreRefused",
			fmt.Errorf("%w: %w", store.ErrThrottled, throttled): "StoreThrottled",
			crashed: "StoreUnanswered", &answer{400, ""}: "StoreUnanswered", &answer{200, ""}: "StoreUnanswered",
			&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}: "StoreUnanswered", fmt.Errorf("read: %w", io.ErrUnexpectedEOF): "StoreUnanswered", context.DeadlineExceeded: "StoreUnanswered",
			fmt.Errorf("%w: %w", store.ErrUnknown, &answer{400, "TransactionConflictException"}): "",
		} {
			c, s := counting()
			call(t.Context(), over(c, &ports{err}))
			if diff := cmp.Diff(one(want), s.take()); diff != "" {
				t.Errorf("- want, + what %s counts that ends with %v:\n%s", name, err, diff)
			}
		}
	}
}

// A rate that other processes use is no failure of the store.
func TestContentionForARate(t *testing.T) {
	t.Parallel()
	c, s := counting()
	_, _ = over(c, &ports{fmt.Errorf("%w: too fast", store.ErrThrottled)}).Rates.Reserve(t.Context(), store.Reservation{})
	if got := s.take(); got != nil {
		t.Errorf("contention counts %v", got)
	}
}

// The caller of a write of unknown outcome repeats it. So it counts from the second one in turn,
// and a call of another method makes no difference.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Append", "RecordAttempt", "PutTimers", "DeleteTimers", "MakeKey", "Reserve", "WriteMark", "Delete"} {
		c, s := counting()
		p := &ports{}
		all := over(c, p)
		for i, step := range []struct {
			err  error
			want string
		}{
			{store.ErrUnknown, ""},
			{nil, ""},
			{store.ErrUnknown, ""},
			{store.ErrUnknown, "StoreUnanswered"},
			{store.ErrUnknown, "StoreUnanswered"},
			{store.ErrStale, ""},
			{store.ErrUnknown, ""},
			{denied, "StoreRefused"},
			{store.ErrUnknown, ""},
		} {
			p.err = step.err
			storeMethods()[name](t.Context(), all)
			if diff := cmp.Diff(one(step.want), s.take()); diff != "" {
				t.Errorf("- want, + what call %d of %s counts:\n%s", i, name, diff)
			}
			p.err = nil
			storeMethods()["Backward"](t.Context(), all)
		}
	}
}

// Each failure of each method of the queues counts once, by its verdict. A queue that does not
// exist is one, except if somebody asks about it.
func TestQueues(t *testing.T) {
	t.Parallel()
	invalid := fmt.Errorf("%w: there is no queue", queue.ErrInvalid)
	for name, test := range map[string]struct {
		call    func(ctx context.Context, c *calls.Calls, p *ports)
		invalid string
	}{
		"send": {func(ctx context.Context, c *calls.Calls, p *ports) { _ = over(c, p).Queue.Send(ctx, "timers") }, "QueueRefused"},
		"extend": {func(ctx context.Context, c *calls.Calls, p *ports) {
			_ = c.Extend(p.Extend)(ctx, "timers", "receipt", 0)
		}, "QueueRefused"},
		"depth":   {func(ctx context.Context, c *calls.Calls, p *ports) { _, _ = over(c, p).Inspector.Depth(ctx, "timers") }, ""},
		"redrive": {func(ctx context.Context, c *calls.Calls, p *ports) { _ = over(c, p).Redriver.Redrive(ctx, "timers") }, ""},
	} {
		for err, want := range map[error]string{
			nil: "", queue.ErrTooLarge: "", queue.ErrRedriving: "", context.Canceled: "", invalid: test.invalid,
			denied: "QueueRefused", throttled: "QueueThrottled", &answer{400, "KmsThrottled"}: "QueueThrottled", crashed: "QueueUnanswered",
			fmt.Errorf("%w: %w", queue.ErrPartial, &answer{400, "AccessDenied"}): "QueueRefused",
		} {
			c, s := counting()
			test.call(t.Context(), c, &ports{err})
			if diff := cmp.Diff(one(want), s.take()); diff != "" {
				t.Errorf("- want, + what %s counts that ends with %v:\n%s", name, err, diff)
			}
		}
	}
}

// Each failure of KMS and S3 counts once, whatever the verdict.
func TestPayloads(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, b blob.Blobs, k codec.Keys){
		"put":      func(ctx context.Context, b blob.Blobs, _ codec.Keys) { _ = b.Put(ctx, "k", nil) },
		"get":      func(ctx context.Context, b blob.Blobs, _ codec.Keys) { _, _ = b.Get(ctx, "k") },
		"list":     func(ctx context.Context, b blob.Blobs, _ codec.Keys) { _, _ = b.List(ctx, "", "", 1) },
		"delete":   func(ctx context.Context, b blob.Blobs, _ codec.Keys) { _ = b.Delete(ctx, "k") },
		"generate": func(ctx context.Context, _ blob.Blobs, k codec.Keys) { _, _, _ = k.Generate(ctx, "shop") },
		"unwrap":   func(ctx context.Context, _ blob.Blobs, k codec.Keys) { _, _ = k.Unwrap(ctx, "shop", "key", nil) },
	} {
		for err, want := range map[error]string{
			nil: "", blob.ErrMissing: "", blob.ErrCorrupt: "", blob.ErrTooLarge: "", codec.ErrTampered: "", context.Canceled: "",
			denied: "PayloadFailures", throttled: "PayloadFailures", crashed: "PayloadFailures", blob.ErrDenied: "PayloadFailures", codec.ErrKey: "PayloadFailures",
		} {
			c, s := counting()
			call(t.Context(), c.Blobs(&payloads{err}), c.Keys(&payloads{err}))
			if diff := cmp.Diff(one(want), s.take()); diff != "" {
				t.Errorf("- want, + what %s counts that ends with %v:\n%s", name, err, diff)
			}
		}
	}
	c, _ := counting()
	if c.Blobs(nil) != nil || c.Keys(nil) != nil || c.Keys(&payloads{}).Current() != "key" {
		t.Error("no payloads are some, or their current key is another")
	}
}

// A port that is missing stays missing.
func TestMissingPorts(t *testing.T) {
	t.Parallel()
	c, _ := counting()
	p := &ports{}
	got := c.Ports(executor.Ports{Log: p, Attempts: p, Timers: p, Queue: p})
	if got.Lister != nil || got.Scanner != nil || got.Keys != nil || got.Rates != nil || got.Eraser != nil || got.Inspector != nil || got.Redriver != nil || got.Browser != nil {
		t.Errorf("%+v", got)
	}
}

// A call whose caller has left counts nothing. A deadline that ends a call counts if the call has
// waited for 5 s.
func TestCallersWhoLeave(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	s := &sums{}
	c := calls.New(calls.Options{Observe: observe.New(s), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	late, cancel := context.WithDeadline(t.Context(), now.Add(-1000*time.Hour)) // in the past of any clock
	defer cancel()
	left, leave := context.WithCancel(t.Context())
	leave()
	for what, test := range map[string]struct {
		ctx  context.Context
		took time.Duration
		err  error
		want string
	}{
		"left":                              {left, time.Minute, crashed, ""},
		"a deadline, at once":               {late, 0, context.DeadlineExceeded, ""},
		"a deadline, in the second try":     {late, 5*time.Second - 1, crashed, ""},
		"a deadline, after a while":         {late, 5 * time.Second, context.DeadlineExceeded, "StoreUnanswered"},
		"a deadline, with unknown outcome":  {late, 5 * time.Second, store.ErrUnknown, "StoreUnanswered"},
		"a deadline, and an answer":         {late, 0, denied, "StoreRefused"},
		"a deadline, and throttled before":  {late, 0, fmt.Errorf("%w: %w", store.ErrThrottled, throttled), "StoreThrottled"},
		"a deadline, and a lost race":       {late, time.Minute, &store.Conflict{}, ""},
		"no deadline, and no answer either": {t.Context(), 0, crashed, "StoreUnanswered"},
	} {
		log := c.Log(moving{&ports{test.err}, func() { now = now.Add(test.took) }})
		_ = log.Append(test.ctx, store.Item{})
		if diff := cmp.Diff(one(test.want), s.take()); diff != "" {
			t.Errorf("- want, + what counts: %s\n%s", what, diff)
		}
	}
}

// moving moves the clock during an Append.
type moving struct {
	*ports
	move func()
}

func (m moving) Append(ctx context.Context, items ...store.Item) error {
	m.move()
	return m.ports.Append(ctx, items...)
}

// A verdict of a service has a line a minute at most, without what was stored or sent. It says what
// was called, and the code that the service answered with.
func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	c := calls.New(calls.Options{Log: slog.New(slog.NewJSONHandler(&out, nil)), Now: func() time.Time { return now }})
	fail := func(err error) {
		p := over(c, &ports{err})
		_ = p.Log.Append(t.Context(), store.Item{Key: store.Key{Workflow: "canary"}, Body: []byte("canary")})
		_ = p.Queue.Send(t.Context(), "timers", queue.Message{Body: []byte("canary")})
		_ = c.Blobs(&payloads{err}).Put(t.Context(), "canary", []byte("canary"))
	}
	for _, err := range []error{denied, fmt.Errorf("%w: %w", store.ErrThrottled, throttled), crashed, crashed} {
		fail(err)
	}
	now = now.Add(59 * time.Second)
	fail(denied)
	now = now.Add(time.Second)
	fail(denied)
	type line struct {
		Level, Msg, Cause, Verdict, Operation, Queue, Code, Error string
		Times                                                     int
	}
	var got []line
	for text := range strings.Lines(out.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil || strings.Contains(text, "canary") {
			t.Fatalf("%s: %v", text, err)
		}
		got = append(got, l)
	}
	of := func(verdict, code, text string, times int) []line {
		return []line{
			{"WARN", "a call of the store failed", "store", verdict, "Append", "", code, text, times},
			{"WARN", "a call of a queue failed", "queue", verdict, "Send", "timers", code, text, times},
			{"WARN", "a call of what encrypts payloads, or keeps large ones, failed", "payload", verdict, "Put", "", code, text, times},
		}
	}
	var want []line
	want = append(want, of("refused", denied.code, denied.code, 0)...)
	want = append(want, of("throttled", throttled.code, "store: throttled: "+throttled.code, 0)...)
	want = append(want, of("unanswered", crashed.code, crashed.code, 0)...)
	want = append(want, of("refused", denied.code, denied.code, 2)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- want, + the lines:\n%s", diff)
	}
}

// Calls are counted by many goroutines.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	c, s := counting()
	p := over(c, &ports{denied})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = p.Log.Append(t.Context(), store.Item{}) })
	}
	all.Wait()
	if got := s.take(); got["CallFailures"] != 20 || got["StoreRefused"] != 20 {
		t.Errorf("%v", got)
	}
}
