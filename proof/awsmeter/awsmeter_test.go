package awsmeter_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/proof/awsmeter"
)

// answers is a service that gives these answers, one to each request, and keeps the requests.
type answers struct {
	mu     sync.Mutex
	status []int
	body   []string
	asked  []string
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var asked []byte
	if r.Body != nil {
		var err error
		if asked, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	status, body := a.status[min(len(a.asked), len(a.status)-1)], a.body[min(len(a.asked), len(a.body)-1)]
	a.asked = append(a.asked, string(asked))
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

func config(a *answers, total *awsmeter.Meter, o awsmeter.Options) aws.Config {
	c := aws.Config{
		Region: "us-east-1", HTTPClient: a, BaseEndpoint: aws.String("http://fake"),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
	c.APIOptions = append(c.APIOptions, awsmeter.Install(total, o))
	return c
}

var (
	table = aws.String("weft")
	key   = map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
	put   = types.TransactWriteItem{Put: &types.Put{TableName: table, Item: key}}
	write = types.WriteRequest{PutRequest: &types.PutRequest{Item: key}}
)

func putItem(ctx context.Context, d *dynamodb.Client) {
	_, _ = d.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key})
}

func transact(ctx context.Context, d *dynamodb.Client) {
	_, _ = d.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put, put}})
}

func batch(ctx context.Context, d *dynamodb.Client) {
	_, _ = d.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"weft": {write, write, write}}})
}

func query(consistent bool) func(context.Context, *dynamodb.Client) {
	return func(ctx context.Context, d *dynamodb.Client) {
		_, _ = d.Query(ctx, &dynamodb.QueryInput{TableName: table, ConsistentRead: &consistent, KeyConditionExpression: aws.String("pk = :p")})
	}
}

// Each request to DynamoDB has its cost, depending on its answer.
func TestDynamoDB(t *testing.T) {
	t.Parallel()
	const throttle, condition = `{"__type":"ThrottlingException"}`, `{"__type":"ConditionalCheckFailedException"}`
	const canceled = `{"__type":"TransactionCanceledException","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed"}]}`
	for name, test := range map[string]struct {
		call   func(context.Context, *dynamodb.Client)
		status []int
		body   []string
		want   awsmeter.Cost
	}{
		"put":               {putItem, []int{200}, []string{"{}"}, awsmeter.Cost{Writes: 1}},
		"put, lost":         {putItem, []int{400}, []string{condition}, awsmeter.Cost{Lost: 1}},
		"put, refused":      {putItem, []int{400}, []string{`{"__type":"ValidationException"}`}, awsmeter.Cost{}},
		"put, answer lost":  {putItem, []int{0}, []string{""}, awsmeter.Cost{Writes: 2}},
		"put, again":        {putItem, []int{500, 200}, []string{"{}"}, awsmeter.Cost{Writes: 2}},
		"put, throttled":    {putItem, []int{400, 200}, []string{throttle, "{}"}, awsmeter.Cost{Writes: 1, Throttled: 1}},
		"two":               {transact, []int{200}, []string{"{}"}, awsmeter.Cost{Writes: 2}},
		"two, lost":         {transact, []int{400}, []string{canceled}, awsmeter.Cost{Lost: 2}},
		"batch":             {batch, []int{200}, []string{`{}`}, awsmeter.Cost{Writes: 3}},
		"batch, left over":  {batch, []int{200}, []string{`{"UnprocessedItems":{"weft":[{"PutRequest":{"Item":{}}}]}}`}, awsmeter.Cost{Writes: 2}},
		"query, consistent": {query(true), []int{200}, []string{"{}"}, awsmeter.Cost{StrongReads: 1}},
		"query":             {query(false), []int{200}, []string{"{}"}, awsmeter.Cost{EventualReads: 1}},
		"put's units": {
			putItem,
			[]int{200},
			[]string{`{"ConsumedCapacity":{"CapacityUnits":3,"Table":{"CapacityUnits":2},"GlobalSecondaryIndexes":{"list":{"CapacityUnits":1}}}}`},
			awsmeter.Cost{Writes: 1, WriteUnits: 2, IndexUnits: 1},
		},
		"two's units": {
			transact, []int{200}, []string{`{"ConsumedCapacity":[{"CapacityUnits":4}]}`}, awsmeter.Cost{Writes: 2, WriteUnits: 4},
		},
		"query's units": {
			query(false),
			[]int{200},
			[]string{`{"ConsumedCapacity":{"CapacityUnits":0.5,"GlobalSecondaryIndexes":{"list":{"CapacityUnits":0.5}}}}`},
			awsmeter.Cost{EventualReads: 1, ReadUnits: 0.5},
		},
	} {
		a, total := &answers{status: test.status, body: test.body}, &awsmeter.Meter{}
		d := dynamodb.NewFromConfig(config(a, total, awsmeter.Options{Units: true}), func(o *dynamodb.Options) {
			o.RetryMaxAttempts = 2
		})
		outer, one := awsmeter.With(t.Context())
		inner, two := awsmeter.With(outer)
		test.call(inner, d)
		for _, m := range []*awsmeter.Meter{total, one, two} {
			if got := m.Cost(); got != test.want {
				t.Errorf("%s cost %+v, want %+v", name, got, test.want)
			}
		}
		if !strings.Contains(a.asked[0], `"ReturnConsumedCapacity":"INDEXES"`) {
			t.Errorf("%s does not request the units: %s", name, a.asked[0])
		}
	}
}

// The meter asks for units only if the options say so, and does not change the caller's request.
func TestUnitsAreOptional(t *testing.T) {
	t.Parallel()
	for _, units := range []bool{false, true} {
		a := &answers{status: []int{200}, body: []string{"{}"}}
		in := &dynamodb.PutItemInput{TableName: table, Item: key}
		if _, err := dynamodb.NewFromConfig(config(a, nil, awsmeter.Options{Units: units})).PutItem(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if asked := strings.Contains(a.asked[0], "ReturnConsumedCapacity"); asked != units || in.ReturnConsumedCapacity != "" {
			t.Errorf("units %v: asked %v, and the input says %q", units, asked, in.ReturnConsumedCapacity)
		}
	}
}

// Each request to SQS has its cost: billed requests, and accepted messages.
func TestSQS(t *testing.T) {
	t.Parallel()
	q := aws.String("http://fake/q")
	large := aws.String(strings.Repeat("x", 40<<10))
	entries := []sqstypes.SendMessageBatchRequestEntry{{Id: aws.String("a"), MessageBody: large}, {Id: aws.String("b"), MessageBody: large}}
	for name, test := range map[string]struct {
		call func(context.Context, *sqs.Client)
		body string
		want awsmeter.Cost
	}{
		"send": {func(ctx context.Context, c *sqs.Client) {
			_, _ = c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: q, MessageBody: large})
		}, `{}`, awsmeter.Cost{Requests: 1, Chunks: 1, Messages: 1}},
		"send with attributes": {func(ctx context.Context, c *sqs.Client) {
			_, _ = c.SendMessage(ctx, &sqs.SendMessageInput{
				QueueUrl: q, MessageBody: large,
				MessageAttributes: map[string]sqstypes.MessageAttributeValue{"a": {DataType: aws.String("String"), StringValue: large}},
			})
		}, `{}`, awsmeter.Cost{Requests: 1, Chunks: 2, Messages: 1}},
		"batch": {func(ctx context.Context, c *sqs.Client) {
			_, _ = c.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q, Entries: entries})
		}, `{"Successful":[{"Id":"a"}],"Failed":[{"Id":"b"}]}`, awsmeter.Cost{Requests: 1, Chunks: 2, Messages: 1}},
		"receive": {func(ctx context.Context, c *sqs.Client) {
			_, _ = c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q})
		}, `{"Messages":[{"Body":"` + *large + `"},{"Body":"` + *large + `"}]}`, awsmeter.Cost{Requests: 1, Chunks: 2}},
		"delete": {func(ctx context.Context, c *sqs.Client) {
			_, _ = c.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: q, ReceiptHandle: q})
		}, `{}`, awsmeter.Cost{Requests: 1, Chunks: 1}},
	} {
		total := &awsmeter.Meter{}
		a := &answers{status: []int{200}, body: []string{test.body}}
		c := sqs.NewFromConfig(config(a, total, awsmeter.Options{Units: true}), func(o *sqs.Options) { o.DisableMessageChecksumValidation = true })
		test.call(t.Context(), c)
		if got := total.Cost(); got != test.want {
			t.Errorf("%s cost %+v, want %+v", name, got, test.want)
		}
	}
}

// Each request to KMS and S3 has its cost, depending on its answer.
func TestPayloads(t *testing.T) {
	t.Parallel()
	const refused = `{"__type":"AccessDeniedException"}`
	bucket, name := aws.String("b"), aws.String("k")
	for what, test := range map[string]struct {
		call   func(context.Context, *kms.Client, *s3.Client)
		status int
		body   string
		want   awsmeter.Cost
	}{
		"a data key": {func(ctx context.Context, k *kms.Client, _ *s3.Client) {
			_, _ = k.GenerateDataKey(ctx, &kms.GenerateDataKeyInput{KeyId: name})
		}, 200, "{}", awsmeter.Cost{KeyRequests: 1}},
		"unwrapped": {func(ctx context.Context, k *kms.Client, _ *s3.Client) {
			_, _ = k.Decrypt(ctx, &kms.DecryptInput{CiphertextBlob: []byte("x")})
		}, 200, "{}", awsmeter.Cost{KeyRequests: 1}},
		"refused": {func(ctx context.Context, k *kms.Client, _ *s3.Client) {
			_, _ = k.Decrypt(ctx, &kms.DecryptInput{CiphertextBlob: []byte("x")})
		}, 400, refused, awsmeter.Cost{}},
		"put": {func(ctx context.Context, _ *kms.Client, s *s3.Client) {
			_, _ = s.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: name, Body: strings.NewReader("x")})
		}, 200, "", awsmeter.Cost{BlobPuts: 1}},
		"listed": {func(ctx context.Context, _ *kms.Client, s *s3.Client) {
			_, _ = s.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket})
		}, 200, "<ListBucketResult/>", awsmeter.Cost{BlobPuts: 1}},
		"got": {func(ctx context.Context, _ *kms.Client, s *s3.Client) {
			_, _ = s.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: name})
		}, 200, "x", awsmeter.Cost{BlobGets: 1}},
		"deleted": {func(ctx context.Context, _ *kms.Client, s *s3.Client) {
			_, _ = s.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: name})
		}, 200, "", awsmeter.Cost{}},
	} {
		total := &awsmeter.Meter{}
		c := config(&answers{status: []int{test.status}, body: []string{test.body}}, total, awsmeter.Options{Units: true})
		test.call(t.Context(), kms.NewFromConfig(c), s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }))
		if got := total.Cost(); got != test.want {
			t.Errorf("%s cost %+v, want %+v", what, got, test.want)
		}
	}
}

// All meters of a context count each request once, also from many goroutines.
func TestMetersAddUp(t *testing.T) {
	t.Parallel()
	total := &awsmeter.Meter{}
	a := &answers{status: []int{200}, body: []string{"{}"}}
	d := dynamodb.NewFromConfig(config(a, total, awsmeter.Options{}))
	outer, one := awsmeter.With(t.Context())
	inner, two := awsmeter.With(outer)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { putItem(inner, d); query(true)(outer, d) })
	}
	all.Wait()
	for name, test := range map[string]struct {
		m    *awsmeter.Meter
		want awsmeter.Cost
	}{
		"total": {total, awsmeter.Cost{Writes: 20, StrongReads: 20}}, "outer": {one, awsmeter.Cost{Writes: 20, StrongReads: 20}},
		"inner": {two, awsmeter.Cost{Writes: 20}},
	} {
		if got := test.m.Cost(); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
