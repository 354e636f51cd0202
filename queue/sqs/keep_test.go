package sqs_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

// keptEntry is the message that the fake was asked to keep.
func keptEntry(t *testing.T, r request) (body string, attributes map[string]string) {
	t.Helper()
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []struct {
			MessageBody       string
			MessageGroupID    *string `json:"MessageGroupId"`
			MessageAttributes map[string]struct{ DataType, StringValue string }
		}
	}
	if err := json.Unmarshal([]byte(r.body), &in); err != nil || len(in.Entries) != 1 {
		t.Fatalf("%v: %s", err, r.body)
	}
	e := in.Entries[0]
	if in.QueueURL != "http://sqs.invalid/1/unreadable" || e.MessageGroupID != nil {
		t.Errorf("kept in %s, with the group %v", in.QueueURL, e.MessageGroupID)
	}
	attributes = map[string]string{}
	for name, a := range e.MessageAttributes {
		attributes[name] = a.StringValue
	}
	return e.MessageBody, attributes
}

// A message that cannot be read is kept unchanged, with its queue, its group and the reason. What
// has no room is left out, the name of the queue last.
func TestKeep(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ö", 100) // too long for a MessageGroupId: it is in the body
	longBody := base64.RawStdEncoding.EncodeToString([]byte(long)) + "." + base64.RawStdEncoding.EncodeToString([]byte("?"))
	hashed := sqs.NewDelivery(longBody, "r", map[string]string{"MessageGroupId": "~hash"})
	for name, c := range map[string]struct {
		d     queue.Delivery
		max   int
		body  string
		group string // "~" is a hash
		has   []string
	}{
		"garbage":           {sqs.NewDelivery("not ours", "r", map[string]string{"MessageGroupId": "cart-1"}), 0, "not ours", "cart-1", []string{"weft-group", "weft-queue", "weft-reason", "weft-sent"}},
		"no group":          {sqs.NewDelivery("not ours", "r", nil), 0, "not ours", "", []string{"weft-queue", "weft-reason", "weft-sent"}},
		"a long group":      {hashed, 0, longBody, "~", []string{"weft-group", "weft-queue", "weft-reason", "weft-sent"}},
		"of another queue":  {queue.Delivery{Body: []byte("abc"), Group: "g"}, 0, "YWJj", "g", []string{"weft-group", "weft-queue", "weft-reason", "weft-sent"}},
		"room for its name": {sqs.NewDelivery("not ours", "r", nil), 8 + len("weft-queue") + len("String") + len("workflow"), "not ours", "", []string{"weft-queue"}},
		"no room":           {sqs.NewDelivery("not ours", "r", nil), 8, "not ours", "", nil},
	} {
		q, f := open(sqs.Options{MaxMessage: c.max})
		if err := q.Keep(t.Context(), queue.Workflow, c.d, "its first byte is wrong"); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, attributes := keptEntry(t, f.got[0])
		if diff := gocmp.Diff(c.has, slices.Sorted(maps.Keys(attributes))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		group := attributes["weft-group"]
		if strings.HasPrefix(group, "~") {
			group = "~"
		}
		if body != c.body || group != c.group || len(c.has) > 0 && attributes["weft-queue"] != "workflow" || len(c.has) > 2 && attributes["weft-reason"] != "its first byte is wrong" {
			t.Errorf("%s: %q with %q", name, body, attributes)
		}
	}
}

// Keep succeeds only if SQS has accepted the message.
func TestKeepFails(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{
		"refused": {status: 403, code: "AccessDenied"}, "failed": {body: partly("InternalError", "no")}, "no queue": {status: 400, code: "AWS.SimpleQueueService.NonExistentQueue"},
	} {
		q, _ := open(sqs.Options{}, a, a, a)
		if err := q.Keep(t.Context(), queue.Workflow, sqs.NewDelivery("x", "r", nil), "why"); err == nil {
			t.Errorf("%s: it was kept", name)
		}
	}
	q, f := open(sqs.Options{}, answer{lost: true})
	if err := q.Keep(t.Context(), queue.Workflow, sqs.NewDelivery("x", "r", nil), "why"); err != nil || len(f.got) != 2 {
		t.Errorf("after a lost connection: %v, with %d requests", err, len(f.got))
	}
	none := sqs.New(awssqs.New(awssqs.Options{}), sqs.Options{})
	if err := none.Keep(t.Context(), queue.Workflow, queue.Delivery{Body: []byte("x")}, "why"); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("without a queue for it: %v", err)
	}
}
