//go:build aws

package localstack_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// sam finds no error in the template, with task queues and without, in that of the account, and in
// those of adoptions.
func TestTemplateIsValid(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"the account": infra.Account}
	for _, taskQueues := range [][]string{nil, {"reports", "slow-lane"}} {
		text, err := infra.SAMWith(taskQueues...)
		if err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprintf("the task queues %q", taskQueues)] = text
	}
	const key = "arn:aws:kms:us-east-1:000000000000:key/1"
	for what, of := range map[string]infra.Adoption{
		"the adoption of a table": {Table: "shop-Table-1", Namespace: "default"},
		"the adoption of all":     {Table: "shop-Table-1", Namespace: "default", Protected: true, Key: key, PayloadKey: key, Bucket: "shop-bucket"},
	} {
		text, err := of.Template()
		if err != nil {
			t.Fatal(err)
		}
		texts[what] = text
	}
	for what, text := range texts {
		file := filepath.Join(t.TempDir(), "template.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), ".servers/sam/bin/sam", "validate", "--lint", "--template", file)
		command.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION="+awstest.Region)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
}

// The template declares the table that store/dynamo describes.
func TestTableIsTheStores(t *testing.T) {
	t.Parallel()
	ctx, d := deployed(t)
	out, err := dynamodb.NewFromConfig(d.server.Config).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(d.table(ctx, t))})
	if err != nil {
		t.Fatal(err)
	}
	type shape struct {
		Attributes []types.AttributeDefinition
		Key        []types.KeySchemaElement
		IndexKey   []types.KeySchemaElement
		Projection *types.Projection
	}
	want, index := dynamo.Schema("any"), out.Table.GlobalSecondaryIndexes[0]
	order := cmpopts.SortSlices(func(a, b types.AttributeDefinition) int { return cmp.Compare(*a.AttributeName, *b.AttributeName) })
	names := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	diff := gocmp.Diff(
		shape{want.AttributeDefinitions, want.KeySchema, want.GlobalSecondaryIndexes[0].KeySchema, want.GlobalSecondaryIndexes[0].Projection},
		shape{out.Table.AttributeDefinitions, out.Table.KeySchema, index.KeySchema, index.Projection},
		order, names, cmpopts.IgnoreUnexported(types.AttributeDefinition{}, types.KeySchemaElement{}, types.Projection{}))
	if diff != "" || *index.IndexName != *want.GlobalSecondaryIndexes[0].IndexName || len(out.Table.GlobalSecondaryIndexes) != 1 {
		t.Errorf("the table differs from the store's (- store, + template):\n%s", diff)
	}
}

// The queues have the settings that queue/sqs demands.
func TestQueues(t *testing.T) {
	t.Parallel()
	ctx, d := deployed(t)
	for _, name := range []string{"workflow.fifo", "timers", "activities", "workflow-dead.fifo", "timers-dead", "activities-dead"} {
		queues, url := d.queue(ctx, t, name)
		out, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"MessageRetentionPeriod": "1209600"}
		if strings.HasSuffix(name, ".fifo") {
			want["DeduplicationScope"], want["FifoThroughputLimit"] = "messageGroup", "perMessageGroupId"
		}
		for attribute, value := range want {
			if out.Attributes[attribute] != value {
				t.Errorf("%s: %s is %q, want %q", name, attribute, out.Attributes[attribute], value)
			}
		}
		if dead := out.Attributes["RedrivePolicy"] == ""; dead != strings.Contains(name, "dead") {
			t.Errorf("%s: redrive policy %q", name, out.Attributes["RedrivePolicy"])
		}
	}
}

// table returns the name of the deployment's table. With Terraform it is the deployment's own name.
func (d *deployment) table(ctx context.Context, t *testing.T) string {
	t.Helper()
	out, err := dynamodb.NewFromConfig(d.server.Config).ListTables(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(out.TableNames, func(name string) bool { return name == d.stack || strings.HasPrefix(name, d.stack+"-Table") })
	if i < 0 {
		t.Fatalf("%s has no table among %v", d.stack, out.TableNames)
	}
	return out.TableNames[i]
}
