package sqs_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

func TestReceive(t *testing.T) {
	t.Parallel()
	message := func(body, receipt string, attributes object) object {
		return object{"Body": body, "ReceiptHandle": receipt, "MD5OfBody": sum(body), "Attributes": attributes}
	}
	q, f := open(sqs.Options{}, answer{body: object{}}, answer{body: object{"Messages": []object{
		message("AP8", "one", object{"ApproximateReceiveCount": "3", "MessageGroupId": "cart-1"}),
		message("Zw.AA", "two", object{"ApproximateReceiveCount": "1", "MessageGroupId": "~hash"}),
		message("not ours!", "three", object{}),
	}}})
	got, err := q.Receive(t.Context(), orders, 7)
	want := []queue.Delivery{
		{Body: []byte{0, 0xff}, Receipt: "one", Received: 3, Group: "cart-1", Raw: "AP8"},
		{Body: []byte{0}, Receipt: "two", Received: 1, Group: "g", Raw: "Zw.AA"},
		{Receipt: "three", Received: 1, Raw: "not ours!"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, r := range f.got {
		if r.fields.WaitTimeSeconds != 20 || r.fields.MaxNumberOfMessages != 7 {
			t.Errorf("the request is %s", r.body)
		}
	}
	if len(f.got) != 2 {
		t.Errorf("%d requests, want 2: the first found nothing", len(f.got))
	}
	for _, limit := range []int{-1, 0, queue.MaxBatch + 1} {
		_, err := q.Receive(t.Context(), orders, limit)
		is(t, "a limit out of range", err, queue.ErrInvalid)
	}
}

// staleness lists errors that servers return for a receipt that is no longer valid, and others.
var staleness = []struct {
	code, message string
	stale         bool
}{
	{"MessageNotInflight", "", true},
	{"AWS.SimpleQueueService.MessageNotInflight", "", true},
	{"ReceiptHandleIsInvalid", "", true},
	{"InvalidParameterValue", "Value AQ for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.", true},
	{"InvalidParameterValueException", "Value AQ for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.", true},
	{"InvalidParameterValue", "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds].", false},
	{"InternalError", "", false},
}

func TestStaleReceipts(t *testing.T) {
	t.Parallel()
	for _, c := range staleness {
		q, _ := open(sqs.Options{}, answer{body: partly(c.code, c.message)})
		if err := q.Delete(t.Context(), tasks, "one", "two"); (err == nil) != c.stale {
			t.Errorf("Delete, refused with %s %q: %v", c.code, c.message, err)
		}
		q, _ = open(sqs.Options{}, answer{status: http.StatusBadRequest, body: object{"__type": "com.amazonaws.sqs#" + c.code, "message": c.message}})
		if err := q.Extend(t.Context(), tasks, "one", time.Minute); (err == nil) != c.stale {
			t.Errorf("Extend, refused with %s %q: %v", c.code, c.message, err)
		}
	}
}

func TestDeleteAndExtend(t *testing.T) {
	t.Parallel()
	q, f := open(sqs.Options{})
	err := errors.Join(
		q.Delete(t.Context(), tasks), // makes no request
		q.Delete(t.Context(), tasks, "one", "two"),
		q.Extend(t.Context(), tasks, "three", 1500*time.Millisecond),
	)
	if err != nil || len(f.got) != 2 {
		t.Fatalf("%d requests, %v", len(f.got), err)
	}
	if e := f.got[0].fields.Entries; len(e) != 2 || e[0].ReceiptHandle != "one" || e[1].ReceiptHandle != "two" || e[0].ID == e[1].ID {
		t.Errorf("Delete's request is %s", f.got[0].body)
	}
	if g := f.got[1]; g.operation != "ChangeMessageVisibility" || g.fields.ReceiptHandle != "three" || g.fields.VisibilityTimeout != 2 {
		t.Errorf("Extend's request is %s %s", g.operation, g.body)
	}
	is(t, "a Delete of too many", q.Delete(t.Context(), tasks, make([]string, queue.MaxBatch+1)...), queue.ErrInvalid)
	is(t, "an Extend by a negative time", q.Extend(t.Context(), tasks, "one", -1), queue.ErrInvalid)
	is(t, "an Extend by too much", q.Extend(t.Context(), tasks, "one", 13*time.Hour), queue.ErrInvalid)
}
