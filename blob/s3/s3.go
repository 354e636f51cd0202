// Package s3 keeps blobs in a bucket of S3.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/awstry"
)

// Blobs are blobs in a bucket. They are safe for concurrent use.
type Blobs struct {
	client *awss3.Client
	bucket string
}

var _ blob.Blobs = (*Blobs)(nil)

// tryTimeout is how long one try of a request, including its answer, may take before the SDK sends
// the request again on another connection.
const tryTimeout = 5 * time.Second

// New returns the blobs in an existing bucket. It makes no request.
func New(client *awss3.Client, bucket string) *Blobs {
	o := client.Options()
	o.ExpressCredentials = nil // the SDK would change those of the caller's client
	o.HTTPClient = awstry.Wrap(o.HTTPClient, awstry.For(0, tryTimeout))
	return &Blobs{client: awss3.New(o), bucket: bucket}
}

// Put implements blob.Blobs. Like all methods here it makes one request. S3 is strongly consistent.
func (b *Blobs) Put(ctx context.Context, key string, body []byte) error {
	if len(body) > blob.MaxBody {
		return fmt.Errorf("%w: %d bytes, at most %d", blob.ErrTooLarge, len(body), blob.MaxBody)
	}
	_, err := b.client.PutObject(ctx, &awss3.PutObjectInput{
		Bucket: &b.bucket, Key: &key, Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
		ContentType: aws.String("application/octet-stream"),
	})
	return err
}

// bodyTries is how many times Get requests an object whose body arrives incomplete. The SDK's own
// retries end when the body begins.
const bodyTries = 3

// Get implements blob.Blobs.
func (b *Blobs) Get(ctx context.Context, key string) (body []byte, err error) {
	for range bodyTries {
		body, err = b.get(ctx, key)
		var cut *cutOff
		if !errors.As(err, &cut) || ctx.Err() != nil {
			return body, err
		}
	}
	return nil, err
}

// cutOff is the error of an incomplete body.
type cutOff struct{ error }

// Unwrap returns the cause.
func (c *cutOff) Unwrap() error { return c.error }

func (b *Blobs) get(ctx context.Context, key string) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &awss3.GetObjectInput{Bucket: &b.bucket, Key: &key})
	var missing *types.NoSuchKey
	switch {
	case errors.As(err, &missing):
		return nil, fmt.Errorf("%w: %s", blob.ErrMissing, key)
	case denied(err):
		return nil, fmt.Errorf("%w: %s (or it is missing: S3 answers the same without permission to list the whole bucket): %w", blob.ErrDenied, key, err)
	case err != nil:
		return nil, err
	}
	defer func() { _ = out.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(out.Body, blob.MaxBody+1))
	if err != nil {
		return nil, &cutOff{fmt.Errorf("%s after %d bytes: %w", key, len(body), err)}
	}
	if len(body) > blob.MaxBody {
		return nil, fmt.Errorf("%w: %s", blob.ErrTooLarge, key)
	}
	return body, nil
}

// denied reports whether S3 will not let this process read an object until somebody changes
// permissions or keys. S3 answers 403 for a missing object as well (S3 API Reference, GetObject):
// “If you don't have the s3:ListBucket permission, Amazon S3 returns an HTTP status code 403
// (“access denied”) error”. A permission that is limited to a prefix does not count.
func denied(err error) bool {
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.ErrorCode() {
	case "AccessDenied", "KMS.DisabledException", "KMS.InvalidStateException", "KMS.KMSInvalidStateException", "KMS.NotFoundException":
		return true
	}
	return false
}

// List implements blob.Blobs.
func (b *Blobs) List(ctx context.Context, prefix, after string, limit int) (list []blob.Listed, err error) {
	in := &awss3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &prefix, MaxKeys: aws.Int32(int32(min(limit, blob.MaxBatch)))}
	if after != "" {
		in.StartAfter = &after
	}
	out, err := b.client.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, o := range out.Contents {
		list = append(list, blob.Listed{Key: aws.ToString(o.Key), Put: aws.ToTime(o.LastModified).UTC().Truncate(time.Second)})
	}
	return list, nil
}

// Delete implements blob.Blobs.
func (b *Blobs) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	objects := make([]types.ObjectIdentifier, len(keys))
	for i := range keys {
		objects[i].Key = &keys[i]
	}
	out, err := b.client.DeleteObjects(ctx, &awss3.DeleteObjectsInput{
		Bucket: &b.bucket, Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)},
	})
	if err == nil && len(out.Errors) > 0 {
		err = fmt.Errorf("blob/s3: %d of %d objects were not deleted, the first because of %s", len(out.Errors), len(keys), aws.ToString(out.Errors[0].Code))
	}
	return err
}
