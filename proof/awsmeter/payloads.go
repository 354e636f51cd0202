package awsmeter

import (
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// countPayloads returns the cost of a request to KMS or S3, which bill requests that they have
// carried out. ok is false for requests to other services.
func countPayloads(input any, f fate) (c Cost, ok bool) {
	n := int64(0)
	if f == done || f == open {
		n = 1
	}
	switch input.(type) {
	case *kms.GenerateDataKeyInput, *kms.DecryptInput:
		return Cost{KeyRequests: n}, true
	case *s3.PutObjectInput, *s3.ListObjectsV2Input:
		return Cost{BlobPuts: n}, true
	case *s3.GetObjectInput:
		return Cost{BlobGets: n}, true
	}
	return Cost{}, false
}
