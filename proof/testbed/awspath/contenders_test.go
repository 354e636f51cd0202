package awspath

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// race lets cold processes send an update to a run at the same time. Each request to the store
// takes at least the given time, and up to half as much more. race returns the number of tries of
// each update, and how long each took, both sorted.
func race(t *testing.T, s *Testbed, callers int, request time.Duration) (tries []int, took []time.Duration) {
	t.Helper()
	defer s.Close()
	s.Do(1, testbed.Request{Method: http.MethodPost, Target: "/v1/workflows", Body: `{"workflowId":"hot","type":"counter","input":1000000}`})
	half := func() {
		d := request/2 + time.Duration(s.clock.ID()[0])*request/1024
		_ = s.clock.Wait(context.Background(), d, nil) // nothing ends it
	}
	slow := func(do func() error) error {
		half()
		defer half()
		return do()
	}
	const first = 3 // the process before handles messages
	for i := range callers {
		s.Deploy(first+i, "build-1")
		s.Hook(first+i, testbed.OnPut, true, slow)
		s.Hook(first+i, testbed.OnRead, true, slow)
	}
	all, begun := make([]*pending, callers), s.clock.Now()
	took = make([]time.Duration, callers)
	for i := range all {
		all[i] = s.send(first+i, testbed.Request{
			Method: http.MethodPost, Target: "/v1/workflows/hot/updates/add", Body: fmt.Sprintf(`{"updateId":"u%d","input":1}`, i),
		})
		done := all[i].done
		s.clock.Go(func() {
			s.clock.Await(done)
			took[i] = s.clock.Now().Sub(begun)
		})
	}
	for _, p := range all {
		s.clock.Await(p.done)
		if p.answer.Status != http.StatusOK {
			t.Errorf("an update was answered with %d %s", p.answer.Status, p.answer.Body)
		}
		tries = append(tries, int(p.answer.Cost.Lost)+1)
	}
	s.clock.Settle()
	slices.Sort(tries)
	slices.Sort(took)
	return tries, took
}

// Sixty-four processes that send an update to one run at the same time all succeed before the soft
// limit, however long a request to the store takes. At most one update in a hundred takes more than
// ten tries.
func TestContenders(t *testing.T) {
	t.Parallel()
	for _, request := range []time.Duration{300 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond} {
		t.Run(request.String(), func(t *testing.T) {
			t.Parallel()
			rounds := shortform.Or(3, 1)
			beds := Testbeds(Memory)
			for _, callers := range []int{8, 64} {
				var tries []int
				var took []time.Duration
				for range rounds {
					ofRound, times := race(t, beds(t, nil).(*Testbed), callers, request)
					tries, took = append(tries, ofRound...), append(took, times...)
				}
				slices.Sort(tries)
				slices.Sort(took)
				p99 := tries[len(tries)*99/100]
				t.Logf("%d callers: tries p50 %d, p99 %d, most %d; time p50 %v, most %v", callers, tries[len(tries)/2], p99, tries[len(tries)-1],
					took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
				if p99 > 10 || took[len(took)-1] > 20*time.Second {
					t.Errorf("%d callers need %d tries at p99, and %v", callers, p99, took[len(took)-1])
				}
			}
		})
	}
}
