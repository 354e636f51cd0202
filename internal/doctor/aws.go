package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/seed-41655fb1/weft/internal/bill"
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
	// Stack is the name of the stack that was deployed with SAM; empty if there is none. Protected
	// says that CloudFormation refuses to delete it.
	Stack     string
	Protected bool
	// List says that runs are listed, by an index of the table.
	List bool
	// URL is the address of the API; empty if it is not known. API asks there; nil if it did not
	// answer. Now is the time there.
	URL string
	API API
	Now time.Time

	tables    *dynamodb.Client
	sqs       *sqs.Client
	functions *lambda.Client
}

// Check checks the table, the queues and the functions. It makes about 65 requests, which cost
// nothing or next to nothing, and only reads.
func (a *AWS) Check(ctx context.Context) []Finding {
	a.open()
	var f findings
	f.table(ctx, a)
	functions := map[string]deployedFunction{}
	for _, role := range a.roles() {
		functions[role] = f.function(ctx, a, role)
		if _, rolledOut := a.calledBy(role, functions[role]); rolledOut {
			f.live(ctx, a, role)
		}
	}
	f.namespace(ctx, a, functions)
	for _, name := range queue.All(a.TaskQueues...) {
		f.settings(ctx, a, name, functions[consumer(name)].timeout)
	}
	f.account(ctx, a, functions, f.mappings(ctx, a, functions))
	f.network(ctx, a, functions)
	f.accessLog(ctx, a)
	f.protection(a)
	f.metrics(functions)
	f.probe(ctx, a, functions["timer"])
	f.alarms(ctx, a, functions)
	f.idle(a)
	return f
}

// open opens the clients.
func (a *AWS) open() {
	a.tables, a.sqs, a.functions = dynamodb.NewFromConfig(a.Config), sqs.NewFromConfig(a.Config), lambda.NewFromConfig(a.Config)
}

// idle says what the polling of queues costs a month while nothing happens, at the prices of the
// bill.
func (f *findings) idle(a *AWS) {
	cost := func(pollers float64) float64 { return bill.Sum(bill.Polling(len(a.TaskQueues), pollers)) }
	f.ok("idle", "%d queues are polled, for about $%.2f to $%.2f a month; the sweep each minute, alarms, the dashboard and logs come on top",
		2*len(queue.All(a.TaskQueues...)), cost(bill.LeastPollers), cost(bill.MostPollers))
}

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
	var answered *smithyhttp.ResponseError
	switch errors.As(err, &said); {
	case said != nil && slices.Contains(absent, said.ErrorCode()):
		f.bad(check, "deploy it, or give the right name and region", "it does not exist: %s", said.ErrorMessage())
	case said != nil && slices.Contains(denied, said.ErrorCode()):
		f.warn(check, "give your credentials "+right+" to check this", "not checked: %s", said.ErrorCode())
	case errors.As(err, &answered) && answered.HTTPStatusCode() == http.StatusNotFound:
		f.warn(check, "look at the region and the endpoint: what answers there does not know this request", "not checked: %v", err)
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
	f.replicas(a, t)
	f.index(a, t)
	f.expiry(ctx, a)
	f.backups(ctx, a)
}

// replicas checks that the table is no global table: another Region would not see that a commit has
// its slot.
func (f *findings) replicas(a *AWS, t *types.TableDescription) {
	const check = "replicas"
	var regions []string
	for _, r := range t.Replicas {
		regions = append(regions, aws.ToString(r.RegionName))
	}
	if len(regions) > 0 {
		f.bad(check, "keep everything from writing in another Region, and delete the replicas: docs/operations.md says what holds for a second Region",
			"%s is a global table, with replicas in %s: a commit that is acknowledged in one Region may be replaced by another one", a.Table, strings.Join(regions, ", "))
		return
	}
	f.ok(check, "the table is in this Region alone")
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

// protection checks that a stack cannot be deleted by mistake. (Of a Terraform module the
// protection of the table says as much.)
func (f *findings) protection(a *AWS) {
	const check = "protection"
	switch {
	case a.Stack == "":
	case a.Protected:
		f.ok(check, "CloudFormation refuses to delete the stack %s", a.Stack)
	default:
		f.warn(check, "weft protect --stack "+a.Stack, "the stack %s can be deleted by mistake: only its table, its keys and its bucket would stay", a.Stack)
	}
}

// fullName returns the name of a queue on AWS.
func (a *AWS) fullName(name string) string {
	suffix := ""
	if name == queue.Workflow || name == queue.DeadLetters(queue.Workflow) {
		suffix = ".fifo"
	}
	return fmt.Sprintf("%s-%s%s", a.Name, name, suffix)
}
