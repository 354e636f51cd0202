//go:build aws

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/proof/faultproxy"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

var numbers = []types.QueueAttributeName{
	types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}

// The faults, until calm: about one request in six fails.
var (
	requests = faultproxy.Rates{
		LoseRequest: 0.02, FailBefore: 0.02, Throttle: 0.03, FailAfter: 0.02, LoseAnswer: 0.03, CutAnswer: 0.02, Partial: 0.04,
		Delay: 0.05, MaxDelay: 200 * time.Millisecond,
	}
	deliveries = lambdahost.Deliveries{Duplicate: 0.04, Late: 0.02, Shuffle: 0.5, Delay: 0.1, MaxDelay: time.Second}
)

// chance is a seeded source that several goroutines share.
type chance struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func newChance(seed, stream uint64) *chance {
	return &chance{rand: rand.New(rand.NewPCG(seed, stream))}
}

func (c *chance) intN(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

// chaos counts the faults of processes.
type chaos struct{ kills, pauses, retires map[string]int }

// disturb causes faults until ctx ends: it kills processes in mid-flight, or stops them until
// others have given them up, and replaces those that wait for work.
func (d *deployment) disturb(ctx context.Context, c *chance) chaos {
	for _, p := range d.proxies {
		p.Set(requests)
	}
	d.disturbance.Set(deliveries)
	did := chaos{map[string]int{}, map[string]int{}, map[string]int{}}
	for each(ctx, time.Duration(c.intN(int(2**every)))) {
		e := d.pick(c)
		if e == nil {
			continue
		}
		switch n := c.intN(100); {
		case n < 75:
			if e.Kill() {
				did.kills[e.Function()]++
			}
		case n < 95:
			if e.Pause(time.Duration(c.intN(2*int(grace/time.Millisecond))) * time.Millisecond) {
				did.pauses[e.Function()]++
			}
		default:
			d.host.Retire()
			did.retires["all"]++
		}
	}
	for _, p := range d.proxies {
		p.Set(faultproxy.Rates{})
	}
	d.disturbance.Set(lambdahost.Deliveries{})
	return did
}

// pick picks a process that works on an event. It picks the function first, because most busy
// processes wait for something in the API, which is the least harmful moment.
func (d *deployment) pick(c *chance) *lambdahost.Environment {
	busy := map[string][]*lambdahost.Environment{}
	for _, e := range d.host.Busy() {
		busy[e.Function()] = append(busy[e.Function()], e)
	}
	names := slices.Sorted(maps.Keys(busy))
	if len(names) == 0 {
		return nil
	}
	all := busy[names[c.intN(len(names))]]
	return all[c.intN(len(all))]
}

// lookAgain is the client's wait before its second poll of the same thing, which grows up to
// lookAtMost. The client waits outside the function: Lambda has capacity for all requests that wait
// in one, but here are only a few processes, and a request that waits blocks others.
const (
	lookAgain  = 300 * time.Millisecond
	lookAtMost = 3 * time.Second
)

// lossy is the network between clients and the API: it loses some requests, and some answers.
type lossy struct {
	api    http.Handler
	chance *chance
	mu     sync.Mutex
	lost   map[string]int
	looks  map[string]int  // by path
	calm   <-chan struct{} // when closed, no more requests or answers are lost
}

var errLost = errors.New("the connection was lost")

// RoundTrip implements http.RoundTripper.
func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	n := l.chance.intN(100)
	select {
	case <-l.calm:
		n = 100
	default:
	}
	if n < 3 {
		l.count("request lost")
		return nil, errLost
	}
	if q := r.URL.Query(); q.Has("wait") {
		q.Set("wait", "1ms")
		r = r.Clone(r.Context())
		r.URL.RawQuery = q.Encode()
	}
	w := httptest.NewRecorder()
	l.api.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if n < 8 {
		l.count("answer lost")
		return nil, errLost
	}
	response := w.Result()
	response.Request = r
	l.count(fmt.Sprint("status ", w.Code))
	if w.Code == http.StatusAccepted {
		each(r.Context(), min(time.Duration(l.look(r.URL.Path))*lookAgain, lookAtMost))
	}
	return response, nil
}

// look counts the looks at one thing.
func (l *lossy) look(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks[path]++
	return l.looks[path]
}

func (l *lossy) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost[what]++
}
