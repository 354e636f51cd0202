package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
)

// variableTable is the variable of a function that names its table.
var variableTable = settings.Variable("Table")

// function checks a function, and returns what is known of it.
func (f *findings) function(ctx context.Context, a *AWS, role string) (d deployedFunction) {
	check, name := "function "+role, a.Name+"-"+role
	c := f.configuration(ctx, a, check, role)
	if c == nil {
		return d
	}
	d.timeout, d.vpc = aws.ToInt32(c.Timeout), c.VpcConfig
	if c.Environment != nil {
		d.variables = c.Environment.Variables
	}
	// A time as 2026-11-29T10:20:30.000+0000; one that cannot be read is not known.
	d.changed, _ = time.Parse("2006-01-02T15:04:05.000-0700", aws.ToString(c.LastModified))
	if c.LoggingConfig != nil {
		d.logLevel = string(c.LoggingConfig.ApplicationLogLevel)
	}
	before := len(*f)
	switch {
	case c.State != "" && c.State != types.StateActive && c.State != types.StateInactive:
		f.bad(check, "see why in the console, and deploy again", "it is %s: %s", c.State, aws.ToString(c.StateReason))
	case c.LastUpdateStatus == types.LastUpdateStatusFailed:
		f.bad(check, "deploy again: the function still runs the version before", "its last update failed: %s", aws.ToString(c.LastUpdateStatusReason))
	case c.Environment != nil && d.variables[variableTable] != a.Table:
		f.bad(check, "deploy again, or give the right name", "it uses the table %q and not %s", d.variables[variableTable], a.Table)
	}
	f.recursion(ctx, a, check, name)
	d.reserved = f.concurrency(ctx, a, check, name)
	if len(*f) == before {
		f.ok(check, "it is active, may call itself through queues, and has %d MB and %d s", aws.ToInt32(c.MemorySize), d.timeout)
	}
	return d
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

// concurrency checks that the function may run, and returns its reserved concurrency; nil if it has
// none.
func (f *findings) concurrency(ctx context.Context, a *AWS, check, name string) *int32 {
	out := ask(ctx, f, check, "lambda:GetFunctionConcurrency", func(ctx context.Context) (*lambda.GetFunctionConcurrencyOutput, error) {
		return a.functions.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &name})
	})
	if out == nil {
		return nil
	}
	if out.ReservedConcurrentExecutions != nil && *out.ReservedConcurrentExecutions == 0 {
		f.bad(check, "aws lambda delete-function-concurrency --function-name "+name, "its reserved concurrency is 0, which stops it")
	}
	return out.ReservedConcurrentExecutions
}

// mappings checks that each queue, and each queue of dead letters, is passed to its function. It
// returns the maximum concurrency of each queue, 0 if it has none; nil if a mapping is missing or
// cannot be read.
func (f *findings) mappings(ctx context.Context, a *AWS, functions map[string]deployedFunction) map[string]int {
	maxima, all := map[string]int{}, true
	byRole := map[string]map[string]types.EventSourceMappingConfiguration{}
	for _, name := range queue.All(a.TaskQueues...) {
		for _, pair := range [][2]string{{name, consumer(name)}, {queue.DeadLetters(name), "dead"}} {
			of, known := byRole[pair[1]]
			if !known {
				of = f.mappingsOf(ctx, a, pair[1], functions[pair[1]])
				byRole[pair[1]] = of
			}
			m, found := of[a.fullName(pair[0])]
			if of != nil {
				f.mapping(pair[0], pair[1], m)
			}
			if pair[0] == name {
				all, maxima[name] = all && found, maximum(m)
			}
		}
	}
	if !all {
		return nil
	}
	return maxima
}

// mappingsOf returns the event source mappings of a function by the names of their queues; nil if
// they cannot be read, which is a finding.
func (f *findings) mappingsOf(ctx context.Context, a *AWS, role string, d deployedFunction) map[string]types.EventSourceMappingConfiguration {
	all := map[string]types.EventSourceMappingConfiguration{}
	name, _ := a.calledBy(role, d)
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
