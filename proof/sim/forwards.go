package sim

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/queue"
)

// forwarding is what an actor of a gradual deploy has to do with events of the other build.
type forwarding struct {
	since    time.Time // when its invocation began
	invokes  bool      // it is an invocation, whose parts are actors of their own
	marked   bool      // the event was forwarded
	anywhere bool      // it may do the work of any build: the event was forwarded, or could not be
	forwards []*actor  // the invocations that it waits for, or waited for
}

// inherits returns what an actor has that works for another of the same process.
func (f *forwarding) inherits() forwarding {
	return forwarding{since: f.since, marked: f.marked, anywhere: f.anywhere}
}

// clientCall is a request of a client. Its event has only its number: the API of the simulation's
// processes calls what the client wants to have done.
type clientCall struct {
	fn     func(context.Context, edge.Service) error
	errors []error // of its tries
}

// invoked gives a process the Lambda functions of a gradual deploy.
func (s *simulation) invoked(p *process) {
	if s.gradual == nil {
		return
	}
	p.API = api{s, p, p.API}
	p.live.functions = map[function.Role]*function.Function{}
	for _, role := range []function.Role{function.API, function.Workflow, function.Activity} {
		f, err := function.New(role, p.Process, function.Options{
			Forward: func(ctx context.Context, build string, event []byte) ([]byte, error) {
				return s.forward(ctx, role, build, event)
			},
			// The visibility is longer than any, so that each attempt sets it, as the worker does.
			Visibility: 24 * time.Hour, Extend: p.Worker.Receiver.Extend,
			QueueOf: func(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] },
			Log:     slog.New(panics{slog.DiscardHandler, s}),
		})
		s.must(err)
		p.live.functions[role] = f
	}
}

// panics fails the simulation if a function logs that something panicked, unless that unwinds an
// actor.
type panics struct {
	slog.Handler
	s *simulation
}

// Enabled implements slog.Handler.
func (panics) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements slog.Handler.
func (h panics) Handle(_ context.Context, r slog.Record) error {
	if me := h.s.running; strings.Contains(r.Message, "panicked") && (me == nil || !me.dead) {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool {
			text += " " + a.String()
			return true
		})
		h.s.fail("%s", text)
	}
	return nil
}

// api is the HTTP API of a process, before the product's.
type api struct {
	s    *simulation
	p    *process
	real http.Handler
}

// requestPath begins the path of a request, which its number follows.
const requestPath = "/v1/workflows/w/signals/"

// answered names the try that an answer is of.
const answered = "Sim-Try"

// ServeHTTP carries out a request, and answers it as the HTTP API does.
func (h api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, is := strings.CutPrefix(r.URL.Path, requestPath)
	if !is {
		h.real.ServeHTTP(w, r)
		return
	}
	n, err := strconv.Atoi(number)
	h.s.must(err)
	q := h.s.gradual.requests[n]
	err = q.fn(r.Context(), edge.Of(h.p.Service))
	w.Header().Set(answered, strconv.Itoa(len(q.errors)))
	q.errors = append(q.errors, err)
	if other, is := errors.AsType[*executor.OtherBuild](err); is && other.Soft {
		w.Header().Set(httpapi.OwnerHeader, other.Build)
	} else if is {
		w.Header().Set(httpapi.BuildHeader, other.Build)
	}
	w.WriteHeader(http.StatusOK)
}

// request lets a process carry out a request through its API function.
func (s *simulation) request(p *process, fn func(context.Context, edge.Service) error) error {
	q := &clientCall{fn: fn}
	number := len(s.gradual.requests)
	s.gradual.requests = append(s.gradual.requests, q)
	event, err := json.Marshal(lambdaevents.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: requestPath + strconv.Itoa(number),
		RequestContext: lambdaevents.APIGatewayV2HTTPRequestContext{
			Stage: "$default", DomainName: "api.example", HTTP: lambdaevents.APIGatewayV2HTTPRequestContextHTTPDescription{Method: http.MethodPost},
		},
	})
	s.must(err)
	out, err := p.live.functions[function.API].Invoke(context.Background(), event)
	if err != nil {
		s.fail("the API function fails: %v", err)
		return err
	}
	var answer lambdaevents.APIGatewayV2HTTPResponse
	s.must(json.Unmarshal(out, &answer))
	try := answer.Headers[answered]
	if try == "" {
		try = strings.Join(answer.MultiValueHeaders[answered], "")
	}
	if n, err := strconv.Atoi(try); err == nil {
		return q.errors[n]
	}
	var refused problem.Problem
	s.must(json.Unmarshal([]byte(answer.Body), &refused))
	kind := refusal.Kind(refused.Type[strings.LastIndex(refused.Type, ":")+1:])
	return kind.New("%s", refused.Detail)
}

// await waits until an actor has ended.
func (s *simulation) await(a *actor) {
	for !a.ended {
		s.pause(wait{until: s.now.Add(time.Hour), wake: a.gone})
	}
}

// together lets actors call functions, and waits for them.
func (s *simulation) together(fns []func()) {
	me := s.running
	var all []*actor
	for i, fn := range fns {
		a := s.spawn(s.name("%s, part %d", me.name, i), me.process, fn)
		a.queue = me.queue
		all = append(all, a)
	}
	for _, a := range all {
		s.await(a)
		me.did.add(a.did)
	}
}

var errFunction = errors.New("the function did not answer, as the simulation has it")

// forward implements function.Forward for the functions of a role.
func (s *simulation) forward(_ context.Context, role function.Role, build string, event []byte) ([]byte, error) {
	me := s.running
	if me.dead {
		panic(killed{})
	}
	if me.marked {
		s.fail("%s was forwarded, and is forwarded again", me.name)
	}
	s.pause(wait{until: s.now.Add(time.Duration(s.of(weighted).IntN(20)) * time.Millisecond)})
	to := s.versionOf(buildNumber(build))
	switch {
	case to == nil, s.hits(versionGone):
		me.anywhere = true
		return nil, fmt.Errorf("%w %q", function.ErrNoVersion, build)
	case s.hits(versionBusy):
		me.anywhere = true
		return nil, fmt.Errorf("%w: throttled", function.ErrNotForwarded)
	}
	silent := s.hits(versionSilent)
	if silent && s.of(versionSilent).IntN(2) == 0 {
		s.log("an event for process %d is lost", to.number)
		return nil, errFunction
	}
	s.count("an event is forwarded")
	answer, err := []byte(nil), errFunction
	a := s.spawn(s.name("p%d for %s", to.number, me.name), to, func() {
		if role == function.API {
			s.events.asked(s.running)
		}
		mark := &lambdacontext.LambdaContext{ClientContext: function.Mark(build, time.Time{})}
		answer, err = to.live.functions[role].Invoke(lambdacontext.NewContext(context.Background(), mark), event)
	})
	a.queue, a.forwarding = me.queue, forwarding{since: s.now, invokes: role != function.API, marked: true, anywhere: true}
	me.forwards = append(me.forwards, a)
	s.await(a)
	me.did.add(a.did)
	switch {
	case a.dead:
		return nil, errFunction // the function was ended
	case silent:
		s.log("the answer of process %d is lost", to.number)
		return nil, errFunction
	}
	return answer, err
}

// roleOf returns the role of the function that handles the messages of a queue.
func roleOf(name string) function.Role {
	if _, is := queue.IsForTasks(name); is {
		return function.Activity
	}
	return function.Workflow
}

// eventOf returns the event of messages, with their places as ids.
func eventOf(name string, all []queue.Delivery) []byte {
	e := lambdaevents.SQSEvent{}
	for i, d := range all {
		m := lambdaevents.SQSMessage{
			MessageId: strconv.Itoa(i), ReceiptHandle: d.Receipt, Body: base64.RawStdEncoding.EncodeToString(d.Body), EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:" + name, Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(d.Received)},
		}
		if name == queue.Workflow {
			m.EventSourceARN += ".fifo"
			m.Attributes["MessageGroupId"] = d.Group
		}
		e.Records = append(e.Records, m)
	}
	event, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return event
}

// invokeLive lets the function of a process handle a batch of messages, and deletes those that it
// does not return.
func (s *simulation) invokeLive(name string, all []queue.Delivery) {
	p := s.receiver()
	if !p.settings.serves(name) {
		return // the queue's mapping does not exist yet: the messages are redelivered
	}
	opened := slices.Clone(all)
	s.audit.codec.Deliveries(context.Background(), opened)
	s.audit.delivered(name, opened)
	s.log("process %d gets %d of %s in one batch: %s", p.number, len(all), name, s.what(name, opened[0]))
	before := s.disturbed()
	for _, d := range all { // an invocation that ends without an answer was disturbed
		s.returned(d, returns{otherwise: 1})
	}
	a := s.spawn(s.name("p%d %s", p.number, s.what(name, opened[0])), p, func() {
		s.running.queue, s.running.invokes = name, true
		out, err := p.live.functions[roleOf(name)].Invoke(context.Background(), eventOf(name, all))
		if s.running.dead {
			return
		}
		if err != nil {
			s.log("the function fails: %v", err)
			return
		}
		var answer lambdaevents.SQSEventResponse
		s.must(json.Unmarshal(out, &answer))
		again := map[string]bool{}
		for _, one := range answer.BatchItemFailures {
			again[one.ItemIdentifier] = true
		}
		var done []string
		for i, d := range all {
			if !again[strconv.Itoa(i)] {
				done = append(done, d.Receipt)
			} else if s.disturbed() == before && len(s.running.forwards) > 0 {
				s.returned(d, returns{forwarded: 1, otherwise: -1})
			}
		}
		if s.hits(batchAnswerLost) {
			s.log("the answer of the batch is lost")
			return
		}
		s.must(s.queue.Delete(context.Background(), name, done...))
	})
	a.takes = name
	if s.has(timeLimit) {
		a.limit = s.now.Add([]time.Duration{70 * time.Second, 100 * time.Second, 15 * time.Minute}[s.of(timeLimit).IntN(3)])
	}
}

// returned counts returns of a message.
func (s *simulation) returned(d queue.Delivery, more returns) {
	of := s.gradual.returned[string(d.Body)]
	s.gradual.returned[string(d.Body)] = returns{of.forwarded + more.forwarded, of.otherwise + more.otherwise}
}
