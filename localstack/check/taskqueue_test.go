//go:build deploycheck

package check

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/seed-41655fb1/weft/localstack/check/labels"
)

// The settings that check/sam and check/terraform give the task queue of the labels: the maximum
// concurrency, and an attempt each second.
const (
	concurrency = 2
	between     = time.Second
)

// TestTaskQueue runs activities on a deployment's task queue. The function of that queue runs them,
// and the activity function runs the others. Each takes a reservation at the queue's rate. The mark
// of the rate is in the table, and the mapping has the maximum concurrency.
func TestTaskQueue(t *testing.T) {
	const parcels = 3
	ctx, c := shop(t)
	deployment := variable(t, "STACK")
	begun := time.Now().Truncate(time.Millisecond)
	run, err := labels.Workflow.Start(ctx, c, "labels", parcels)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run.Result(ctx)
	if err != nil || len(got.Labels) != parcels {
		t.Fatalf("%+v, %v; want %d labels", got, err, parcels)
	}
	if got.Parcels.Function != deployment+"-activity" {
		t.Errorf("%q ran an activity of the default task queue", got.Parcels.Function)
	}
	function := deployment + "-tasks-" + labels.TaskQueue
	for _, one := range got.Labels {
		if one.Function != function {
			t.Errorf("%q ran an activity of the task queue, want %q", one.Function, function)
		}
	}
	// The first reservation is due at once, each other one follows the one before, and no attempt
	// begins before its own.
	lastSlot := begun.Add((parcels - 1) * between)
	last := slices.MaxFunc(got.Labels, func(a, b labels.Made) int { return a.At.Compare(b.At) })
	if last.At.Before(lastSlot) {
		t.Errorf("%d attempts had begun %v after the start: faster than one in %v", parcels, last.At.Sub(begun), between)
	}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if mark := markOf(ctx, t, settings, function); mark.Before(lastSlot) {
		t.Errorf("the mark of the rate is at %v; want %v at least", mark, lastSlot)
	}
	mappings, err := lambda.NewFromConfig(settings).ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: &function})
	if err != nil {
		t.Fatal(err)
	}
	all := mappings.EventSourceMappings
	if len(all) != 1 || !strings.HasSuffix(*all[0].EventSourceArn, ":"+function) || all[0].ScalingConfig == nil || *all[0].ScalingConfig.MaximumConcurrency != concurrency {
		t.Errorf("the mappings of %s are %+v", function, all)
	}
}

// markOf returns the mark of the task queue's rate, from the table and the namespace that the
// function uses.
func markOf(ctx context.Context, t *testing.T, settings aws.Config, function string) time.Time {
	t.Helper()
	f, err := lambda.NewFromConfig(settings).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
	if err != nil {
		t.Fatal(err)
	}
	item, err := dynamodb.NewFromConfig(settings).GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(f.Environment.Variables["WEFT_TABLE"]), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: f.Environment.Variables["WEFT_NAMESPACE"] + "/r/" + labels.TaskQueue}, "sk": &types.AttributeValueMemberS{Value: "rate"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	mark, ok := item.Item["number"].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("the mark of the task queue's rate is %v", item.Item)
	}
	micros, err := strconv.ParseInt(mark.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMicro(micros)
}
