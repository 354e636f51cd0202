package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
	"github.com/seed-41655fb1/weft/proof/testbed/ondisk"
)

// These tests run the typed client against two servers:
//   - the embedded server
//   - the function of the API on AWS, which they call in this process with the events of an HTTP
//     API and of a REST API
//
// paths_aws_test.go runs it over DynamoDB servers. All of them play the cases of calls.

// fixture is a deployment, and a client of its process 1. The client's network can fail.
type fixture struct {
	t   testing.TB
	bed testbed.Testbed
	*client.Client
	network *network
}

// playCall plays a case on a testbed.
func playCall(t *testing.T, beds func(testing.TB, testbed.Args) testbed.Testbed, args testbed.Args, play func(s *fixture)) {
	t.Helper()
	s := &fixture{t: t, bed: beds(t, args)}
	defer s.bed.Close()
	s.Client, s.network = s.of(1)
	s.bed.Run(func() { play(s) })
}

// of returns a client of a process.
func (s *fixture) of(process int) (*client.Client, *network) {
	w := &network{handler: s.bed.Handler(process)}
	pause := func(ctx context.Context, d time.Duration) error { return s.bed.World().Wait(ctx, d, nil) }
	return client.New("http://weft.test", client.Options{HTTP: &http.Client{Transport: bridge.Transport{RoundTripper: w, Pause: pause}}}), w
}

// within returns a context that ends after d.
func (s *fixture) within(d time.Duration) (context.Context, context.CancelFunc) {
	return s.bed.World().WithTimeout(context.Background(), d)
}

// pass lets time pass.
func (s *fixture) pass(d time.Duration) { _ = s.bed.World().Wait(context.Background(), d, nil) } // nothing ends it

// took returns how long fn takes, in whole seconds.
func (s *fixture) took(fn func()) time.Duration {
	began := s.bed.Now()
	fn()
	return s.bed.Now().Sub(began).Round(time.Second)
}

// lose applies faults to the next requests, and forgets what was sent before.
func (s *fixture) lose(faults ...fault) { s.network.sent, s.network.faults = nil, faults }

// start starts the counter a.
func (s *fixture) start() {
	s.t.Helper()
	if _, err := testbed.Counter.Start(context.Background(), s.Client, "a", 0); err != nil {
		s.t.Fatal(err)
	}
	s.lose()
}

// wantEvents checks the number of events of a type in the history of the latest run of a.
func (s *fixture) wantEvents(n int, typ string) {
	s.t.Helper()
	answer := httptest.NewRecorder()
	s.bed.Handler(1).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v1/workflows/a/history", nil))
	var page struct{ Events []struct{ Type string } }
	if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil {
		s.t.Fatal(err)
	}
	got := 0
	for _, e := range page.Events {
		if e.Type == typ {
			got++
		}
	}
	if got != n {
		s.t.Errorf("the history has %d events %s, want %d: %v", got, typ, n, page.Events)
	}
}

// wantSent checks the methods of the requests that were sent, and that each retry was identical to
// its request.
func (s *fixture) wantSent(methods string) {
	s.t.Helper()
	var got []string
	bodies := map[string]string{}
	for _, r := range s.network.requests() {
		got = append(got, r.method)
		if before, again := bodies[r.method+r.path]; again && before != r.body {
			s.t.Errorf("%s %s was sent again with %s instead of %s", r.method, r.path, r.body, before)
		}
		bodies[r.method+r.path] = r.body
	}
	if text := strings.Join(got, " "); text != methods {
		s.t.Errorf("the requests were %s, want %s", text, methods)
	}
}

// TestCallsEmbedded plays the cases against the embedded server: the embedded store and queue, in a
// bubble.
func TestCallsEmbedded(t *testing.T) {
	t.Parallel()
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { playCall(t, ondisk.NewBubble, c.args, c.play) })
		})
	}
}

// gateways are the arguments that select the two kinds of API of API Gateway.
var gateways = []string{"http", "rest"}

// TestCallsOnAWSPath plays the cases through the function of the API, over a store in memory.
func TestCallsOnAWSPath(t *testing.T) {
	t.Parallel()
	for _, gateway := range gateways {
		for name, c := range calls {
			t.Run(gateway+"/"+name, func(t *testing.T) {
				t.Parallel()
				playCall(t, awspath.Testbeds(awspath.Memory), through(gateway, c.args), c.play)
			})
		}
	}
}

func through(gateway string, args testbed.Args) testbed.Args {
	all := testbed.Args{"gateway": gateway}
	for name, value := range args {
		all[name] = value
	}
	return all
}
