package infra_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"path"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/privilege"
)

// unreachable answers no request: requests are recorded before they are sent.
type unreachable struct{}

func (unreachable) Do(*http.Request) (*http.Response, error) { return nil, errors.New("unreachable") }

const (
	youngKey = "arn:aws:kms:us-east-1:000000000000:key/young"
	oldKey   = "arn:aws:kms:us-east-1:000000000000:key/old"
)

// madeKey and madeBucket are created by the template.
var madeKey = lambdahost.ARN("kms", "key/weft-PayloadKey")

const madeBucket = "weft-payloadbucket"

// payloadUses returns the requests of the program to KMS and S3 for a namespace, with two keys
// and a bucket: those of all functions, and those of the timer function.
func payloadUses(t *testing.T, namespace string, keyARNs []string, bucket string) (all, timer []privilege.Use) {
	t.Helper()
	var r *privilege.Recorder
	c := aws.Config{
		Region: lambdahost.Region, HTTPClient: unreachable{}, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	c.APIOptions = append(c.APIOptions, privilege.Install(lambdahost.ARN, func(context.Context) *privilege.Recorder { return r }))
	keys, blobs := awskms.New(kms.NewFromConfig(c), keyARNs), s3.New(awss3.NewFromConfig(c), bucket)
	record := func(calls ...func(ctx context.Context) error) []privilege.Use {
		r = &privilege.Recorder{}
		for _, call := range calls {
			if call(t.Context()) == nil {
				t.Error("a request was answered")
			}
		}
		if errs := r.Errs(); len(errs) > 0 {
			t.Error(errs)
		}
		return r.Uses()
	}
	ofKeys := []func(ctx context.Context) error{
		func(ctx context.Context) error { _, _, err := keys.Generate(ctx, namespace); return err },
		func(ctx context.Context) error {
			_, err := keys.Unwrap(ctx, namespace, path.Base(keyARNs[0]), []byte("x"))
			return err
		},
		func(ctx context.Context) error {
			_, err := keys.Unwrap(ctx, namespace, path.Base(keyARNs[1]), []byte("x"))
			return err
		},
	}
	get := func(ctx context.Context) error { _, err := blobs.Get(ctx, namespace+"/00000000/message/x"); return err }
	put := func(ctx context.Context) error {
		return blobs.Put(ctx, namespace+"/00000000/message/x", []byte("x"))
	}
	all = record(append(ofKeys, get, put)...)
	timer = record(append(ofKeys, get, put, func(ctx context.Context) error {
		return blobs.Delete(ctx, namespace+"/00000000/message/x")
	}, func(ctx context.Context) error {
		_, err := blobs.List(ctx, namespace+"/", namespace+"/a", 10)
		return err
	})...)
	return all, timer
}

// With keys of payloads and a bucket, each role allows exactly the requests of the program, and
// nothing in another namespace. That holds for existing keys and buckets, and for those that the
// template makes.
func TestRightsToPayloads(t *testing.T) {
	t.Parallel()
	checkRightsToPayloads(t, []string{youngKey, oldKey}, youngKey+","+oldKey, "payloads", "payloads")
	checkRightsToPayloads(t, []string{madeKey, oldKey}, "create,"+oldKey, madeBucket, "create")
	checkRightsToPayloads(t, []string{youngKey, madeKey}, youngKey+",create", madeBucket, "create")
	for name, f := range samFunctions(t, "weft", map[string]string{"Bucket": ""}) {
		for _, s := range f.Statements {
			if slices.Contains(ofPayloads, s.Sid) {
				t.Errorf("%s has %s without keys and a bucket", name, s.Sid)
			}
		}
	}
}

// ofPayloads has the names of the statements that let functions use payload keys and the bucket.
var ofPayloads = []string{"Seal", "Blobs", "FindBlobs"}

// checkRightsToPayloads demands the keys and the bucket that the parameters name, and
// permissions for just these.
func checkRightsToPayloads(t *testing.T, keyARNs []string, payloadKeys, bucket, parameter string) {
	t.Helper()
	functions := samFunctions(t, "weft", map[string]string{"Namespace": namespaceHere, "PayloadKeys": payloadKeys, "Bucket": parameter})
	all, timer := payloadUses(t, namespaceHere, keyARNs, bucket)
	otherAll, otherTimer := payloadUses(t, namespaceHere+"2", keyARNs, bucket)
	for _, name := range roleNames(functions) {
		r := functions[name].Role
		var own []privilege.Statement
		for _, s := range r.Statements {
			if slices.Contains(ofPayloads, s.Sid) {
				own = append(own, s)
			}
		}
		r.Statements = own
		want(t, name+"'s keys", functions[name].variables["WEFT_PAYLOAD_KEY"], keyARNs[0]+","+keyARNs[1])
		want(t, name+"'s bucket", functions[name].variables["WEFT_BUCKET"], bucket)
		uses, others := all, otherAll
		if name == "timer" {
			uses, others = timer, otherTimer
		}
		missing, err := privilege.Missing(r, uses)
		if err != nil || len(missing) > 0 || len(uses) < 5 {
			t.Errorf("%s may not do %v of %d, %v", name, missing, len(uses), err)
		}
		unused, err := privilege.Unused(r, withOldWrites(uses, keyARNs[1]))
		if err != nil || len(unused) > 0 {
			t.Errorf("%s has no use for %v, %v", name, unused, err)
		}
		for _, u := range others {
			if allowed, err := privilege.Allowed(r.Statements, u.Request()); err != nil || allowed {
				t.Errorf("%s may do this in another namespace: %v, %v", name, u, err)
			}
		}
	}
}

// Only the functions use the key that the template makes, for their namespace, and the account
// can always manage it. The bucket that it makes is closed to everybody else, and keeps its
// objects. Both stay when the stack is deleted.
func TestMadeForPayloads(t *testing.T) {
	t.Parallel()
	given := map[string]string{"Namespace": namespaceHere, "PayloadKeys": "create", "Bucket": "create"}
	c := load(t, path.Join("sam", "template.yaml"), "weft", given)
	for _, id := range []string{"PayloadKey", "PayloadBucket", "PayloadBucketPolicy"} {
		want(t, id+"'s deletion policy", c.resources[id]["DeletionPolicy"], "RetainExceptOnCreate")
		want(t, id+"'s replacement policy", c.resources[id]["UpdateReplacePolicy"], "Retain")
	}
	d := declaredByTemplate(t, given)
	statements := at(t, d["AWS::KMS::Key The payloads of weft"], "KeyPolicy", "Statement").([]any)
	users := map[string]any{} // of the key, by what they may do
	for _, s := range statements {
		for _, action := range at(t, s, "Action").([]any) {
			if users[action.(string)] = at(t, s, "Principal", "AWS"); action == "kms:*" {
				t.Error("everybody who may use keys may use the key of payloads")
			}
		}
	}
	var roles []any
	for _, id := range []string{"ApiRole", "WorkflowRole", "ActivityRole", "TimerRole", "DeadRole"} {
		roles = append(roles, lambdahost.ARN("iam", "role/weft-"+id))
	}
	want(t, "who decrypts", users["kms:Decrypt"], roles)
	want(t, "who makes data keys", users["kms:GenerateDataKey"], roles)
	want(t, "who may change the policy", users["kms:PutKeyPolicy"], "arn:aws:iam::"+lambdahost.Account+":root")
	want(t, "for which namespace", at(t, statements[1], "Condition", "StringEquals", "kms:EncryptionContext:weft-namespace"), []any{namespaceHere})

	bucket := d["AWS::S3::Bucket"].(map[string]any)
	for _, what := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
		want(t, what, at(t, bucket, "PublicAccessBlockConfiguration", what), true)
	}
	for _, one := range at(t, bucket, "LifecycleConfiguration", "Rules").([]any) {
		does := slices.DeleteFunc(slices.Sorted(maps.Keys(one.(map[string]any))), func(name string) bool { return name == "Id" || name == "Status" })
		want(t, "what a rule of the bucket does", does, []string{"AbortIncompleteMultipartUpload"})
	}
	if bucket["VersioningConfiguration"] != nil {
		t.Error("deleted objects stay in the bucket")
	}
	denial := at(t, d["AWS::S3::BucketPolicy"], "PolicyDocument", "Statement").([]any)[0]
	want(t, "what is done with requests", at(t, denial, "Effect"), "Deny")
	want(t, "which are those", at(t, denial, "Condition"), map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}})
	want(t, "and on what", at(t, denial, "Resource"), []any{"arn:aws:s3:::" + madeBucket, "arn:aws:s3:::" + madeBucket + "/*"})
}

// A bucket that the template makes is encrypted with the key of the deployment, if it has one.
func TestBucketIsEncrypted(t *testing.T) {
	t.Parallel()
	for kms, expected := range map[string][]any{
		"none":   {"AES256", nil},
		"create": {"aws:kms", lambdahost.ARN("kms", "key/weft-Key")},
		oldKey:   {"aws:kms", oldKey},
	} {
		d := declaredByTemplate(t, map[string]string{"Bucket": "create", "Kms": kms})
		rule := at(t, d["AWS::S3::Bucket"], "BucketEncryption", "ServerSideEncryptionConfiguration").([]any)[0]
		by := at(t, rule, "ServerSideEncryptionByDefault").(map[string]any)
		want(t, "with "+kms+" the bucket's encryption", []any{by["SSEAlgorithm"], by["KMSMasterKeyID"]}, expected)
	}
}

// namespaceHere is the namespace of this test's deployment. It is not the default one.
const namespaceHere = "shop"

// withOldWrites adds requests for new data keys of the old key, as before a rotation and after
// its rollback: a role treats both keys alike.
func withOldWrites(uses []privilege.Use, old string) []privilege.Use {
	for _, u := range uses {
		if u.Operation == "KMS.GenerateDataKey" {
			u.Resource = old
			uses = append(uses, u)
		}
	}
	return uses
}
