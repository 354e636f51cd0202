package infra_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/internal/awsuse"
	"github.com/seed-41655fb1/weft/internal/iam"
	"github.com/seed-41655fb1/weft/internal/lambdahost"
	"github.com/seed-41655fb1/weft/internal/privilege"
	"github.com/seed-41655fb1/weft/internal/seal/awskms"
)

// unreachable answers no request: what is asked for is recorded before it is sent.
type unreachable struct{}

func (unreachable) Do(*http.Request) (*http.Response, error) { return nil, errors.New("unreachable") }

const (
	youngKey = "arn:aws:kms:us-east-1:000000000000:key/young"
	oldKey   = "arn:aws:kms:us-east-1:000000000000:key/old"
)

// payloadUses is what the program asks of KMS and S3 for a namespace: all of it, and what the timer function does.
func payloadUses(t *testing.T, namespace string) (all, timer []awsuse.Use) {
	t.Helper()
	var r *awsuse.Recorder
	c := aws.Config{
		Region: lambdahost.Region, HTTPClient: unreachable{}, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	c.APIOptions = append(c.APIOptions, awsuse.Install(lambdahost.ARN, func(context.Context) *awsuse.Recorder { return r }))
	keys, blobs := awskms.New(kms.NewFromConfig(c), []string{youngKey, oldKey}), s3.New(awss3.NewFromConfig(c), "payloads")
	record := func(calls ...func(ctx context.Context) error) []awsuse.Use {
		r = &awsuse.Recorder{}
		for _, call := range calls {
			if call(t.Context()) == nil {
				t.Error("an answer of nobody")
			}
		}
		if errs := r.Errs(); len(errs) > 0 {
			t.Error(errs)
		}
		return r.Uses()
	}
	seal := []func(ctx context.Context) error{
		func(ctx context.Context) error { _, _, err := keys.Generate(ctx, namespace); return err },
		func(ctx context.Context) error {
			_, err := keys.Unwrap(ctx, namespace, "young", []byte("x"))
			return err
		},
		func(ctx context.Context) error { _, err := keys.Unwrap(ctx, namespace, "old", []byte("x")); return err },
	}
	get := func(ctx context.Context) error { _, err := blobs.Get(ctx, namespace+"/00000000/message/x"); return err }
	all = record(append(seal, get, func(ctx context.Context) error {
		return blobs.Put(ctx, namespace+"/00000000/message/x", []byte("x"))
	})...)
	timer = record(append(seal, get, func(ctx context.Context) error {
		return blobs.Delete(ctx, namespace+"/00000000/message/x")
	}, func(ctx context.Context) error {
		_, err := blobs.List(ctx, namespace+"/", namespace+"/a", 10)
		return err
	})...)
	return all, timer
}

// With keys of payloads and a bucket each function may do with them what the program asks for, and nothing else: nothing more, and
// nothing of another namespace.
func TestRightsToPayloads(t *testing.T) {
	t.Parallel()
	functions := samFunctions(t, "weft", map[string]string{"Namespace": namespaceHere, "PayloadKeys": youngKey + "," + oldKey, "Bucket": "payloads"})
	all, timer := payloadUses(t, namespaceHere)
	otherAll, otherTimer := payloadUses(t, namespaceHere+"2")
	for _, name := range roleNames(functions) {
		r := functions[name].Role
		var own []iam.Statement
		for _, s := range r.Statements {
			if s.Sid == "Seal" || s.Sid == "Blobs" || s.Sid == "FindBlobs" {
				own = append(own, s)
			}
		}
		r.Statements = own
		uses, others := all, otherAll
		if name == "timer" {
			uses, others = timer, otherTimer
		}
		missing, err := privilege.Missing(r, uses)
		if err != nil || len(missing) > 0 || len(uses) < 5 {
			t.Errorf("%s may not do %v of %d, %v", name, missing, len(uses), err)
		}
		unused, err := privilege.Unused(r, withOldWrites(uses))
		if err != nil || len(unused) > 0 {
			t.Errorf("%s has no use for %v, %v", name, unused, err)
		}
		for _, u := range others {
			if allowed, err := iam.Allowed(r.Statements, u.Request()); err != nil || allowed {
				t.Errorf("%s may do in another namespace: %v, %v", name, u, err)
			}
		}
	}
	for name, f := range samFunctions(t, "weft", nil) {
		for _, s := range f.Statements {
			if s.Sid == "Seal" || s.Sid == "Blobs" || s.Sid == "FindBlobs" {
				t.Errorf("%s has %s without keys and a bucket", name, s.Sid)
			}
		}
	}
}

// namespaceHere is that of the deployment of this test, which is not the default.
const namespaceHere = "shop"

// withOldWrites adds that new data keys are made with the old key, which they are before a rotation and after it has been taken
// back: a role does not tell the keys apart.
func withOldWrites(uses []awsuse.Use) []awsuse.Use {
	for _, u := range uses {
		if u.Operation == "KMS.GenerateDataKey" {
			u.Resource = oldKey
			uses = append(uses, u)
		}
	}
	return uses
}
