//go:build aws

package s3_test

import (
	"crypto/rand"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/blob/blobtest"
	"github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	client := awss3.NewFromConfig(awstest.LocalStack(t).Config, func(o *awss3.Options) { o.UsePathStyle = true })
	blobtest.Run(t, func(t *testing.T) func() blob.Blobs {
		bucket := "weft-" + strings.ToLower(rand.Text())
		if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &bucket}); err != nil {
			t.Fatal(err)
		}
		return func() blob.Blobs { return s3.New(client, bucket) }
	})
}
