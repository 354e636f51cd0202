package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// keptMessage is a message in the queue of those that cannot be read.
func keptMessage(id, body string, attributes map[string]string) map[string]any {
	all := map[string]any{}
	for name, value := range attributes {
		all[name] = map[string]string{"DataType": "String", "StringValue": value}
	}
	return map[string]any{"MessageId": id, "ReceiptHandle": "receipt of " + id, "Body": body, "MessageAttributes": all}
}

// askUnreadable plays SQS to weft queue unreadable. It returns what the command prints and asks
// for. refused is a queue that takes no messages.
func askUnreadable(t *testing.T, refused string, args ...string) (out string, asked []string, err error) {
	t.Helper()
	out, _, asked, err = askHidden(t, "0", refused, args...)
	return out, asked, err
}

// askHidden is askUnreadable with messages that are hidden when the command begins; none is a count
// that is refused. It also returns what the command says on standard error.
func askHidden(t *testing.T, hidden, refused string, args ...string) (out, said string, asked []string, err error) {
	t.Helper()
	messages := []any{
		keptMessage("one", "not\x1bours", map[string]string{"weft-queue": "workflow", "weft-group": "cart-1", "weft-reason": "no version reads it", "weft-sent": "2026-11-29T08:00:00Z"}),
		keptMessage("two", "aGVsbG8", map[string]string{"weft-queue": "tasks-gpu", "weft-sent": "2026-11-29T09:00:00Z"}),
		keptMessage("three", "lost", nil),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		var in struct {
			QueueName, QueueURL, MessageBody, ReceiptHandle string
			MessageGroupID                                  string `json:"MessageGroupId"`
			MessageDeduplicationID                          string `json:"MessageDeduplicationId"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // an empty request fails the test below
		var answer any = map[string]any{}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		switch operation {
		case "GetQueueUrl":
			if !strings.HasPrefix(in.QueueName, "shop-") {
				w.WriteHeader(http.StatusBadRequest)
				answer = map[string]string{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no"}
				break
			}
			answer = map[string]string{"QueueUrl": "http://sqs/1/" + in.QueueName}
		case "GetQueueAttributes":
			if hidden == "" {
				w.WriteHeader(http.StatusForbidden)
				answer = map[string]string{"__type": "AccessDeniedException", "message": "not you"}
				break
			}
			answer = map[string]any{"Attributes": map[string]string{"ApproximateNumberOfMessagesNotVisible": hidden}}
		case "ReceiveMessage":
			if len(messages) > 0 && hidden != "" {
				hidden = "13" // those that were received are hidden, too
			}
			answer, messages = map[string]any{"Messages": messages}, nil
		case "SendMessage":
			asked = append(asked, strings.Join([]string{"send", in.QueueURL, in.MessageBody, in.MessageGroupID, in.MessageDeduplicationID}, " "))
			if strings.HasSuffix(in.QueueURL, refused) {
				w.WriteHeader(http.StatusForbidden)
				answer = map[string]string{"__type": "AccessDeniedException", "message": "not you"}
			}
		case "DeleteMessage":
			asked = append(asked, "delete "+in.QueueURL+" "+in.ReceiptHandle)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	var text, notes bytes.Buffer
	s := &cli.Session{In: strings.NewReader(""), Out: &text, Err: &notes, Getenv: func(string) string { return "" }}
	s.AWS = func(_ context.Context, region, _ string) (aws.Config, error) {
		return aws.Config{Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: func() aws.Retryer { return aws.NopRetryer{} }}, nil
	}
	err = execute(t.Context(), s, append([]string{"queue", "unreadable", "--region=eu-west-1"}, args...))
	return text.String(), notes.String(), asked, err
}

// The command says how many messages are hidden, because somebody has just looked. Those that it
// has received itself are none of them, and a count that is refused does not keep it from looking.
func TestUnreadableHidden(t *testing.T) {
	t.Parallel()
	for hidden, want := range map[string]string{
		"0":  "",
		"1":  "About 1 message is hidden and not looked at, because somebody has just looked: try again in 30 seconds.\n",
		"10": "About 10 messages are hidden and not looked at, because somebody has just looked: try again in 30 seconds.\n",
		"":   "How many messages are hidden is not known (sqs:GetQueueAttributes): ",
	} {
		out, said, _, err := askHidden(t, hidden, "no queue", "--stack=shop", "--output=json")
		if err != nil || strings.Count(out, `"id"`) != 3 || !strings.HasPrefix(said, want) || want == "" && said != "" {
			t.Errorf("%q are hidden: %v, said %q, want %q\n%s", hidden, err, said, want, out)
		}
	}
}

// weft queue unreadable prints the messages that cannot be read, the oldest first, and changes
// nothing. With --resend each is deleted when its queue has accepted it, and not before.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	const none = "no queue"
	out, asked, err := askUnreadable(t, none, "--stack=shop", "--output=json")
	if err != nil || len(asked) > 0 || strings.Count(out, `"id"`) != 3 || !strings.Contains(out, `"queue":"workflow"`) && !strings.Contains(out, `"queue": "workflow"`) {
		t.Errorf("%v, asked %q\n%s", err, asked, out)
	}
	out, asked, err = askUnreadable(t, none, "--name=shop")
	if err != nil || len(asked) > 0 || !strings.Contains(out, "cart-1") || strings.Contains(out, "\x1b") {
		t.Errorf("%v, asked %q\n%q", err, asked, out)
	}
	_, asked, err = askUnreadable(t, none, "--stack=shop", "--resend")
	slices.Sort(asked)
	want := []string{
		"delete http://sqs/1/shop-unreadable receipt of one", "delete http://sqs/1/shop-unreadable receipt of two",
		"send http://sqs/1/shop-tasks-gpu aGVsbG8  ", "send http://sqs/1/shop-workflow.fifo not\x1bours cart-1 one",
	}
	if !slices.Equal(asked, want) || err == nil || !strings.Contains(err.Error(), "the message three stays: it does not say which queue it was in") {
		t.Errorf("%v, asked %q, want %q", err, asked, want)
	}
	_, asked, err = askUnreadable(t, "tasks-gpu", "--stack=shop", "--resend")
	if slices.Contains(asked, "delete http://sqs/1/shop-unreadable receipt of two") || err == nil || !strings.Contains(err.Error(), "the message two stays: it cannot be sent to tasks-gpu") {
		t.Errorf("a queue that refuses: %v, asked %q", err, asked)
	}
	if _, _, err = askUnreadable(t, none, "--stack=other"); err == nil || !strings.Contains(err.Error(), "there is no queue other-unreadable") {
		t.Errorf("another name: %v", err)
	}
}
