//go:build aws

package codec_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/queue/sqs/sqstest"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// A service that encrypts sends AWS nothing that users give to workflows, and nothing that
// workflows make of it. A service that does not encrypt sends each of the marks.
func TestNothingReadableIsSent(t *testing.T) {
	t.Parallel()
	for name, encrypts := range map[string]bool{"encrypted": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			sent := &wire{HTTPClient: awstest.LocalStack(t).Config.HTTPClient.(awstest.HTTPClient)}
			use(t, serve(t, sent, encrypts))
			text := sent.text()
			for _, public := range []string{"keeper-1", "keeper", "plain-of-all"} {
				if !strings.Contains(text, public) {
					t.Errorf("%q was not sent, and is to be readable", public)
				}
			}
			for _, one := range marks {
				if found := strings.Contains(text, mark(one)); found == encrypts {
					t.Errorf("the mark of the %s can be read: %v", one, found)
				}
			}
			if encrypts && strings.Contains(text, marked) {
				at := strings.Index(text, marked)
				t.Errorf("this can be read: %q", text[max(0, at-200):min(len(text), at+200)])
			}
		})
	}
}

// wire passes requests on to AWS, and records what was sent.
type wire struct {
	awstest.HTTPClient
	mu   sync.Mutex
	sent bytes.Buffer
}

// Do implements aws.HTTPClient.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.mu.Lock()
		w.sent.WriteString(r.URL.Path + "\n")
		w.sent.Write(body)
		w.sent.WriteByte('\n')
		w.mu.Unlock()
	}
	return w.HTTPClient.Do(r)
}

var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{8,}`)

// text returns everything that was sent, both as sent and decoded: bytes are in base64, and those
// in messages twice.
func (w *wire) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all strings.Builder
	decode := func(text []byte) (decoded []byte) {
		for _, part := range base64Text.FindAll(text, -1) {
			if body, err := base64.RawStdEncoding.AppendDecode(nil, part); err == nil {
				decoded = append(append(decoded, body...), '\n')
			}
		}
		return decoded
	}
	once := decode(w.sent.Bytes())
	all.Write(w.sent.Bytes())
	all.Write(once)
	all.Write(decode(once))
	return all.String()
}

// serve returns a client of a service over LocalStack, which delivers its messages itself.
func serve(t *testing.T, sent *wire, encrypts bool) *client.Client {
	t.Helper()
	c := awstest.LocalStack(t).Config.Copy()
	c.HTTPClient = sent
	ctx, name := t.Context(), "weft-"+strings.ToLower(rand.Text())
	tables, queues, keys := dynamodb.NewFromConfig(c), awssqs.NewFromConfig(c), kms.NewFromConfig(c)
	objects := awss3.NewFromConfig(c, func(o *awss3.Options) { o.UsePathStyle = true })
	_, err1 := objects.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: &name})
	urls, err2 := sqstest.Create(ctx, queues, name+"-", queue.Standard())
	table, err3 := dynamo.New(tables, dynamo.Options{Table: name})
	if err := errors.Join(err1, err2, err3, dynamo.CreateTable(ctx, tables, name)); err != nil {
		t.Fatal(err)
	}
	o := codec.Options{Blobs: s3.New(objects, name), Log: slog.New(slog.DiscardHandler)}
	if encrypts {
		key, err := keys.CreateKey(ctx, &kms.CreateKeyInput{})
		if err != nil {
			t.Fatal(err)
		}
		o.Keys = awskms.New(keys, []string{*key.KeyMetadata.Arn})
	}
	types, err := program.Registry(registrations()...)
	if err != nil {
		t.Fatal(err)
	}
	q := sqs.New(queues, sqs.Options{URLs: urls})
	ports := assembly.PortsOf(table, table.Lister(), q)
	ports.Scanner = nil // nothing scans the table
	p := assembly.NewProcess(assembly.Config{
		Ports: ports, Receiver: q, Registry: types, Host: host.Machine{}, Codec: codec.New(o), Options: executor.Options{Build: "build", Logger: o.Log}, Concurrency: 8,
	})
	t.Cleanup(p.Work(context.Background()))
	return client.ForHandler(p.API)
}
