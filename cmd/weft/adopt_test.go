package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft/internal/cli"
)

const (
	tableKey   = "arn:aws:kms:eu-west-1:000000000000:key/1111"
	payloadKey = "arn:aws:kms:eu-west-1:000000000000:key/2222"
)

// leftTable is a table that a deployment left, as DynamoDB describes it, with the partition keys of
// its items.
type leftTable struct {
	key   string
	other bool // it is not a table of Weft
	items []string
	deny  string // an operation that is refused
}

// session returns a session whose DynamoDB has the table shop-Table-1 only, and what it prints.
func (l leftTable) session(t *testing.T) (*cli.Session, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		var in struct {
			TableName              string
			Segment, TotalSegments int
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		fail := func(status int, kind string) {
			w.Header().Set("X-Amzn-Errortype", kind)
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"__type":%q}`, kind)
		}
		switch {
		case in.TableName != "shop-Table-1":
			fail(http.StatusBadRequest, "ResourceNotFoundException")
		case operation == l.deny:
			fail(http.StatusBadRequest, "AccessDeniedException")
		case operation == "DescribeTable":
			sort, encrypted := "sk", ""
			if l.other {
				sort = "id"
			}
			if l.key != "" {
				encrypted = fmt.Sprintf(`"SSEDescription":{"Status":"ENABLED","SSEType":"KMS","KMSMasterKeyArn":%q},`, l.key)
			}
			_, _ = fmt.Fprintf(w, `{"Table":{"TableName":"shop-Table-1","TableStatus":"ACTIVE","DeletionProtectionEnabled":true,%s
				"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":%q,"KeyType":"RANGE"}],
				"GlobalSecondaryIndexes":[{"IndexName":"list","KeySchema":[{"AttributeName":"list","KeyType":"HASH"},{"AttributeName":"place","KeyType":"RANGE"}]}]}}`, encrypted, sort)
		case operation == "Scan":
			var items []string
			for i, pk := range l.items {
				if i%in.TotalSegments == in.Segment {
					items = append(items, fmt.Sprintf(`{"pk":{"S":%q}}`, pk))
				}
			}
			_, _ = fmt.Fprintf(w, `{"Items":[%s]}`, strings.Join(items, ","))
		default:
			t.Errorf("asked for %s", operation)
		}
	}))
	t.Cleanup(server.Close)
	var out bytes.Buffer
	s := &cli.Session{In: strings.NewReader(""), Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }}
	s.AWS = func(_ context.Context, region, _ string) (aws.Config, error) {
		return aws.Config{
			Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		}, nil
	}
	return s, &out
}

// weft template adopt writes both files, and prints the namespace and the commands.
func TestAdopt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, out := leftTable{key: tableKey, items: []string{"default/w/order-1", "default/w/order-1", "default/t/0"}}.session(t)
	err := execute(t.Context(), s, []string{
		"template", "adopt", "--table=shop-Table-1", "--key=" + tableKey, "--payload-key=" + payloadKey, "--bucket=shop-bucket", "--stack=shop-2", "--dir=" + dir, "--region=eu-west-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(filepath.Join(dir, "adopt.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n  Table:\n", "\n  Key:\n", "\n  PayloadKey:\n", "\n  PayloadBucket:\n", "\n  PayloadBucketPolicy:\n", `Default: "default"`} {
		if !strings.Contains(string(template), want) {
			t.Errorf("adopt.yaml does not have %q:\n%s", want, template)
		}
	}
	resources, err := os.ReadFile(filepath.Join(dir, "adopt.json"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []struct {
		LogicalResourceID  string `json:"LogicalResourceId"`
		ResourceIdentifier map[string]string
	}
	if err := json.Unmarshal(resources, &listed); err != nil || fmt.Sprint(listed) != "[{Table map[TableName:shop-Table-1]} {Key map[KeyId:1111]} {PayloadKey map[KeyId:2222]} {PayloadBucket map[BucketName:shop-bucket]} {PayloadBucketPolicy map[Bucket:shop-bucket]}]" {
		t.Errorf("adopt.json has %v, %v", listed, err)
	}
	const import_ = "aws cloudformation create-change-set --stack-name shop-2 --change-set-name adopt --change-set-type IMPORT --template-body file://%[1]s/adopt.yaml --resources-to-import file://%[1]s/adopt.json\n"
	for _, want := range []string{
		"The namespace of the runs is default: the new stack keeps it.\n",
		fmt.Sprintf(import_, dir),
		"\naws cloudformation execute-change-set --stack-name shop-2 --change-set-name adopt\n",
		"\nmake deploy-sam STACK=shop-2 PARAMETERS='Architecture=arm64 Namespace=default Kms=create PayloadKeys=create Bucket=create'\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// What an adoption is told, and what it finds, decide what it writes. A refusal writes nothing.
func TestAdoptFinds(t *testing.T) {
	t.Parallel()
	runs := []string{"shop/w/order-1"}
	for what, c := range map[string]struct {
		left leftTable
		args []string
		want string // printed; of an error if it begins with !
	}{
		"a key of AWS":           {leftTable{items: runs}, nil, "Namespace=shop Kms=none'"},
		"a key of somebody":      {leftTable{key: tableKey, items: runs}, nil, "Namespace=shop Kms=" + tableKey + "'"},
		"a hint at the key":      {leftTable{key: tableKey, items: runs}, nil, "give --key if"},
		"a hint at the bucket":   {leftTable{items: runs}, nil, "Add Bucket=NAME and PayloadKeys=ARN if"},
		"an empty table":         {leftTable{}, nil, "The namespace of the runs is shop:"},
		"one of two":             {leftTable{items: append(runs, "default/w/a")}, []string{"--namespace=default"}, "Namespace=default"},
		"two namespaces":         {leftTable{items: append(runs, "default/w/a")}, nil, "!--namespace default or --namespace shop"},
		"a namespace without":    {leftTable{items: runs}, []string{"--namespace=default"}, `!no run of the namespace "default" was found in the table, but of shop`},
		"another table":          {leftTable{other: true}, nil, "!is not one of Weft"},
		"items of another":       {leftTable{items: []string{"order-1"}}, nil, "!items that are not of Weft"},
		"no table":               {leftTable{}, []string{"--table=orders"}, `!there is no table "orders"`},
		"no right to describe":   {leftTable{deny: "DescribeTable"}, nil, "!the credentials need dynamodb:DescribeTable"},
		"no right to scan":       {leftTable{deny: "Scan"}, nil, "!dynamodb:Scan"},
		"the wrong key":          {leftTable{key: payloadKey, items: runs}, []string{"--key=" + tableKey}, "!--key is not the key of the table shop-Table-1, which is " + payloadKey},
		"a key for none":         {leftTable{items: runs}, []string{"--key=" + tableKey}, "!which is AWS's own"},
		"an alias":               {leftTable{key: tableKey}, []string{"--key=alias/shop"}, "!give the ARN of a key"},
		"a key of another place": {leftTable{}, []string{"--payload-key=arn:aws:kms:eu-north-1:000000000000:key/1"}, "!a key in eu-north-1"},
		"the same key twice":     {leftTable{key: tableKey}, []string{"--key=" + tableKey, "--payload-key=" + tableKey}, "!the same key"},
		"no name of a bucket":    {leftTable{}, []string{"--bucket=s3://shop"}, "!no name of a bucket"},
		"no folder":              {leftTable{items: runs}, []string{"--dir=missing"}, "!no such file"},
		"no region":              {leftTable{}, []string{"--region="}, "!give --region"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, out := c.left.session(t)
			err := execute(t.Context(), s, append([]string{"template", "adopt", "--table=shop-Table-1", "--region=eu-west-1", "--dir=" + dir}, c.args...))
			refusal, refused := strings.CutPrefix(c.want, "!")
			switch {
			case refused && (err == nil || !strings.Contains(err.Error(), refusal)):
				t.Errorf("the error is %v, want %q", err, refusal)
			case !refused && (err != nil || !strings.Contains(out.String(), c.want)):
				t.Errorf("%v, printed %s, want %q", err, out, c.want)
			}
			written, err := os.ReadDir(dir)
			if err != nil || refused != (len(written) == 0) {
				t.Errorf("wrote %v, %v", written, err)
			}
		})
	}
}
