package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/proof/awsmeter"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// errOther represents an error that is not one of the port's: nothing was done, nor will be.
var errOther = errors.New("not one of the port's errors")

// class returns which of the port's errors an error is.
func class(err error) error {
	for _, known := range []error{store.ErrUnknown, store.ErrThrottled, store.ErrTooLarge, store.ErrStale, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	var conflict *store.Conflict
	if err == nil || errors.As(err, &conflict) {
		return err
	}
	return errOther
}

func answer(status int, code, message string) *fault {
	return &fault{status: status, body: fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)}
}

func canceled(reasons ...string) *fault {
	var all []string
	for _, r := range reasons {
		code, message, _ := strings.Cut(r, ":")
		all = append(all, fmt.Sprintf(`{"Code":%q,"Message":%q}`, code, message))
	}
	return &fault{status: 400, body: fmt.Sprintf(
		`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[%s]}`, strings.Join(all, ","))}
}

// The result of each answer, for a put, a transaction, and a read. nil for a read means that it was
// repeated and succeeded.
func TestErrorClasses(t *testing.T) {
	t.Parallel()
	tooLarge := "Item size has exceeded the maximum allowed size"
	for name, test := range map[string]struct {
		answer      *fault
		write, read error
	}{
		"broken connection":   {&fault{}, store.ErrUnknown, nil},
		"500":                 {answer(500, "InternalServerError", ""), store.ErrUnknown, nil},
		"503":                 {answer(503, "ServiceUnavailable", ""), store.ErrUnknown, nil},
		"503 throttle":        {answer(503, "ThrottlingException", ""), store.ErrUnknown, nil},
		"502 of a proxy":      {&fault{status: 502, body: "<html>"}, store.ErrUnknown, nil},
		"403 of a proxy":      {&fault{status: 403, body: "<html>"}, store.ErrUnknown, nil},
		"408":                 {answer(408, "RequestTimeout", ""), store.ErrUnknown, nil},
		"200, cut":            {&fault{status: 200, body: `{"Items":[`}, store.ErrUnknown, nil},
		"redirect":            {&fault{status: 307}, store.ErrUnknown, nil},
		"conflict":            {answer(400, "TransactionConflictException", ""), store.ErrUnknown, nil},
		"in progress":         {answer(400, "TransactionInProgressException", ""), store.ErrUnknown, nil},
		"other region":        {answer(400, "ReplicatedWriteConflictException", ""), store.ErrUnknown, nil},
		"too large":           {answer(400, "ValidationException", tooLarge), store.ErrTooLarge, store.ErrTooLarge},
		"invalid":             {answer(400, "ValidationException", "Invalid ConditionExpression"), errOther, errOther},
		"access":              {answer(400, "AccessDeniedException", "not authorized"), errOther, errOther},
		"no table":            {answer(400, "ResourceNotFoundException", "no table"), errOther, errOther},
		"bad signature":       {answer(400, "InvalidSignatureException", "The request signature we calculated does not match"), errOther, errOther},
		"condition, no item":  {answer(400, "ConditionalCheckFailedException", ""), store.ErrUnknown, errOther},
		"canceled: conflict":  {canceled("None", "TransactionConflict"), store.ErrUnknown, errOther},
		"canceled: mixed":     {canceled("ThrottlingError", "TransactionConflict"), store.ErrUnknown, errOther},
		"canceled: large":     {canceled("None", "ValidationError:"+tooLarge), store.ErrTooLarge, errOther},
		"canceled: invalid":   {canceled("ValidationError:one or more", "None"), errOther, errOther},
		"canceled: no reason": {canceled(), store.ErrUnknown, errOther},
		"canceled: no item":   {canceled("ConditionalCheckFailed", "TransactionConflict"), store.ErrUnknown, errOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				s := f.open(t, "n")
				once := func() { f.fault = func(string, *request) *fault { f.fault = nil; return test.answer } }
				transaction := strings.HasPrefix(name, "canceled")
				if !transaction {
					once()
					if err := s.Append(t.Context(), item(1, 0, 1)); class(err) != test.write {
						t.Errorf("Append of one: %v, want %v", err, test.write)
					}
				}
				once()
				if err := s.Append(t.Context(), item(1, 0, 1), item(1, 1, 2)); class(err) != test.write {
					t.Errorf("Append of two: %v, want %v", err, test.write)
				}
				if transaction || name == "condition, no item" {
					return // no read is answered so
				}
				once()
				if _, err := s.Forward(t.Context(), store.Key{Workflow: "order", Run: 1}, 0); class(err) != test.read {
					t.Errorf("Forward: %v, want %v", err, test.read)
				}
			})
		})
	}
}

// A failed condition decides a transaction, whatever happened to the other item.
func TestConflictWithinATransaction(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := f.open(t, "n")
	f.fault = func(string, *request) *fault {
		return &fault{status: 400, body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[
			{"Code":"TransactionConflict"}, {"Code":"ConditionalCheckFailed","Item":{
			"pk":{"S":"n/w/order"},"sk":{"S":"c/00000002/00000000"},"commit":{"B":"BwAAAAAAAAAAAAAAAAAAAA=="}}}]}`}
	}
	var conflict *store.Conflict
	if err := s.Append(t.Context(), item(1, 1, 1), item(2, 0, 1)); !errors.As(err, &conflict) || conflict.Existing.Commit != [16]byte{7} {
		t.Errorf("Append: %v", err)
	}
}

// The store waits and repeats a throttled request as far as the context's deadline allows. A
// throttle before or after a request with an unknown outcome does not hide that outcome.
func TestThrottling(t *testing.T) {
	t.Parallel()
	throttle := answer(400, "ProvisionedThroughputExceededException", "")
	for name, test := range map[string]struct {
		answers  []*fault // then it succeeds
		timeout  time.Duration
		want     error
		requests int // -1 means any number
	}{
		"old signature":             {[]*fault{answer(400, "InvalidSignatureException", "Signature expired: 20260101T000000Z is now earlier than 20260101T000500Z")}, time.Minute, nil, 2},
		"early signature":           {[]*fault{answer(400, "InvalidSignatureException", "Signature not yet current: 20260101T001000Z is still later than")}, time.Minute, nil, 2},
		"three times":               {[]*fault{throttle, answer(400, "ThrottlingException", ""), throttle}, time.Minute, nil, 4},
		"without a deadline":        {[]*fault{throttle}, 0, nil, 2},
		"without end":               {repeat(throttle, 50), 0, store.ErrThrottled, 10},
		"out of time":               {repeat(throttle, 50), time.Nanosecond, store.ErrThrottled, 1},
		"out of time later":         {repeat(throttle, 50), 20 * time.Millisecond, store.ErrThrottled, -1},
		"then a broken connection":  {[]*fault{throttle, {}}, time.Minute, store.ErrUnknown, 2},
		"after a broken connection": {[]*fault{{}, throttle}, time.Minute, store.ErrUnknown, 1},
		"then applied, no answer":   {[]*fault{throttle, {applied: true}}, time.Minute, store.ErrUnknown, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.fault = func(string, *request) *fault {
					if n := len(f.requests); n <= len(test.answers) {
						return test.answers[n-1]
					}
					return nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				if test.timeout > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), test.timeout)
				}
				defer cancel()
				if err := f.open(t, "n").Append(ctx, item(1, 0, 1)); class(err) != test.want || test.requests > 0 && len(f.requests) != test.requests {
					t.Errorf("Append: %v after %d requests, want %v after %d", err, len(f.requests), test.want, test.requests)
				}
				if ctx.Err() != nil {
					t.Error("the caller was answered when its time was over, not before")
				}
			})
		})
	}
}

func repeat(f *fault, n int) (all []*fault) {
	for range n {
		all = append(all, f)
	}
	return all
}

// A transaction that was throttled in part was not applied, and is sent again.
func TestThrottledTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fault = func(string, *request) *fault { f.fault = nil; return canceled("None", "ProvisionedThroughputExceeded") }
		if err := f.open(t, "n").Append(t.Context(), item(1, 0, 1), item(1, 1, 2)); err != nil || len(f.requests) != 2 {
			t.Errorf("Append: %v after %d requests", err, len(f.requests))
		}
	})
}

// Unprocessed writes of a batch are sent again. If they remain unprocessed, the call returns an
// error.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fault = func(_ string, in *request) *fault {
			for _, writes := range in.RequestItems {
				if len(writes) > 3 { // three are written, the rest is left over
					f.handle("BatchWriteItem", &request{RequestItems: map[string][]batchWrite{"weft": writes[:3]}})
					return &fault{status: http.StatusOK, body: `{"UnprocessedItems":` + encode(map[string][]batchWrite{"weft": writes[3:]}) + "}"}
				}
			}
			return nil
		}
		s := f.open(t, "n")
		var timers []store.Timer
		for i := range 30 {
			timers = append(timers, store.Timer{ID: fmt.Sprint(i), Due: noon, Body: []byte("x")})
		}
		if err := s.PutTimers(t.Context(), timers); err != nil {
			t.Fatal(err)
		}
		if due, err := s.DueTimers(t.Context(), noon.Add(time.Second), 100); err != nil || len(due) != len(timers) {
			t.Errorf("%d of %d timers, %v", len(due), len(timers), err)
		}
		f.fault = func(_ string, in *request) *fault {
			return &fault{status: http.StatusOK, body: `{"UnprocessedItems":` + encode(in.RequestItems) + "}"}
		}
		if err := s.PutTimers(t.Context(), timers); !errors.Is(err, store.ErrThrottled) {
			t.Errorf("PutTimers of which nothing is taken: %v", err)
		}
	})
}

// A request that fails before it is sent was not done: its outcome is not unknown.
func TestNotSent(t *testing.T) {
	t.Parallel()
	f := newFake()
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: f, BaseEndpoint: aws.String("http://fake"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, errors.New("no credentials")
		}),
	})
	s, err := dynamo.New(client, dynamo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), item(1, 0, 1)); class(err) != errOther || len(f.requests) > 0 {
		t.Errorf("Append: %v, %d requests", err, len(f.requests))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.open(t, "n").Append(ended, item(1, 0, 1)); class(err) != context.Canceled || len(f.requests) > 0 {
		t.Errorf("Append: %v, %d requests", err, len(f.requests))
	}
}

// A request that is canceled under way may have been carried out.
func TestCanceledUnderWay(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		f := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		f.fault = func(string, *request) *fault { cancel(); return &fault{applied: applied} }
		if err := f.open(t, "n").Append(ctx, item(1, 0, 1)); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("Append: %v, want ErrUnknown", err)
		}
	}
}

// The meter of requests and that of the ports agree on the cost of a workflow.
func TestMetersAgree(t *testing.T) {
	t.Parallel()
	f, total := newFake(), &awsmeter.Meter{}
	s, err := dynamo.New(f.client(awsmeter.Install(total, awsmeter.Options{Units: true})), dynamo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, ports := meter.With(t.Context())
	log := meter.Log(s)
	for _, items := range [][]store.Item{{item(1, 0, 1)}, {item(1, 1, 2)}, {item(1, 1, 3)}, {item(1, 2, 4), item(2, 0, 5)}, {item(2, 0, 6), item(2, 1, 7)}} {
		_ = log.Append(ctx, items...)
		_, _ = log.Backward(ctx, "order", store.Key{}, store.Key{}, 1)
	}
	p, got := ports.Cost(), total.Cost()
	if want := (meter.Cost{Writes: 4, Lost: 3, Reads: 5}); p != want || got.Writes != p.Writes || got.Lost != p.Lost || got.StrongReads != p.Reads {
		t.Errorf("the ports count %v, the requests %+v, want %v", p, got, want)
	}
}

// The requests of each call. Only commits that open or close a run are in the index of the list.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ noList bool }{"listed": {false}, "unlisted": {true}} {
		f := newFake()
		indexed := 0
		f.fault = func(op string, in *request) *fault {
			if _, ok := in.Item["list"]; ok {
				indexed++
			}
			return nil
		}
		s, err := dynamo.New(f.client(), dynamo.Options{NoList: want.noList})
		if err != nil {
			t.Fatal(err)
		}
		if (s.Lister() == nil) != want.noList {
			t.Errorf("%s: the list is there, or not", name)
		}
		for i, call := range script() {
			if err := call(t.Context(), s); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		_, _ = s.Backward(t.Context(), "order", store.Key{}, store.Key{}, 0)
		_, _ = s.Forward(t.Context(), store.Key{Workflow: "order", Run: 1}, 0)
		_, _ = s.Backward(t.Context(), "order", store.Key{Run: 1}, store.Key{Run: 1}, 0) // an empty range
		_, _ = s.ReadAttempts(t.Context(), "order", 1)
		_, _ = s.DueTimers(t.Context(), noon, 100)
		const wanted = "PutItem PutItem PutItem PutItem BatchWriteItem TransactWriteItems BatchWriteItem " +
			"Query Query Query Query Query Query Query"
		if got := strings.Join(f.requests, " "); got != wanted {
			t.Errorf("%s: requests %s\nwant %s", name, got, wanted)
		}
		if (indexed == 1) == want.noList { // the one that opens the run; the one that closes it is in a transaction
			t.Errorf("%s: %d puts are in the index", name, indexed)
		}
	}
}
