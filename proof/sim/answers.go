package sim

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// portTypes are the ports, by the names that the faults of their calls have.
var portTypes = map[string]reflect.Type{
	"log": reflect.TypeFor[store.Log](), "attempts": reflect.TypeFor[store.Attempts](), "timers": reflect.TypeFor[store.Timers](),
	"lister": reflect.TypeFor[store.Lister](), "scanner": reflect.TypeFor[store.Scanner](), "keys": reflect.TypeFor[store.Keys](),
	"rates": reflect.TypeFor[store.Rates](), "sender": reflect.TypeFor[queue.Sender](), "receiver": reflect.TypeFor[queue.Receiver](),
	"blobs": reflect.TypeFor[blob.Blobs](),
}

// lookUps are the calls that change nothing. For them a lost request has the same effect as a lost
// answer.
var lookUps = []string{
	"log.Backward", "log.Forward", "attempts.ReadAttempts", "timers.DueTimers", "lister.ListRuns", "scanner.Scan", "scanner.ReadMark",
	"keys.ReadKey", "blobs.Get",
}

// notCalled are the calls that no process of the simulation makes, each with the reason.
var notCalled = map[string]string{
	"receiver.Receive": "the simulation delivers messages itself",
	"blobs.List":       "only codec.Codec.Tidy lists, from a key that no seed decides",
	"blobs.Delete":     "only codec.Codec.Tidy deletes",
}

// rare are the calls that most seeds make once or never.
var rare = []string{"keys.ReadKey", "keys.MakeKey", "scanner.WriteMark", "scanner.ReadMark", "scanner.Delete", "receiver.Extend", "lister.ListRuns"}

// lostRequests and lostAnswers are faults of the ports' calls, by port and method. The caller gets
// an error in both cases, and cannot know whether the call was carried out.
var lostRequests, lostAnswers = losses()

func losses() (requests, answers map[string]*fault) {
	const source = "AWS SDKs and Tools Reference Guide, Retry behavior: a request may fail anywhere on its way, so that a client that gets " +
		"no answer does not know whether it was carried out. Amazon DynamoDB Developer Guide, Error handling: after an error of the " +
		"server a write may have succeeded or not."
	requests, answers = map[string]*fault{}, map[string]*fault{}
	for _, call := range calls() {
		chance := 0.05
		if slices.Contains(rare, call) {
			chance = 0.4
		}
		if !slices.Contains(lookUps, call) {
			requests[call] = newFault("request lost: "+strings.ToLower(call), source, 0.05, chance)
		}
		answers[call] = newFault("answer lost: "+strings.ToLower(call), source, 0.05, chance)
	}
	return requests, answers
}

// calls returns the calls that processes make, of all ports.
func calls() (all []string) {
	for _, port := range slices.Sorted(maps.Keys(portTypes)) {
		for i := range portTypes[port].NumMethod() {
			if call := port + "." + portTypes[port].Method(i).Name; notCalled[call] == "" {
				all = append(all, call)
			}
		}
	}
	return all
}

// errNoAnswer is the error of a call without an answer, if the port has no error for that.
var errNoAnswer = errors.New("there is no answer, as the simulation has it")

// lossy is between a process and its ports, and loses requests and answers.
type lossy struct{ s *simulation }

// call makes a call of a port. If it loses the request or the answer, it returns err.
func (l lossy) call(name string, err error, fn func() error) error {
	s := l.s
	if s.away(serviceOf(name)) {
		s.stall(s.now.Add(time.Second), slices.Contains(lookUps, name)) // until the SDK gives up
		return err
	}
	if s.disconnected() {
		s.log("the connection of %s is dead", name)
		return err
	}
	if f := lostRequests[name]; f != nil && s.hits(f) {
		s.log("the request of %s is lost", name)
		return err
	}
	if name != "blobs.Get" {
		s.silence(name)
	}
	made := fn()
	if s.hits(lostAnswers[name]) {
		s.log("the answer of %s is lost: %v", name, made)
		return err
	}
	return made
}

// serviceOf returns the outage that makes a port unavailable.
func serviceOf(call string) *fault {
	if strings.HasPrefix(call, "sender.") || strings.HasPrefix(call, "receiver.") {
		return queueAway
	}
	return storeAway
}

// read does the same as call for a call with a result.
func read[T any](l lossy, name string, fn func() (T, error)) (v T, err error) {
	err = l.call(name, errNoAnswer, func() (err error) {
		v, err = fn()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}

// ports returns the ports of a process with faults.
func (l lossy) ports(p executor.Ports) executor.Ports {
	p.Log, p.Attempts, p.Timers, p.Lister = lossyLog{l, p.Log}, lossyAttempts{l, p.Attempts}, lossyTimers{l, p.Timers}, lossyLister{l, p.Lister}
	p.Scanner, p.Keys, p.Rates, p.Queue = lossyScanner{l, p.Scanner}, lossyKeys{l, p.Keys}, lossyRates{l, p.Rates}, lossySender{l, p.Queue}
	return p
}

type lossyLog struct {
	lossy
	store.Log
}

// Append implements store.Log.
func (l lossyLog) Append(ctx context.Context, items ...store.Item) error {
	return l.call("log.Append", store.ErrUnknown, func() error {
		if l.s.throttled(items[0].Workflow) {
			return store.ErrThrottled
		}
		return l.Log.Append(ctx, items...)
	})
}

// Backward implements store.Log.
func (l lossyLog) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	return read(l.lossy, "log.Backward", func() (store.Page, error) {
		if l.s.throttled(workflow) {
			return store.Page{}, store.ErrThrottled
		}
		return l.Log.Backward(ctx, workflow, before, until, limit)
	})
}

// Forward implements store.Log.
func (l lossyLog) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	return read(l.lossy, "log.Forward", func() (store.Page, error) {
		if l.s.throttled(from.Workflow) {
			return store.Page{}, store.ErrThrottled
		}
		return l.Log.Forward(ctx, from, limit)
	})
}

type lossyAttempts struct {
	lossy
	store.Attempts
}

// RecordAttempt implements store.Attempts.
func (l lossyAttempts) RecordAttempt(ctx context.Context, a store.Attempt) error {
	return l.call("attempts.RecordAttempt", store.ErrUnknown, func() error {
		if l.s.throttled(a.Workflow) {
			return store.ErrThrottled
		}
		return l.Attempts.RecordAttempt(ctx, a)
	})
}

// ReadAttempts implements store.Attempts.
func (l lossyAttempts) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	return read(l.lossy, "attempts.ReadAttempts", func() ([]store.Attempt, error) { return l.Attempts.ReadAttempts(ctx, workflow, run) })
}

type lossyTimers struct {
	lossy
	store.Timers
}

// PutTimers implements store.Timers. DynamoDB may write some timers of a batch and leave out the
// others (UnprocessedItems).
func (l lossyTimers) PutTimers(ctx context.Context, timers []store.Timer) error {
	return l.call("timers.PutTimers", store.ErrUnknown, func() error {
		if len(timers) > 1 && l.s.hits(unprocessedItems) {
			l.s.log("some timers are left unprocessed")
			if err := l.Timers.PutTimers(ctx, some(l.s.of(unprocessedItems), timers)); err != nil {
				return err
			}
			return store.ErrThrottled
		}
		return l.Timers.PutTimers(ctx, timers)
	})
}

// DueTimers implements store.Timers.
func (l lossyTimers) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	return read(l.lossy, "timers.DueTimers", func() ([]store.Timer, error) { return l.Timers.DueTimers(ctx, before, limit) })
}

// DeleteTimers implements store.Timers.
func (l lossyTimers) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	return l.call("timers.DeleteTimers", store.ErrUnknown, func() error {
		if len(timers) > 1 && l.s.hits(unprocessedItems) {
			l.s.log("some timers are left undeleted")
			if err := l.Timers.DeleteTimers(ctx, some(l.s.of(unprocessedItems), timers)); err != nil {
				return err
			}
			return store.ErrThrottled
		}
		return l.Timers.DeleteTimers(ctx, timers)
	})
}

type lossyLister struct {
	lossy
	store.Lister
}

// ListRuns implements store.Lister.
func (l lossyLister) ListRuns(ctx context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	_, err = read(l.lossy, "lister.ListRuns", func() (bool, error) {
		runs, next, err = l.Lister.ListRuns(ctx, f, token, limit)
		return true, err
	})
	if err != nil {
		return nil, "", err
	}
	return runs, next, nil
}

type lossyScanner struct {
	lossy
	store.Scanner
}

// Scan implements store.Scanner.
func (l lossyScanner) Scan(ctx context.Context, cursor string, limit int) (items []store.Item, next string, err error) {
	_, err = read(l.lossy, "scanner.Scan", func() (bool, error) {
		items, next, err = l.Scanner.Scan(ctx, cursor, limit)
		return true, err
	})
	if err != nil {
		return nil, "", err
	}
	return items, next, nil
}

// Delete implements store.Eraser.
func (l lossyScanner) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	return l.call("scanner.Delete", store.ErrUnknown, func() error { return l.Scanner.Delete(ctx, items, attempts) })
}

// ReadMark implements store.Scanner.
func (l lossyScanner) ReadMark(ctx context.Context) ([]byte, error) {
	return read(l.lossy, "scanner.ReadMark", func() ([]byte, error) { return l.Scanner.ReadMark(ctx) })
}

// WriteMark implements store.Scanner.
func (l lossyScanner) WriteMark(ctx context.Context, old, mark []byte) error {
	return l.call("scanner.WriteMark", store.ErrUnknown, func() error { return l.Scanner.WriteMark(ctx, old, mark) })
}

type lossyKeys struct {
	lossy
	store.Keys
}

// ReadKey implements store.Keys.
func (l lossyKeys) ReadKey(ctx context.Context) ([]byte, error) {
	return read(l.lossy, "keys.ReadKey", func() ([]byte, error) { return l.Keys.ReadKey(ctx) })
}

// MakeKey implements store.Keys.
func (l lossyKeys) MakeKey(ctx context.Context, key []byte) error {
	return l.call("keys.MakeKey", store.ErrUnknown, func() error { return l.Keys.MakeKey(ctx, key) })
}

type lossyRates struct {
	lossy
	store.Rates
}

// Reserve implements store.Rates.
func (l lossyRates) Reserve(ctx context.Context, slot store.Reservation) (at time.Time, err error) {
	err = l.call("rates.Reserve", store.ErrUnknown, func() error {
		at, err = l.Rates.Reserve(ctx, slot)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return at, nil
}

type lossySender struct {
	lossy
	queue.Sender
}

// Send implements queue.Sender.
func (l lossySender) Send(ctx context.Context, name string, messages ...queue.Message) error {
	return l.call("sender.Send", errNoAnswer, func() error { return l.Sender.Send(ctx, name, messages...) })
}

type lossyReceiver struct {
	lossy
	queue.Receiver
}

// Delete implements queue.Receiver. SQS answers for each message of a batch whether it was deleted.
func (l lossyReceiver) Delete(ctx context.Context, name string, receipts ...string) error {
	return l.call("receiver.Delete", errNoAnswer, func() error {
		if len(receipts) > 1 && l.s.hits(partialDelete) {
			l.s.log("some of %d deletes fail", len(receipts))
			if err := l.Receiver.Delete(ctx, name, some(l.s.of(partialDelete), receipts)...); err != nil {
				return err
			}
			return errNoAnswer
		}
		return l.Receiver.Delete(ctx, name, receipts...)
	})
}

// Extend implements queue.Receiver.
func (l lossyReceiver) Extend(ctx context.Context, name, receipt string, d time.Duration) error {
	return l.call("receiver.Extend", errNoAnswer, func() error { return l.Receiver.Extend(ctx, name, receipt, d) })
}

type lossyBlobs struct {
	lossy
	blob.Blobs
}

// Put implements blob.Blobs.
func (l lossyBlobs) Put(ctx context.Context, key string, body []byte) error {
	return l.call("blobs.Put", errNoAnswer, func() error { return l.Blobs.Put(ctx, key, body) })
}

// unprocessedItems and partialDelete are answers to a batch that was only partly carried out.
var (
	unprocessedItems = newFault("dynamodb: unprocessed items",
		"Amazon DynamoDB API Reference, BatchWriteItem: individual requests of a batch may fail, for want of throughput or for an error inside, "+
			"while the others succeed; the answer lists those under UnprocessedItems.", 0.1, 0.2)
	partialDelete = newFault("sqs: a batch is deleted in part",
		"Amazon SQS API Reference, DeleteMessageBatch: the result of each message is reported on its own; a batch may have both successful and "+
			"failed entries, also where the status of the answer is 200.", 0.15, 0.3)
)

// some returns some of all, in order. It may return none or all.
func some[T any](r interface{ IntN(n int) int }, all []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(T) bool { return r.IntN(2) == 0 })
}
