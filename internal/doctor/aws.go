package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/queue"
)

// AWS is a deployment on AWS, as infra declares it.
type AWS struct {
	// Config has the region and the credentials.
	Config aws.Config
	// Table is the name of the table.
	Table string
	// Name is what the names of queues and functions begin with: the name of the stack, or of the
	// module.
	Name string
	// TaskQueues are the task queues besides the default one.
	TaskQueues []string
	// List says that runs are listed, by an index of the table.
	List bool

	tables    *dynamodb.Client
	sqs       *sqs.Client
	functions *lambda.Client
}

// Check checks the table, the queues and the functions. It makes about 50 requests, which cost
// nothing or next to nothing, and only reads.
func (a *AWS) Check(ctx context.Context) []Finding {
	a.tables, a.sqs, a.functions = dynamodb.NewFromConfig(a.Config), sqs.NewFromConfig(a.Config), lambda.NewFromConfig(a.Config)
	var f findings
	f.table(ctx, a)
	timeouts := map[string]int32{}
	for _, role := range a.roles() {
		timeouts[role] = f.function(ctx, a, role)
	}
	for _, name := range queue.All(a.TaskQueues...) {
		f.settings(ctx, a, name, timeouts[consumer(name)])
	}
	f.mappings(ctx, a)
	f.alarms(ctx, a)
	queues := 2 * len(queue.All(a.TaskQueues...))
	f.ok("idle", "%d queues are polled, for about $%.2f to $%.2f a month; the sweep each minute, alarms, the dashboard and logs come on top", queues, leastPoll*float64(queues), mostPoll*float64(queues))
	return f
}

// What the event source mapping of a queue costs a month while nothing happens: docs/cost.md.
const leastPoll, mostPoll = 0.10, 0.26

// roles returns the roles of the functions.
func (a *AWS) roles() []string {
	roles := []string{"api", "workflow", "activity", "timer", "dead"}
	for _, name := range a.TaskQueues {
		roles = append(roles, queue.ForTasks(name))
	}
	return roles
}

// consumer returns the role of the function that handles a queue.
func consumer(name string) string {
	switch name {
	case queue.Workflow, queue.Timers:
		return "workflow"
	case queue.Activities:
		return "activity"
	}
	return name
}

// ask carries out a request of a check. If it fails, the failure is a finding.
func ask[A any](ctx context.Context, f *findings, check, right string, request func(context.Context) (*A, error)) *A {
	var answer *A
	err := within(ctx, func(ctx context.Context) (err error) {
		answer, err = request(ctx)
		return err
	})
	if err == nil {
		return answer
	}
	var said smithy.APIError
	switch errors.As(err, &said); {
	case said != nil && slices.Contains(absent, said.ErrorCode()):
		f.bad(check, "deploy it, or give the right name and region", "it does not exist: %s", said.ErrorMessage())
	case said != nil && slices.Contains(denied, said.ErrorCode()):
		f.warn(check, "give your credentials "+right+" to check this", "not checked: %s", said.ErrorCode())
	default:
		f.warn(check, "try again", "not checked: %v", err)
	}
	return nil
}

// The codes of what does not exist, and of what the caller may not do.
var (
	absent = []string{"ResourceNotFoundException", "TableNotFoundException", "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"}
	denied = []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
)

// table checks the table and its index.
func (f *findings) table(ctx context.Context, a *AWS) {
	const check = "table"
	out := ask(ctx, f, check, "dynamodb:DescribeTable", func(ctx context.Context) (*dynamodb.DescribeTableOutput, error) {
		return a.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &a.Table})
	})
	if out == nil {
		return
	}
	t := out.Table
	switch {
	case t.TableStatus != types.TableStatusActive && t.TableStatus != types.TableStatusUpdating:
		f.bad(check, "wait until it is active, or find out why it is not", "%s is %s", a.Table, t.TableStatus)
	case t.BillingModeSummary == nil || t.BillingModeSummary.BillingMode != types.BillingModePayPerRequest:
		f.warn(check, "set the billing mode to PAY_PER_REQUEST, or watch its throttling", "%s has provisioned capacity, which throttles", a.Table)
	case !aws.ToBool(t.DeletionProtectionEnabled):
		f.warn(check, "set DeletionProtection to on", "%s can be deleted by mistake", a.Table)
	default:
		f.ok(check, "%s is active, pays per request, and is protected from deletion", a.Table)
	}
	f.index(a, t)
	f.expiry(ctx, a)
	f.backups(ctx, a)
}

// index checks the index of the list.
func (f *findings) index(a *AWS, t *types.TableDescription) {
	const check = "index"
	if !a.List {
		return
	}
	i := slices.IndexFunc(t.GlobalSecondaryIndexes, func(x types.GlobalSecondaryIndexDescription) bool { return aws.ToString(x.IndexName) == "list" })
	switch {
	case i < 0:
		f.bad(check, "deploy the template of this version", "the table has no index named list, and runs are to be listed")
	case t.GlobalSecondaryIndexes[i].IndexStatus != types.IndexStatusActive && t.GlobalSecondaryIndexes[i].IndexStatus != types.IndexStatusUpdating:
		f.bad(check, "wait until it is active", "the index of the list is %s", t.GlobalSecondaryIndexes[i].IndexStatus)
	default:
		f.ok(check, "the index of the list is active")
	}
}

// expiry checks the deletion of expired items.
func (f *findings) expiry(ctx context.Context, a *AWS) {
	const check = "expiry"
	out := ask(ctx, f, check, "dynamodb:DescribeTimeToLive", func(ctx context.Context) (*dynamodb.DescribeTimeToLiveOutput, error) {
		return a.tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &a.Table})
	})
	if out == nil {
		return
	}
	ttl := out.TimeToLiveDescription
	if ttl == nil || ttl.TimeToLiveStatus != types.TimeToLiveStatusEnabled && ttl.TimeToLiveStatus != types.TimeToLiveStatusEnabling || aws.ToString(ttl.AttributeName) != "expires" {
		f.warn(check, "enable time to live on the attribute expires", "DynamoDB does not delete what has expired, which you pay for")
		return
	}
	f.ok(check, "DynamoDB deletes what has expired")
}

// backups checks that the table can be restored.
func (f *findings) backups(ctx context.Context, a *AWS) {
	const check = "backups"
	out := ask(ctx, f, check, "dynamodb:DescribeContinuousBackups", func(ctx context.Context) (*dynamodb.DescribeContinuousBackupsOutput, error) {
		return a.tables.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &a.Table})
	})
	if out == nil {
		return
	}
	d := out.ContinuousBackupsDescription
	if d == nil || d.PointInTimeRecoveryDescription == nil || d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
		f.warn(check, "enable point-in-time recovery", "the table cannot be restored to an earlier moment")
		return
	}
	f.ok(check, "the table can be restored to any second of the last days")
}

// fullName returns the name of a queue on AWS.
func (a *AWS) fullName(name string) string {
	suffix := ""
	if name == queue.Workflow || name == queue.DeadLetters(queue.Workflow) {
		suffix = ".fifo"
	}
	return fmt.Sprintf("%s-%s%s", a.Name, name, suffix)
}
