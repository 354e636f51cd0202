//go:build aws

package faults_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

var (
	seed      = flag.Uint64("seed", 0, "what the faults are drawn from; 0 is the time")
	workflows = flag.Int("workflows", 1000, "how many workflows there are")
	talkers   = flag.Int("clients", 200, "how many conversations are held at once")
	every     = flag.Duration("every", 200*time.Millisecond, "how often a process is killed or stopped, on average")
)

const (
	// patience bounds the conversations, and drain the time until no work is left. Both are several
	// times what they take, for a machine that is busy with other tests. A message that the faults
	// made a dead letter returns after five minutes (deliveries.deadDelay).
	patience = 8 * time.Minute
	drain    = 9 * time.Minute
)

// TestFaults runs the real binaries on a table and queues behind proxies that lose, refuse, delay
// and repeat, and kills them again and again in the middle of their work. No workflow is lost, none
// is stuck, and each has its result once.
//
// The seed draws the faults. Which request gets which fault also depends on the machine: a seed
// repeats the kind of run, not the exact run.
func TestFaults(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d -workflows=%d -every=%v", *seed, *workflows, *every)
	d := deploy(t, *seed)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { d.work(ctx) })
	t.Cleanup(func() { stop(); working.Wait() })

	begun := time.Now()
	faults, calm := context.WithCancel(ctx)
	network := &lossy{api: apitest.Handler(t, lambdahost.Gateway(d.host, "api")), chance: newChance(*seed, 4), lost: map[string]int{}, looks: map[string]int{}, calm: faults.Done()}
	var did chaos
	disturbing := make(chan struct{})
	go func() {
		defer close(disturbing)
		did = d.disturb(faults, newChance(*seed, 5))
	}()
	talks := d.converse(t, network)
	calm()
	<-disturbing
	t.Logf("%d conversations took %v", len(talks), time.Since(begun).Round(time.Second))
	defer func() { d.report(t, network, did, talks) }()
	if t.Failed() {
		return
	}

	begun = time.Now()
	d.settle(t, talks)
	t.Logf("the rest took %v", time.Since(begun).Round(time.Second))
	types := registry(t)
	for _, k := range talks {
		d.audit(t, types, k)
		if err := k.check(t.Context()); err != nil {
			t.Errorf("%s: %v", k.id, err)
		}
	}
	d.readLog(t)
}

// converse holds all conversations, each with its own workflow.
func (d *deployment) converse(t *testing.T, network *lossy) []*talk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := client.New("http://api", client.Options{HTTP: &http.Client{Transport: network}})
	talks := make([]*talk, *workflows)
	free := make(chan struct{}, *talkers)
	var all sync.WaitGroup
	for i := range talks {
		at := (i*100 / *workflows + 99) % 100 // the last shape is the slowest: it begins first
		shape := 0
		for at >= shapes[shape].weight {
			at -= shapes[shape].weight
			shape++
		}
		talks[i] = &talk{client: c, id: fmt.Sprintf("%s-%d", shapes[shape].name, i), chance: newChance(*seed, 100+uint64(i))}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			if err := shapes[shape].hold(ctx, talks[i]); err != nil {
				t.Errorf("%s: %v", talks[i].id, err)
			}
		})
	}
	all.Wait()
	return talks
}

// settle waits until all workflows have ended and all queues are empty.
func (d *deployment) settle(t *testing.T, talks []*talk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), drain)
	defer cancel()
	for {
		var open []string
		for _, k := range talks {
			is, err := d.open(ctx, k.id)
			if err != nil {
				t.Fatal(err)
			}
			if is {
				open = append(open, k.id)
			}
		}
		left := d.left(t)
		if len(open)+len(left) == 0 {
			return
		}
		if !each(ctx, 500*time.Millisecond) {
			t.Errorf("after %v these workflows have not ended: %v; in the queues are %v", drain, open, left)
			return
		}
	}
}

// report logs the faults of each process and proxy.
func (d *deployment) report(t *testing.T, network *lossy, did chaos, talks []*talk) {
	t.Helper()
	again := 0
	for _, k := range talks {
		again += k.again
	}
	t.Logf("checkouts that had to be repeated: %d", again)
	for name, p := range d.proxies {
		for op, faults := range p.Counts() {
			t.Logf("%s %s: %v", name, op, faults)
		}
	}
	for name, s := range d.host.Stats() {
		t.Logf("%s: %d invocations in %d processes, %v each, failed: %v", name, s.Invocations, s.Started, s.Busy/time.Duration(max(s.Invocations, 1)), s.Failed)
	}
	t.Logf("deliveries: %v", d.disturbance.Counts())
	t.Logf("killed in mid-flight: %v; stopped there: %v; retired: %v", did.kills, did.pauses, did.retires)
	t.Logf("between clients and API: %v", network.lost)
}

// readLog demands that no function logged a defect of Weft.
func (d *deployment) readLog(t *testing.T) {
	t.Helper()
	f, err := os.Open(d.logs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	const longest = 1 << 20 // stacks are in one line
	lines.Buffer(nil, longest)
	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, "panic") || strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, "received too often") {
			t.Errorf("a function logged %s", line)
		}
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
}
