//go:build aws

package localstack_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed-41655fb1/weft/examples/documents"
)

// A document of 600 KiB passes through the functions to the bucket, encrypted with the key that the
// deployment made. It is in the bucket, and can be read neither there nor in the table.
func TestPayloads(t *testing.T) {
	t.Parallel()
	ctx, d := deployed(t)
	const name, secret = "Ada Lovelace", "has signed what nobody else may read"
	var text strings.Builder
	for text.Len() < 600<<10 { // random text stays large even if it is compressed
		fmt.Fprintf(&text, "%s %s: %s. ", name, secret, rand.Text())
	}
	run, err := documents.Workflow.Start(ctx, d.client, "contract-1", documents.Document{Text: text.String(), Names: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the document is redacted", func() (bool, error) {
		_, err := documents.Release.Call(ctx, d.client, "contract-1", documents.Note{Text: secret})
		return err == nil, err
	})
	public, err := run.Result(ctx)
	if want := strings.ReplaceAll(text.String(), name, strings.Repeat("█", len(name))); err != nil || public.Text != want || public.Note != secret {
		t.Errorf("a document of %d bytes is returned as one of %d, with the note %q, %v", text.Len(), len(public.Text), public.Note, err)
	}

	bucket, key := d.payloads(ctx, t)
	objects := d.objects(ctx, t, bucket)
	large := 0
	for at, body := range objects {
		if !strings.HasPrefix(at, d.stack+"/") || readable(body, secret) {
			t.Errorf("the bucket has %s, of %d bytes, that can be read: %v", at, len(body), readable(body, secret))
		}
		if len(body) > text.Len() {
			large++
		}
	}
	if large < 2 { // the commit with the document, and the one with the activity's result
		t.Errorf("the bucket has %d large objects of %d", large, len(objects))
	}
	for _, item := range d.items(ctx, t) {
		if body, ok := item["body"].(*types.AttributeValueMemberB); ok && readable(body.Value, secret) {
			t.Errorf("the table has an item that can be read: %v", item["pk"])
		}
	}
	rotation, err := kms.NewFromConfig(d.server.Config).GetKeyRotationStatus(ctx, &kms.GetKeyRotationStatusInput{KeyId: aws.String(key)})
	if err != nil || !rotation.KeyRotationEnabled {
		t.Errorf("the key %s: %+v, %v; want one that is rotated", key, rotation, err)
	}
}

// readable reports whether a body, or a part of it, is plain.
func readable(body []byte, text string) bool { return bytes.Contains(body, []byte(text)) }

// payloads returns the bucket of large payloads and the payload key, as the functions know them.
func (d *deployment) payloads(ctx context.Context, t *testing.T) (bucket, key string) {
	t.Helper()
	f, err := lambda.NewFromConfig(d.server.Config).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(d.stack + "-api")})
	if err != nil {
		t.Fatal(err)
	}
	variables := f.Environment.Variables
	return variables["WEFT_BUCKET"], variables["WEFT_PAYLOAD_KEY"]
}

// objects returns the objects of a bucket, by their keys.
func (d *deployment) objects(ctx context.Context, t *testing.T, bucket string) map[string][]byte {
	t.Helper()
	client := s3.NewFromConfig(d.server.Config, func(o *s3.Options) { o.UsePathStyle = true })
	all := map[string][]byte{}
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatalf("the bucket %s: %v", bucket, err)
		}
		for _, o := range page.Contents {
			out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: o.Key})
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(out.Body)
			_ = out.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			all[*o.Key] = body
		}
	}
	return all
}

// items returns the items of the table.
func (d *deployment) items(ctx context.Context, t *testing.T) (all []map[string]types.AttributeValue) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(d.server.Config), &dynamodb.ScanInput{TableName: aws.String(d.table(ctx, t))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
	}
	return all
}
