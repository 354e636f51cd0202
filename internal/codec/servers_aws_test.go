//go:build aws

package codec_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// canary is in all bodies here.
const canary = "canary-19c3"

// With a key of KMS, nothing that DynamoDB, SQS and S3 hold of an encoded deployment contains any
// of a body. Without a key it does. The wrapped ports read all of it back.
func TestNothingReadableIsHeld(t *testing.T) {
	t.Parallel()
	for name, encrypts := range map[string]bool{"encrypted": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := awstest.LocalStack(t).Config
			h := newHeld(t, c)
			o := codec.Options{Blobs: s3.New(h.s3, h.name)}
			if encrypts {
				key, err := h.kms.CreateKey(t.Context(), &kms.CreateKeyInput{})
				if err != nil {
					t.Fatal(err)
				}
				o.Keys = awskms.New(h.kms, []string{*key.KeyMetadata.Arn})
			}
			h.fill(codec.New(o))
			text := h.text()
			if found := strings.Contains(text, canary); found == encrypts || len(text) < 1<<20 || !strings.Contains(text, "order-1") {
				t.Errorf("of %d bytes that the servers hold, some are readable: %v", len(text), found)
			}
		})
	}
}

// held is a table, a queue and a bucket of one name.
type held struct {
	*testing.T
	name, url string
	dynamo    *dynamodb.Client
	sqs       *awssqs.Client
	s3        *awss3.Client
	kms       *kms.Client
}

func newHeld(t *testing.T, c aws.Config) *held {
	t.Helper()
	h := &held{
		T: t, name: "weft-" + strings.ToLower(rand.Text()), dynamo: dynamodb.NewFromConfig(c), sqs: awssqs.NewFromConfig(c), kms: kms.NewFromConfig(c),
		s3: awss3.NewFromConfig(c, func(o *awss3.Options) { o.UsePathStyle = true }),
	}
	_, err1 := h.dynamo.CreateTable(t.Context(), dynamo.Schema(h.name))
	_, err2 := h.s3.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &h.name})
	made, err3 := h.sqs.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &h.name})
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	h.url = *made.QueueUrl
	return h
}

// fill puts commits, an attempt, a timer and messages, small and large, and reads back all but the
// messages.
func (h *held) fill(s *codec.Codec) {
	h.Helper()
	ctx := h.Context()
	table, err := dynamo.New(h.dynamo, dynamo.Options{Table: h.name})
	if err != nil {
		h.Fatal(err)
	}
	q := s.Sender(sqs.New(h.sqs, sqs.Options{URLs: map[string]string{queue.Timers: h.url}}))
	small, large := []byte(canary), bytes.Repeat([]byte(canary+" "), 100_000)
	due := time.Now().Truncate(time.Second)
	for slot, body := range [][]byte{small, large} {
		i := store.Item{Key: store.Key{Workflow: "order-1", Run: 1, Slot: uint32(slot)}, Commit: [16]byte{byte(slot + 1)}, Body: body}
		if err := s.Log(table).Append(ctx, i); err != nil {
			h.Fatal(err)
		}
		if err := q.Send(ctx, queue.Timers, queue.Message{Body: body}); err != nil {
			h.Fatal(err)
		}
	}
	err1 := s.Attempts(table).RecordAttempt(ctx, store.Attempt{Workflow: "order-1", Run: 1, Event: 5, Number: 1, Body: small})
	err2 := s.Timers(table).PutTimers(ctx, []store.Timer{{ID: "t", Due: due, Body: small}})
	page, err3 := s.Log(table).Forward(ctx, store.Key{Workflow: "order-1", Run: 1}, 0)
	attempts, err4 := s.Attempts(table).ReadAttempts(ctx, "order-1", 1)
	timers, err5 := s.Timers(table).DueTimers(ctx, due.Add(time.Minute), 10)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || err5 != nil || len(page.Items) != 2 || len(attempts) != 1 || len(timers) != 1 {
		h.Fatal(err1, err2, err3, err4, err5, len(page.Items), len(attempts), len(timers))
	}
	if !bytes.Equal(page.Items[1].Body, large) || !bytes.Equal(attempts[0].Body, small) || !bytes.Equal(timers[0].Body, small) {
		h.Error("what was read is not what was written")
	}
}

// text returns everything that the servers hold.
func (h *held) text() string {
	h.Helper()
	ctx := h.Context()
	var all strings.Builder
	scan, err := h.dynamo.Scan(ctx, &dynamodb.ScanInput{TableName: &h.name})
	if err != nil {
		h.Fatal(err)
	}
	for _, item := range scan.Items {
		for name, value := range item {
			all.WriteString(name + " " + plainText(value) + "\n")
		}
	}
	for n := 0; n < 2; {
		got, err := h.sqs.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &h.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 5})
		if err != nil {
			h.Fatal(err)
		}
		for _, m := range got.Messages {
			_, body := sqs.Decode(*m.Body, "")
			all.WriteString(*m.Body + "\n" + string(body) + "\n")
		}
		n += len(got.Messages)
	}
	list, err := h.s3.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &h.name})
	if err != nil || len(list.Contents) != 2 {
		h.Fatal(len(list.Contents), err)
	}
	for _, o := range list.Contents {
		got, err := h.s3.GetObject(ctx, &awss3.GetObjectInput{Bucket: &h.name, Key: o.Key})
		if err != nil {
			h.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil {
			h.Fatal(err)
		}
		all.WriteString(*o.Key + "\n" + string(body))
	}
	return all.String()
}

// plainText returns an attribute with its bytes as they are.
func plainText(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberS:
		return v.Value
	}
	return fmt.Sprint(value)
}
