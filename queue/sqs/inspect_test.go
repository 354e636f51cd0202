package sqs_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

// attributes is the answer with attributes of a queue, as pairs.
func attributes(pairs ...string) answer {
	all := object{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return answer{body: object{"Attributes": all}}
}

func counts(waiting, inFlight, delayed string) answer {
	return attributes("ApproximateNumberOfMessages", waiting, "ApproximateNumberOfMessagesNotVisible", inFlight, "ApproximateNumberOfMessagesDelayed", delayed)
}

var policy = attributes("RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:1:buried.fifo","maxReceiveCount":"10"}`)

// The depth of a queue takes one request, and that of dead letters finds their queue first, once.
func TestDepth(t *testing.T) {
	t.Parallel()
	q, f := open(sqs.Options{}, counts("3", "2", "1"), policy, counts("5", "0", "0"), counts("4", "0", "0"))
	for _, c := range []struct {
		name string
		want queue.Depth
		urls []string
	}{
		{tasks, queue.Depth{Waiting: 3, InFlight: 2, Delayed: 1}, []string{"http://sqs.invalid/1/tasks"}},
		{queue.DeadLetters(orders), queue.Depth{Waiting: 5}, []string{"http://sqs.invalid/1/orders.fifo", "http://sqs.invalid/1/buried.fifo"}},
		{queue.DeadLetters(orders), queue.Depth{Waiting: 4}, []string{"http://sqs.invalid/1/buried.fifo"}},
	} {
		f.got = nil
		got, err := q.Depth(t.Context(), c.name)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
		var urls []string
		for _, r := range f.got {
			urls = append(urls, r.fields.QueueURL)
			if r.operation != "GetQueueAttributes" {
				t.Errorf("%s makes the request %s", c.name, r.operation)
			}
		}
		if strings.Join(urls, " ") != strings.Join(c.urls, " ") {
			t.Errorf("%s asks %q, want %q", c.name, urls, c.urls)
		}
	}
}

func TestDepthFails(t *testing.T) {
	t.Parallel()
	missing := answer{status: http.StatusBadRequest, code: "QueueDoesNotExist"}
	for what, c := range map[string]struct {
		name    string
		answers []answer
		invalid bool
	}{
		"no such name":             {"nobody", nil, true},
		"no such dead letters":     {queue.DeadLetters("nobody"), nil, true},
		"no such queue":            {tasks, []answer{missing}, true},
		"no redrive policy":        {queue.DeadLetters(tasks), []answer{attributes("QueueArn", "x")}, true},
		"another redrive policy":   {queue.DeadLetters(tasks), []answer{attributes("RedrivePolicy", "{")}, false},
		"a policy without a queue": {queue.DeadLetters(tasks), []answer{attributes("RedrivePolicy", "{}")}, false},
		"no counts":                {tasks, []answer{attributes()}, false},
		"counts that are none":     {tasks, []answer{counts("1", "2", "many")}, false},
		"no rights":                {tasks, []answer{{status: http.StatusForbidden, code: "AccessDenied"}}, false},
	} {
		q, _ := open(sqs.Options{}, c.answers...)
		d, err := q.Depth(t.Context(), c.name)
		if err == nil || d != (queue.Depth{}) {
			t.Errorf("%s: %+v, %v; want an error", what, d, err)
		}
		if c.invalid {
			is(t, what, err, queue.ErrInvalid)
		}
	}
}

// Dead letters whose queue was replaced are found again.
func TestDeadLettersAreFoundAgain(t *testing.T) {
	t.Parallel()
	missing := answer{status: http.StatusBadRequest, code: "QueueDoesNotExist"}
	q, f := open(sqs.Options{}, policy, missing, policy, counts("1", "0", "0"))
	if _, err := q.Depth(t.Context(), queue.DeadLetters(orders)); err == nil {
		t.Error("dead letters that do not exist have a depth")
	}
	if d, err := q.Depth(t.Context(), queue.DeadLetters(orders)); err != nil || d.Waiting != 1 || len(f.got) != 4 {
		t.Errorf("%+v, %v after %d requests", d, err, len(f.got))
	}
}

// Redrive names the dead letters only, so that SQS moves each message to where it came from.
func TestRedrive(t *testing.T) {
	t.Parallel()
	q, f := open(sqs.Options{}, policy, answer{body: object{"TaskHandle": "handle"}})
	if err := q.Redrive(t.Context(), orders); err != nil {
		t.Fatal(err)
	}
	if got := f.got[1]; got.operation != "StartMessageMoveTask" || got.body != `{"SourceArn":"arn:aws:sqs:us-east-1:1:buried.fifo"}` {
		t.Errorf("the request is %s %s", got.operation, got.body)
	}
	refused := func(code, message string) answer {
		return answer{status: http.StatusBadRequest, body: object{"__type": "com.amazonaws.sqs#" + code, "message": message}}
	}
	const busy = "Value arn:aws:sqs:us-east-1:1:buried.fifo for parameter SourceArn is invalid. Reason: There is already a task running. Only one active task is allowed for a source queue arn at a given time."
	for what, c := range map[string]struct {
		name   string
		answer answer
		want   error
	}{
		"a task that runs":                {orders, refused("InvalidParameterValue", busy), queue.ErrRedriving},
		"a task that runs, another code":  {orders, refused("UnsupportedOperation", busy), queue.ErrRedriving},
		"dead letters that are not there": {orders, refused("ResourceNotFoundException", "The resource does not exist."), queue.ErrInvalid},
		"a name that is not there":        {"nobody", answer{}, queue.ErrInvalid},
	} {
		q, _ := open(sqs.Options{}, policy, c.answer)
		is(t, what, q.Redrive(t.Context(), c.name), c.want)
	}
	q, _ = open(sqs.Options{}, policy, answer{status: http.StatusForbidden, code: "AccessDenied"})
	err := q.Redrive(t.Context(), orders)
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("without the right: %v", err)
	}
}
