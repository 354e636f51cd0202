package doctor

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
)

// variableTable is the variable of a function that names its table.
var variableTable = settings.Variable("Table")

// function checks a function, and returns its time-out in seconds; 0 if that is not known.
func (f *findings) function(ctx context.Context, a *AWS, role string) (timeout int32) {
	check, name := "function "+role, a.Name+"-"+role
	c := ask(ctx, f, check, "lambda:GetFunctionConfiguration", func(ctx context.Context) (*lambda.GetFunctionConfigurationOutput, error) {
		return a.functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	})
	if c == nil {
		return 0
	}
	before := len(*f)
	switch {
	case c.State != "" && c.State != types.StateActive && c.State != types.StateInactive:
		f.bad(check, "see why in the console, and deploy again", "it is %s: %s", c.State, aws.ToString(c.StateReason))
	case c.LastUpdateStatus == types.LastUpdateStatusFailed:
		f.bad(check, "deploy again: the function still runs the version before", "its last update failed: %s", aws.ToString(c.LastUpdateStatusReason))
	case c.Environment != nil && c.Environment.Variables[variableTable] != a.Table:
		f.bad(check, "deploy again, or give the right name", "it uses the table %q and not %s", c.Environment.Variables[variableTable], a.Table)
	}
	f.recursion(ctx, a, check, name)
	f.concurrency(ctx, a, check, name)
	if len(*f) == before {
		f.ok(check, "it is active, may call itself through queues, and has %d MB and %d s", aws.ToInt32(c.MemorySize), aws.ToInt32(c.Timeout))
	}
	return aws.ToInt32(c.Timeout)
}

// recursion checks that Lambda does not stop a chain of messages.
func (f *findings) recursion(ctx context.Context, a *AWS, check, name string) {
	out := ask(ctx, f, check, "lambda:GetFunctionRecursionConfig", func(ctx context.Context) (*lambda.GetFunctionRecursionConfigOutput, error) {
		return a.functions.GetFunctionRecursionConfig(ctx, &lambda.GetFunctionRecursionConfigInput{FunctionName: &name})
	})
	if out != nil && out.RecursiveLoop != types.RecursiveLoopAllow {
		f.bad(check, "aws lambda put-function-recursion-config --function-name "+name+" --recursive-loop Allow",
			"Lambda stops a run after about 16 messages, because it takes them for a loop")
	}
}

// concurrency checks that the function may run.
func (f *findings) concurrency(ctx context.Context, a *AWS, check, name string) {
	out := ask(ctx, f, check, "lambda:GetFunctionConcurrency", func(ctx context.Context) (*lambda.GetFunctionConcurrencyOutput, error) {
		return a.functions.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &name})
	})
	if out != nil && out.ReservedConcurrentExecutions != nil && *out.ReservedConcurrentExecutions == 0 {
		f.bad(check, "aws lambda delete-function-concurrency --function-name "+name, "its reserved concurrency is 0, which stops it")
	}
}

// mappings checks that each queue, and each queue of dead letters, is passed to its function.
func (f *findings) mappings(ctx context.Context, a *AWS) {
	byRole := map[string]map[string]types.EventSourceMappingConfiguration{}
	for _, name := range queue.All(a.TaskQueues...) {
		for _, pair := range [][2]string{{name, consumer(name)}, {queue.DeadLetters(name), "dead"}} {
			of, known := byRole[pair[1]]
			if !known {
				of = f.mappingsOf(ctx, a, pair[1])
				byRole[pair[1]] = of
			}
			if of != nil {
				f.mapping(pair[0], pair[1], of[a.fullName(pair[0])])
			}
		}
	}
}

// mappingsOf returns the event source mappings of a function by the names of their queues; nil if
// they cannot be read, which is a finding.
func (f *findings) mappingsOf(ctx context.Context, a *AWS, role string) map[string]types.EventSourceMappingConfiguration {
	all, name := map[string]types.EventSourceMappingConfiguration{}, a.Name+"-"+role
	for marker := (*string)(nil); ; {
		out := ask(ctx, f, "queues of function "+role, "lambda:ListEventSourceMappings", func(ctx context.Context) (*lambda.ListEventSourceMappingsOutput, error) {
			return a.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: &name, Marker: marker})
		})
		if out == nil {
			return nil
		}
		for _, m := range out.EventSourceMappings {
			all[named(m.EventSourceArn)] = m
		}
		if marker = out.NextMarker; aws.ToString(marker) == "" {
			return all
		}
	}
}

// mapping checks one event source mapping.
func (f *findings) mapping(name, role string, m types.EventSourceMappingConfiguration) {
	check := "mapping of queue " + name
	switch state := aws.ToString(m.State); state {
	case "":
		f.bad(check, "deploy the template of this version", "no function handles the queue")
	case "Enabled", "Enabling", "Updating", "Creating":
		f.ok(check, "the %s function handles it", role)
	default:
		f.bad(check, fmt.Sprintf("aws lambda update-event-source-mapping --uuid %s --enabled", aws.ToString(m.UUID)), "it is %s: no function handles the queue", state)
	}
}
