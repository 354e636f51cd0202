//go:build deploycheck

package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/alarms"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/faultproxy"
	"github.com/seed-41655fb1/weft/proof/privilege"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// stack is the name of the deployment: the commands of docs/operations.md name its resources.
const stack = "weft"

// account is LocalStack's.
const account = "000000000000"

// roles are the roles of the functions.
var roles = []string{"api", "workflow", "activity", "timer", "dead"}

// visibility is for how many seconds a message that failed is hidden. The deployment has minutes,
// which would take hours of the alarms' time. Ten receives take longer than a page's deployment, so
// that messages become dead letters only if a case waits for that.
const visibility = "10"

// betweenBeats is in how many minutes there is a beat.
const betweenBeats = 5

// shop is the deployed shop of examples/deploy. It is the world of the cases.
type shop struct {
	cloud
	folder    string
	client    *client.Client
	functions *lambda.Client
	sqs       *sqs.Client
	queues    map[string]string                       // the addresses by the queues' names
	proxies   map[string]map[string]*faultproxy.Proxy // by role and service
	rights    *rights
	gateway   *gateway
	watch     *watch
	load      *load
	minutes   chan error // one a minute, if somebody waits for it
	log       func(format string, arguments ...any)
}

// variable returns an environment variable that the check sets.
func variable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run make operations-check", name)
	}
	return value
}

// deploy deploys the shop. All requests of its functions to DynamoDB and SQS pass through proxies.
func deploy(ctx context.Context, t *testing.T) *shop {
	t.Helper()
	period, err := time.ParseDuration(variable(t, "OPERATIONS_PERIOD"))
	if err != nil || period < 5*time.Millisecond || (5*time.Minute)%period != 0 {
		t.Fatalf("OPERATIONS_PERIOD has to be a part of five minutes, such as 6s: %v", err)
	}
	server := awstest.LocalStack(t)
	s := &shop{
		cloud: cloud{server, aws.ToString(server.Config.BaseEndpoint)}, folder: variable(t, "SHOP"),
		functions: lambda.NewFromConfig(server.Config), sqs: sqs.NewFromConfig(server.Config), queues: map[string]string{},
		proxies: map[string]map[string]*faultproxy.Proxy{}, minutes: make(chan error), log: t.Logf,
	}
	s.rights = &rights{cloud: s.cloud, functions: s.functions, statements: map[string][]privilege.Statement{}}
	s.startProxies(t, variable(t, "FUNCTION_ENVIRONMENT"))
	if err := s.shell(ctx, "make deploy-sam"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.findQueues(ctx), s.rights.read(ctx)); err != nil {
		t.Fatal(err)
	}
	address, err := s.entrance(ctx, t)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("URL", address)
	s.client = client.New(address, client.Options{})
	s.load = newLoad(s.client)
	clock := alarms.Clock{Begin: time.Now(), Faster: int(5 * time.Minute / period)}
	s.watch, err = newWatch(ctx, s.cloud, s.functions, s.gateway, clock)
	if err != nil {
		t.Fatal(err)
	}
	s.live(ctx, t, period/5)
	return s
}

// live has callers send requests, and the sweep run, each minute until the test ends: also while a
// page's commands run.
func (s *shop) live(ctx context.Context, t *testing.T, minute time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for ticks, n := time.Tick(minute), 0; ; n++ {
			select {
			case <-ticks:
			case <-ctx.Done():
				return
			}
			s.load.minute(ctx)
			err := s.sweep(ctx, n)
			select {
			case s.minutes <- err:
			default: // nobody waits; if it lasts, somebody will
			}
		}
	})
	t.Cleanup(func() { cancel(); all.Wait(); s.load.stop() })
}

// startProxies starts the proxies, and writes the file that passes their addresses to the
// functions.
func (s *shop) startProxies(t *testing.T, file string) {
	t.Helper()
	environment := map[string]map[string]string{}
	for i, role := range roles {
		s.proxies[role] = map[string]*faultproxy.Proxy{}
		variables := map[string]string{}
		for service, name := range map[string]string{"dynamodb": "AWS_ENDPOINT_URL_DYNAMODB", "sqs": "AWS_ENDPOINT_URL_SQS"} {
			p, err := faultproxy.Start(s.address, uint64(i), faultproxy.Rates{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			p.Protect(s.rights.guard(role))
			s.proxies[role][service], variables[name] = p, p.URL()
		}
		variables["AWS_ENDPOINT_URL_LAMBDA"] = s.rights.invocations(t, role)
		environment[stack+"-"+role] = variables
	}
	text, err := json.Marshal(environment)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// findQueues finds the queues, and shortens how long messages are hidden that were received in
// vain.
func (s *shop) findQueues(ctx context.Context) error {
	all, err := s.sqs.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(stack + "-")})
	if err != nil {
		return err
	}
	for _, address := range all.QueueUrls {
		_, name, _ := strings.Cut(path.Base(address), stack+"-")
		s.queues[strings.TrimSuffix(name, ".fifo")] = address
		if err := s.hide(ctx, address, visibility); err != nil {
			return err
		}
	}
	return nil
}

// entrance starts the gateway, and returns the address of the API behind it.
func (s *shop) entrance(ctx context.Context, t *testing.T) (address string, err error) {
	id, err := s.api(ctx)
	if err != nil {
		return "", err
	}
	name, err := s.output(ctx, "aws apigateway get-rest-api --rest-api-id "+id+" --query name --output text")
	if err != nil {
		return "", err
	}
	s.gateway, address = startGateway(t, s.rights, id, strings.TrimSpace(name))
	return address, nil
}

// api returns the id of the API.
func (s *shop) api(ctx context.Context) (string, error) {
	var answer struct {
		Outputs []struct {
			Key   string `xml:"OutputKey"`
			Value string `xml:"OutputValue"`
		} `xml:"DescribeStacksResult>Stacks>member>Outputs>member"`
	}
	if err := s.form(ctx, "cloudformation", "2010-05-15", "DescribeStacks", map[string]string{"StackName": stack}, &answer); err != nil {
		return "", err
	}
	for _, o := range answer.Outputs {
		if o.Key == "ApiId" {
			return o.Value, nil
		}
	}
	return "", fmt.Errorf("the stack has no output ApiId: %+v", answer)
}

// shell runs commands in the shop's folder, as an operator would.
func (s *shop) shell(ctx context.Context, commands string) error {
	_, err := s.output(ctx, commands)
	return err
}

// output runs commands as shell does, and returns what they print.
func (s *shop) output(ctx context.Context, commands string) (string, error) {
	begun := time.Now()
	command := exec.CommandContext(ctx, "bash", "-euc", prelude+commands)
	command.Dir = s.folder
	out, err := command.CombinedOutput()
	s.log("in %v: %s", time.Since(begun).Round(time.Second), strings.TrimSpace(commands))
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return string(out), nil
}

// prelude has call, which docs/deploy.md defines.
const prelude = `SERVICE=execute-api
call() { curl -sS --fail-with-body --aws-sigv4 "aws:amz:$AWS_REGION:$SERVICE" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" -H 'content-type: application/json' "$@"; }
`

// Minute implements operations.World.
func (s *shop) Minute(ctx context.Context) error {
	select {
	case err := <-s.minutes:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sweep does what the rule of EventBridge does: LocalStack's fires each real minute only. In each
// fifth minute the sweep sends a beat. Beats have numbers of their own, because their usual ones
// change each five real minutes.
func (s *shop) sweep(ctx context.Context, minute int) error {
	var rule struct{ State string }
	if err := s.json(ctx, "events", "AWSEvents.DescribeRule", map[string]string{"Name": stack + "-sweep"}, &rule); err != nil {
		return err
	}
	if rule.State != "ENABLED" {
		return nil
	}
	event := []byte(`{"source":"aws.events","detail-type":"Scheduled Event"}`)
	name := "sweep"
	if minute%betweenBeats == 0 {
		name, event = "beat", fmt.Appendf(nil, `{"weft":{"beat":true,"number":%d}}`, minute/betweenBeats+1)
	}
	s.load.once(name, func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if _, err := s.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(stack + "-timer"), Payload: event}); err != nil {
			s.log("the sweep: %v", err) // alarms report it
		}
	})
	return nil
}

// States implements operations.World.
func (s *shop) States(ctx context.Context) (map[string]alarms.State, error) {
	states, err := s.watch.states(ctx, time.Now())
	return states, errors.Join(err, s.rights.failure())
}

// Doctor implements operations.World. The doctor fails, because something is bad.
func (s *shop) Doctor(ctx context.Context) (string, error) {
	table, err := s.table(ctx)
	if err == nil {
		err = s.watch.showAll(ctx)
	}
	if err != nil {
		return "", err
	}
	return s.output(ctx, fmt.Sprintf("weft doctor --name %s --table %s --url \"$URL\" || true", stack, table))
}

// Run implements operations.World.
func (s *shop) Run(ctx context.Context, commands string) error {
	return errors.Join(s.shell(ctx, commands), s.rights.read(ctx))
}

// Audit implements operations.World.
func (s *shop) Audit(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := s.hasten(ctx); err != nil && ctx.Err() == nil {
				failed <- err
				return
			}
			_ = s.Minute(ctx) // whatever the sweep says
		}
		failed <- nil
	}()
	err := s.load.audit(ctx)
	cancel()
	return errors.Join(err, <-failed)
}

// hasten makes due what waits in the table for some minutes: the messages that were dead letters,
// which the dead function sends again after five real minutes.
func (s *shop) hasten(ctx context.Context) error {
	table, err := s.table(ctx)
	if err != nil {
		return err
	}
	timers, err := dynamo.New(dynamodb.NewFromConfig(s.server.Config), dynamo.Options{Table: table, Namespace: stack})
	if err != nil {
		return err
	}
	due, err := timers.DueTimers(ctx, time.Now().Add(6*time.Minute), 100)
	if err != nil {
		return err
	}
	var now, before []store.Timer
	for _, one := range due {
		if time.Until(one.Due) < time.Minute {
			continue // a timer of the load, or one that was made due
		}
		m, err := outbox.Decode(one.Body)
		if err != nil {
			return err
		}
		m.Due = history.At(time.Now())
		next := store.Timer{ID: one.ID, Due: m.Due.Time()}
		if next.Body, err = history.EncodeBody(m); err != nil {
			return err
		}
		now, before = append(now, next), append(before, one)
	}
	if len(now) == 0 {
		return nil
	}
	return errors.Join(timers.PutTimers(ctx, now), timers.DeleteTimers(ctx, before))
}

// table returns the name of the table.
func (s *shop) table(ctx context.Context) (string, error) {
	f, err := s.functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(stack + "-timer")})
	if err != nil {
		return "", err
	}
	return f.Environment.Variables["WEFT_TABLE"], nil
}

// report logs what the functions warned of, what the proxies did, and what callers were refused by.
func (s *shop) report() {
	for _, line := range s.watch.warnings {
		s.log("%s", line)
	}
	s.load.mu.Lock()
	defer s.load.mu.Unlock()
	for reason, n := range s.load.refused {
		s.log("%d requests of callers: %s", n, reason)
	}
	for _, role := range roles {
		for _, service := range slices.Sorted(maps.Keys(s.proxies[role])) {
			for operation, faults := range s.proxies[role][service].Counts() {
				s.log("%s %s: %v", role, operation, faults)
			}
		}
	}
}
