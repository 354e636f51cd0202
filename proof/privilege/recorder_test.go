package privilege

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// yes answers every request with an empty success.
type yes struct{}

func (yes) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func arn(service, resource string) string { return service + ":" + resource }

func recording(r *Recorder) aws.Config {
	return aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), HTTPClient: yes{},
		APIOptions: []func(*middleware.Stack) error{Install(arn, func(context.Context) *Recorder { return r })},
	}
}

// call is a call of a port, and the rights that it needs.
type call struct {
	call func(ctx context.Context) error
	want []string
}

// calls returns calls of the store and the queues.
func calls(t *testing.T, c aws.Config) map[string]call {
	t.Helper()
	s, err := dynamo.New(dynamodb.NewFromConfig(c), dynamo.Options{Table: "t", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	q := sqs.New(awssqs.NewFromConfig(c), sqs.Options{URLs: map[string]string{queue.Workflow: "https://sqs/1/w.fifo", queue.Activities: "https://sqs/1/a"}})
	var lists []string
	for shard := range 8 {
		lists = append(lists, fmt.Sprintf("dynamodb:Query (DynamoDB.Query) on dynamodb:table/t/index/list of ns/l/%d", shard))
	}
	return map[string]call{
		"a commit": {
			func(ctx context.Context) error {
				return s.Append(ctx, store.Item{Key: store.Key{Workflow: "a/b", Run: 1}})
			},
			[]string{"dynamodb:PutItem (DynamoDB.PutItem) on dynamodb:table/t of ns/w/a/b"},
		},
		"two commits": {
			func(ctx context.Context) error {
				return s.Append(ctx, store.Item{Key: store.Key{Workflow: "a", Run: 1}}, store.Item{Key: store.Key{Workflow: "a", Run: 2}})
			},
			[]string{"dynamodb:PutItem (DynamoDB.TransactWriteItems/Put) on dynamodb:table/t of ns/w/a"},
		},
		"timers": {
			func(ctx context.Context) error {
				return s.DeleteTimers(ctx, []store.Timer{{ID: "1", Due: time.Unix(1, 0)}, {ID: "2", Due: time.Unix(1, 0)}, {ID: "3", Due: time.Unix(1, 0)}})
			},
			[]string{"dynamodb:BatchWriteItem (DynamoDB.BatchWriteItem) on dynamodb:table/t of ns/t/1, ns/t/3"},
		},
		"the list": {
			func(ctx context.Context) error {
				_, _, err := s.Lister().ListRuns(ctx, store.Filter{}, "", 1)
				return err
			},
			lists,
		},
		"the mark": {
			func(ctx context.Context) error { _, err := s.ReadMark(ctx); return err },
			[]string{"dynamodb:Query (DynamoDB.Query) on dynamodb:table/t of ns/m"},
		},
		"a deletion": {
			func(ctx context.Context) error {
				return s.Delete(ctx, []store.Item{{Key: store.Key{Workflow: "a", Run: 1}}}, nil)
			},
			[]string{"dynamodb:DeleteItem (DynamoDB.DeleteItem) on dynamodb:table/t of ns/w/a"},
		},
		"a scan": {
			func(ctx context.Context) error { _, _, err := s.Scan(ctx, "", 1); return err },
			[]string{"dynamodb:Scan (DynamoDB.Scan) on dynamodb:table/t"},
		},
		"a message": {
			func(ctx context.Context) error {
				return q.Send(ctx, queue.Workflow, queue.Message{Body: []byte("x"), Group: "g"})
			},
			[]string{"sqs:SendMessage (SQS.SendMessageBatch) on sqs:w.fifo"},
		},
		"a visibility": {
			func(ctx context.Context) error { return q.Extend(ctx, queue.Activities, "r", time.Minute) },
			[]string{"sqs:ChangeMessageVisibility (SQS.ChangeMessageVisibility) on sqs:a"},
		},
	}
}

// The recorder records the rights that requests of the store and the queues need.
func TestUses(t *testing.T) {
	t.Parallel()
	r := &Recorder{}
	for what, c := range calls(t, recording(r)) {
		r.uses = nil
		if err := c.call(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var got []string
		for _, u := range r.Uses() {
			got = append(got, u.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(r.Errs()) > 0 {
			t.Errorf("%s: %v\n%s", what, r.Errs(), diff)
		}
	}
}

// An unknown request is an error of the recorder, and not a use.
func TestUnknownRequests(t *testing.T) {
	t.Parallel()
	name := aws.String("t")
	for what, c := range map[string]struct {
		operation string
		input     any
	}{
		"another operation":             {"DynamoDB.GetItem", &dynamodb.GetItemInput{TableName: name}},
		"another name":                  {"DynamoDB.Put", &dynamodb.PutItemInput{TableName: name, Item: item{"pk": &types.AttributeValueMemberS{Value: "k"}}}},
		"no partition key":              {"DynamoDB.PutItem", &dynamodb.PutItemInput{TableName: name}},
		"a query without a key":         {"DynamoDB.Query", &dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("sk = :a")}},
		"another part of a transaction": {"DynamoDB.TransactWriteItems", &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Delete: &types.Delete{}}}}},
	} {
		r := &Recorder{}
		r.Record(c.operation, c.input, arn)
		if len(r.Errs()) != 1 || len(r.Uses()) != 0 {
			t.Errorf("%s: %v, %v", what, r.Uses(), r.Errs())
		}
	}
}
