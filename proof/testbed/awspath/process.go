package awspath

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// process is one process of a testbed. It has all functions, over one service.
type process struct {
	build     string
	registry  *engine.Registry
	process   *assembly.Process
	functions map[function.Role]*function.Function
	hooks     *testbed.Hooks
	delivered meter.Meter // counts all events except requests
	sweepAt   time.Time   // the time of the next schedule event
	api       http.Handler
	busy      int  // the number of events that it handles, without requests
	stopped   bool // it gets no more events
}

// activityVisibility is the visibility timeout of the activity queue, which is the longest of SQS.
// The function shortens it.
const activityVisibility = 12 * time.Hour

func (s *Testbed) boot(build string) *process {
	s.t.Helper()
	log := slog.New(s.log)
	ports := s.store.Ports
	p := &process{
		build: build, registry: testbed.Registry(s.t, testbed.Workload(build)...), hooks: testbed.NewHooks(ports.Log),
		functions: map[function.Role]*function.Function{}, sweepAt: s.clock.Now(),
	}
	ports.Log, ports.Queue = p.hooks, s.sender()
	o := s.options
	o.Engine.TaskQueues = testbed.TaskQueues
	o.Build, o.Logger = build, slog.New(slog.NewMultiHandler(s.warnings.Logger().Handler(), s.log))
	p.process = assembly.NewProcess(assembly.Config{Ports: ports, Registry: p.registry, Host: s.clock, Options: o})
	for _, role := range []function.Role{function.API, function.Workflow, function.Activity, function.Timer, function.Dead} {
		f, err := function.New(role, p.process, function.Options{QueueOf: queueOf, Visibility: activityVisibility, Extend: s.queue.Extend, Log: log, Forward: s.forwarder(role)})
		if err != nil {
			s.t.Fatal(err)
		}
		p.functions[role] = f
	}
	p.api = s.gateway(p, string(function.API))
	return p
}

// Invoke implements lambdahost.Invoker. The name of a function is its role.
func (p *process) Invoke(ctx context.Context, name string, event []byte) ([]byte, error) {
	role := function.Role(name)
	return p.functions[role].Invoke(context.WithValue(ctx, roleKey{}, role), event)
}

type roleKey struct{}

// Role returns the role of the function that makes a call with this context. It is empty for a call
// of the test itself.
func Role(ctx context.Context) function.Role {
	role, _ := ctx.Value(roleKey{}).(function.Role)
	return role
}

// sender returns the sender of the functions.
func (s *Testbed) sender() queue.Sender {
	if s.store.Sends == nil {
		return s.queue
	}
	return watched{s.queue, s.store.Sends}
}

// watched is a sender that reports each sending.
type watched struct {
	queue.Sender
	tell func(ctx context.Context, name string)
}

// Send implements queue.Sender.
func (w watched) Send(ctx context.Context, name string, messages ...queue.Message) error {
	w.tell(ctx, name)
	return w.Sender.Send(ctx, name, messages...)
}

// ServeHTTP answers a request as a gateway does, which counts the bytes of the answer itself.
func (p *process) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	p.api.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // writes into memory
}

// tick lets the timer function answer a schedule event.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-run-lambda-schedule.html
func (p *process) tick(ctx context.Context, at time.Time) error {
	event, err := json.Marshal(map[string]any{
		"version": "0", "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa", "detail-type": "Scheduled Event", "source": "aws.events",
		"account": lambdahost.Account, "time": at.Format(time.RFC3339), "region": lambdahost.Region,
		"resources": []string{lambdahost.ARN("events", "rule/weft-sweep")}, "detail": map[string]any{},
	})
	if err != nil {
		return err
	}
	if _, err := p.Invoke(p.delivered.Counting(ctx), string(function.Timer), event); err != nil {
		return fmt.Errorf("the schedule: %w", err)
	}
	return nil
}
