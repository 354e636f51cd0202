//go:build deploycheck

package operations_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/proof/faultproxy"
)

// fault is what a case is about. end does what the page asks for and no command can do; nil does
// nothing.
type fault struct{ cause, end func(context.Context) error }

// faults returns the faults of the cases, by their names.
func (s *shop) faults() map[string]fault {
	const source = "orders/orders.go"
	const handler, panics = "\t\tcents += l.Quantity * l.Cents\n", "\t\tpanic(\"bad code\")\n"
	const dies = "package main\n\nimport \"os\"\n\nfunc init() {\n\tif os.Getenv(\"WEFT_ROLE\") == \"api\" {\n\t\tos.Exit(1)\n\t}\n}\n"
	added, noScan := filepath.Join(s.folder, "dies.go"), s.without("timer", "dynamodb:Scan")
	return map[string]fault{
		"wrong table, api":      {cause: s.misconfigured("WEFT_ROLE: api, ", "WEFT_ROLE: api, WEFT_TABLE: nope, ")},
		"wrong table, workflow": {cause: s.misconfigured("WEFT_ROLE: workflow, ", "WEFT_ROLE: workflow, WEFT_TABLE: nope, ")},
		"permission removed":    s.without("api", "dynamodb:PutItem"),
		"store throttled":       s.disturbed("dynamodb", faultproxy.Rates{Throttle: 1}),
		"store stopped":         s.disturbed("dynamodb", faultproxy.Rates{LoseRequest: 1}),
		"store slow":            s.disturbed("dynamodb", faultproxy.Rates{Delay: 1, MaxDelay: 3 * time.Second}),
		"bad build: all updates": {
			s.deployed(func() error { return s.edit(source, handler, panics) }),
			func(context.Context) error { return s.edit(source, panics, handler) },
		},
		"bad build: cannot start": {
			s.deployed(func() error { return os.WriteFile(added, []byte(dies), 0o644) }),
			func(context.Context) error { return os.Remove(added) },
		},
		"killed: api":       s.signaled("api", syscall.SIGKILL),
		"killed: workflow":  s.signaled("workflow", syscall.SIGKILL),
		"killed: activity":  s.signaled("activity", syscall.SIGKILL),
		"killed: timer":     s.signaled("timer", syscall.SIGKILL),
		"stopped: api":      s.signaled("api", syscall.SIGSTOP),
		"stopped: workflow": s.signaled("workflow", syscall.SIGSTOP),
		"concurrency 0": {cause: s.commands("for f in api workflow activity; do " +
			"aws lambda put-function-concurrency --function-name weft-$f --reserved-concurrent-executions 0 >/dev/null; done")},
		"rule disabled":                  {cause: s.commands("aws events disable-rule --name weft-sweep")},
		"sweep cannot send":              s.without("timer", "sqs:SendMessage"),
		"check cannot scan":              {both(noScan.cause, s.forgetCheck), noScan.end},
		"garbage in each queue":          {cause: s.litter, end: s.discard},
		"full dead-letter queues":        {cause: both(s.mapped("dead", false), s.bury(50))},
		"mapping of activities disabled": {cause: s.mapped("activity", false)},
		"mappings of workflows disabled": {cause: s.mapped("workflow", false)},
		"probe may not invoke":           s.without("timer", "lambda:InvokeFunction"),
		"gateway may not invoke":         {cause: s.uninvoked},
		"dead function cannot start":     {cause: both(s.misconfigured("WEFT_ROLE: dead, ", "WEFT_ROLE: none, "), s.bury(1))},
	}
}

// both does one thing after the other.
func both(first, second func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := first(ctx); err != nil {
			return err
		}
		return second(ctx)
	}
}

// commands runs commands.
func (s *shop) commands(text string) func(context.Context) error {
	return func(ctx context.Context) error { return s.shell(ctx, text) }
}

// disturbed has all requests of the functions to a service disturbed.
func (s *shop) disturbed(service string, rates faultproxy.Rates) fault {
	set := func(rates faultproxy.Rates) func(context.Context) error {
		return func(context.Context) error {
			for _, role := range roles {
				s.proxies[role][service].Set(rates)
			}
			return nil
		}
	}
	return fault{set(rates), set(faultproxy.Rates{})}
}

// edit changes a file of the shop.
func (s *shop) edit(name, old, changed string) error {
	path := filepath.Join(s.folder, filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), old); n != 1 {
		return fmt.Errorf("%s has %q %d times, want once", name, old, n)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), old, changed, 1)), 0o644)
}

// deployed deploys the shop after a change of its code.
func (s *shop) deployed(change func() error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := change(); err != nil {
			return err
		}
		return s.shell(ctx, "make deploy-sam")
	}
}

// misconfigured deploys a template with a mistake. The next deployment writes the template again.
func (s *shop) misconfigured(old, changed string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.shell(ctx, "make --silent template"); err != nil {
			return err
		}
		if err := s.edit("template.yaml", old, changed); err != nil {
			return err
		}
		return s.shell(ctx, "sam build --parameter-overrides $PARAMETERS >/dev/null && "+
			"sam deploy --stack-name $STACK --parameter-overrides $PARAMETERS --resolve-s3 --capabilities CAPABILITY_IAM")
	}
}

// signaled sends a signal to the processes of a function when one of them sends a request to the
// table, so that each invocation is hit in the middle. The request is carried out: no process
// knows its outcome.
func (s *shop) signaled(role string, number syscall.Signal) fault {
	proxy, decide := s.proxies[role]["dynamodb"], s.rights.guard(role)
	return fault{
		func(context.Context) error {
			proxy.Protect(func(service, operation string, body []byte) string {
				if err := s.signal(role, number); err != nil {
					s.rights.fail(err)
				}
				return decide(service, operation, body)
			})
			return nil
		},
		func(context.Context) error {
			proxy.Protect(decide)
			return nil
		},
	}
}

// signal sends a signal to the processes of a function. Those of other deployments on this machine
// do not have the address of the proxy in their environment.
func (s *shop) signal(role string, number syscall.Signal) error {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		return errors.Join(errors.New("the processes of functions cannot be found without /proc"), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains("\x00"+string(text), "\x00AWS_ENDPOINT_URL_DYNAMODB="+s.proxies[role]["dynamodb"].URL()+"\x00") {
			continue // it has ended, or it is another process
		}
		var id int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &id); err != nil {
			return err
		}
		if err := syscall.Kill(id, number); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// without removes a right of a role.
func (s *shop) without(role, action string) fault {
	cause, end := s.rights.without(role, action)
	return fault{cause, end}
}

// forgetCheck deletes the mark of the slow check, so that its daily walk begins now.
func (s *shop) forgetCheck(ctx context.Context) error {
	table, err := s.table(ctx)
	if err != nil {
		return err
	}
	_, err = dynamodb.NewFromConfig(s.server.Config).DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &table, Key: map[string]dynamodbtypes.AttributeValue{
			"pk": &dynamodbtypes.AttributeValueMemberS{Value: stack + "/m"}, "sk": &dynamodbtypes.AttributeValueMemberS{Value: "scan"},
		},
	})
	return err
}

// mapped enables or disables all event source mappings of a function, and returns when that is
// done.
func (s *shop) mapped(role string, enabled bool) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := s.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: aws.String(stack + "-" + role)})
		if err != nil {
			return err
		}
		if len(all.EventSourceMappings) == 0 {
			return fmt.Errorf("the function %s has no mapping", role)
		}
		for _, m := range all.EventSourceMappings {
			if _, err := s.functions.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: m.UUID, Enabled: &enabled}); err != nil {
				return err
			}
		}
		want := map[bool]string{true: "Enabled", false: "Disabled"}[enabled]
		for _, m := range all.EventSourceMappings {
			for {
				now, err := s.functions.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: m.UUID})
				if err != nil {
					return err
				}
				if aws.ToString(now.State) == want {
					break
				}
				if err := s.Minute(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// litter sends what is no message of Weft's to each queue.
func (s *shop) litter(ctx context.Context) error {
	for _, address := range s.queues {
		in := &sqs.SendMessageInput{QueueUrl: &address, MessageBody: aws.String("no message of Weft's")}
		if strings.HasSuffix(address, ".fifo") {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String("noise"), aws.String(fmt.Sprint(time.Now().UnixNano()))
		}
		if _, err := s.sqs.SendMessage(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// discard waits until all litter is in the queue of what cannot be read, and throws it away.
func (s *shop) discard(ctx context.Context) error {
	kept := s.queues["unreadable"]
	for tick := time.NewTicker(time.Second); ; {
		n, err := s.count(ctx, kept)
		switch {
		case err != nil:
			return err
		case n >= len(s.queues): // litter has put one into each
			_, err := s.sqs.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &kept}) // LocalStack's AWS CLI asks AWS for queues
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages that cannot be read were kept: %w", n, len(s.queues), ctx.Err())
		case <-tick.C:
		}
	}
}

// bury returns what makes dead letters of the activities of at least n runs: nobody handles their
// messages, which are received too often.
func (s *shop) bury(n int) func(context.Context) error {
	return func(ctx context.Context) error {
		alive, dead := s.queues["activities"], s.queues["activities-dead"]
		if err := errors.Join(s.mapped("activity", false)(ctx), s.hide(ctx, alive, "0")); err != nil {
			return err
		}
		for range n {
			if err := s.load.wrap(ctx, 1); err != nil {
				return err
			}
		}
		for buried := 0; buried < n; {
			out, err := s.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &alive, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
			if err != nil {
				return err
			}
			if len(out.Messages) > 0 {
				continue
			}
			if buried, err = s.count(ctx, dead); err != nil {
				return err
			}
		}
		return errors.Join(s.hide(ctx, alive, visibility), s.mapped("activity", true)(ctx))
	}
}

// hide sets for how many seconds a queue hides a message that was received.
func (s *shop) hide(ctx context.Context, queue, seconds string) error {
	_, err := s.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &queue, Attributes: map[string]string{string(sqstypes.QueueAttributeNameVisibilityTimeout): seconds},
	})
	return err
}

// count returns the number of messages in a queue, hidden and delayed ones included.
func (s *shop) count(ctx context.Context, queue string) (all int, err error) {
	names := []sqstypes.QueueAttributeName{
		sqstypes.QueueAttributeNameApproximateNumberOfMessages, sqstypes.QueueAttributeNameApproximateNumberOfMessagesDelayed,
		sqstypes.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	out, err := s.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: names})
	for i := 0; err == nil && i < len(names); i++ {
		var some int
		_, err = fmt.Sscan(out.Attributes[string(names[i])], &some)
		all += some
	}
	return all, err
}
