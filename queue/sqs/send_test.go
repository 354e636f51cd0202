package sqs_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

// Whatever their sizes, each message is sent once, in order, and no request exceeds SQS's limit.
func TestSendSplits(t *testing.T) {
	t.Parallel()
	const limit = 1 << 10
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, limit/4*3), 0, queue.MaxBatch).Draw(t, "sizes")
		q, f := open(sqs.Options{MaxMessage: limit})
		var messages []queue.Message
		for i, size := range sizes {
			messages = append(messages, queue.Message{Body: append(bytes.Repeat([]byte{0xff}, size-1), byte(i)), Group: "group"})
		}
		if err := q.Send(t.Context(), orders, messages...); err != nil {
			t.Fatal(err)
		}
		var bodies [][]byte
		ids := map[string]bool{}
		for r, got := range f.got {
			size := 0
			for _, e := range got.fields.Entries {
				size += len(e.MessageBody)
				_, body := sqs.Decode(e.MessageBody, "")
				bodies = append(bodies, body)
				ids[*e.MessageDeduplicationID] = true
			}
			if size > limit {
				t.Fatalf("request %d has %d bytes", r, size)
			}
			if r > 0 && len(f.got[r-1].fields.Entries) > 0 {
				before := 0
				for _, e := range f.got[r-1].fields.Entries {
					before += len(e.MessageBody)
				}
				if before+len(got.fields.Entries[0].MessageBody) <= limit {
					t.Fatalf("the first message of request %d had room in the one before", r)
				}
			}
		}
		if len(ids) != len(messages) || len(bodies) != len(messages) {
			t.Fatalf("%d messages with %d ids were sent, want %d", len(bodies), len(ids), len(messages))
		}
		for i, body := range bodies {
			if !bytes.Equal(body, messages[i].Body) {
				t.Fatalf("message %d has the body %x", i, body)
			}
		}
	})
}

func TestSendPartly(t *testing.T) {
	t.Parallel()
	broken := answer{status: http.StatusForbidden, code: "AccessDenied"}
	two := []queue.Message{{Body: make([]byte, 700)}, {Body: make([]byte, 700)}} // each needs a request of its own
	small := sqs.Options{MaxMessage: 1 << 10}

	q, f := open(small, answer{}, broken)
	is(t, "a batch whose second request failed", q.Send(t.Context(), tasks, two...), queue.ErrPartial)

	q, f2 := open(small, broken)
	if err := q.Send(t.Context(), tasks, two...); err == nil || len(f2.got) != 1 {
		t.Errorf("a batch whose first request failed: %v after %d requests", err, len(f2.got))
	}
	q, _ = open(sqs.Options{}, answer{body: partly("ThrottlingException", "slow down")})
	err := q.Send(t.Context(), tasks, two...)
	is(t, "a batch of which an entry failed", err, queue.ErrPartial)
	if !strings.Contains(fmt.Sprint(err), "ThrottlingException: slow down") {
		t.Errorf("%v does not say why", err)
	}
	if len(f.got) != 2 {
		t.Errorf("%d requests, want 2", len(f.got))
	}
}

// A retry of the SDK is the same request, so that a FIFO queue recognizes the messages.
func TestSendRepeats(t *testing.T) {
	t.Parallel()
	twin := queue.Message{Body: []byte("twin"), Group: "group"}
	q, f := open(sqs.Options{}, answer{lost: true}, answer{status: http.StatusInternalServerError, code: "InternalError"})
	if err := q.Send(t.Context(), orders, twin, twin); err != nil {
		t.Fatal(err)
	}
	if len(f.got) != 3 || f.got[0].body != f.got[1].body || f.got[1].body != f.got[2].body {
		t.Errorf("%d requests, want three times the same", len(f.got))
	}
	entries := f.got[0].fields.Entries
	if *entries[0].MessageDeduplicationID == *entries[1].MessageDeduplicationID {
		t.Error("two messages with one body have one deduplication id")
	}
}

func TestSendDelay(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]int{
		0: 0, 1: 1, time.Millisecond: 1, time.Second: 1, time.Second + 1: 2, queue.MaxDelay - 1: 900, queue.MaxDelay: 900,
	} {
		q, f := open(sqs.Options{})
		if err := q.Send(t.Context(), tasks, queue.Message{Body: []byte("message"), Delay: delay}); err != nil {
			t.Fatal(err)
		}
		e := f.got[0].fields.Entries[0]
		if e.DelaySeconds != want || e.MessageGroupID != nil || e.MessageDeduplicationID != nil {
			t.Errorf("a delay of %v is sent as %+v, want %d seconds and nothing of a FIFO queue", delay, e, want)
		}
	}
}

func TestSendRefuses(t *testing.T) {
	t.Parallel()
	body := []byte("message")
	q, f := open(sqs.Options{})
	for what, c := range map[string]struct {
		queue   string
		message queue.Message
		want    error
	}{
		"no body":                 {tasks, queue.Message{}, queue.ErrInvalid},
		"a delay before now":      {tasks, queue.Message{Body: body, Delay: -1}, queue.ErrInvalid},
		"too long a delay":        {tasks, queue.Message{Body: body, Delay: queue.MaxDelay + 1}, queue.ErrInvalid},
		"a group":                 {tasks, queue.Message{Body: body, Group: "group"}, queue.ErrInvalid},
		"no group":                {orders, queue.Message{Body: body}, queue.ErrInvalid},
		"a delay in a FIFO":       {orders, queue.Message{Body: body, Group: "group", Delay: 1}, queue.ErrInvalid},
		"too large a body":        {tasks, queue.Message{Body: make([]byte, sqs.MaxBody+1)}, queue.ErrTooLarge},
		"no room for the group":   {orders, queue.Message{Body: make([]byte, sqs.MaxBody), Group: strings.Repeat("g", 129)}, queue.ErrTooLarge},
		"a queue of another name": {"nobody", queue.Message{Body: body}, queue.ErrInvalid},
	} {
		is(t, what, q.Send(t.Context(), c.queue, c.message), c.want)
		good := queue.Message{Body: body}
		if c.queue == orders {
			good.Group = "group"
		}
		is(t, what+", after a good message", q.Send(t.Context(), c.queue, good, c.message), c.want)
	}
	is(t, "too many", q.Send(t.Context(), tasks, make([]queue.Message, queue.MaxBatch+1)...), queue.ErrInvalid)
	if err := q.Send(t.Context(), tasks); err != nil || len(f.got) > 0 {
		t.Errorf("%d requests were made (%v), want none", len(f.got), err)
	}
	if err := q.Send(t.Context(), tasks, queue.Message{Body: make([]byte, sqs.MaxBody)}); err != nil || len(f.got[0].fields.Entries[0].MessageBody) != 1<<20 {
		t.Errorf("a message of the largest body: %v", err)
	}
}
