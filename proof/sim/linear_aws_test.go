//go:build aws

package sim

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/faultproxy"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// requestFaults are the rates of the faults of requests to the server.
var requestFaults = faultproxy.Rates{
	LoseRequest: 0.02, FailBefore: 0.02, Throttle: 0.02, FailAfter: 0.02, LoseAnswer: 0.03, CutAnswer: 0.01,
	Delay: 0.1, MaxDelay: 20 * time.Millisecond,
}

// crowd is several processes over a DynamoDB server behind a proxy that loses answers, and clients
// that record each request to the runs.
type crowd struct {
	t      *testing.T
	proxy  *faultproxy.Proxy
	client *dynamodb.Client
	table  string
	queue  *queuememory.Queue
	runs   []*record

	mu        sync.Mutex
	processes []edge.Service
	// pending are requests that nobody waits for any more.
	pending sync.WaitGroup
}

// mostOfRun is the largest sum that the update add accepts.
const mostOfRun = 25

// newCrowd creates a table, runs and processes.
func newCrowd(t *testing.T, server awstest.Server, runs, processes int) *crowd {
	t.Helper()
	direct, table := dynamodb.NewFromConfig(server.Config), "weft-"+rand.Text()
	if err := dynamo.CreateTable(t.Context(), direct, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := direct.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	})
	proxy, err := faultproxy.Start(aws.ToString(server.Config.BaseEndpoint), mathrand.Uint64(), requestFaults)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	config := server.Config.Copy()
	config.BaseEndpoint = aws.String(proxy.URL())
	c := &crowd{
		t: t, proxy: proxy, client: dynamodb.NewFromConfig(config), table: table,
		queue: queuememory.New(queue.Standard(taskQueues...), queuememory.Options{Violation: t.Errorf}),
	}
	for range processes {
		c.processes = append(c.processes, c.boot())
	}
	for i := range runs {
		c.runs = append(c.runs, &record{fail: t.Errorf})
		c.start(i)
	}
	return c
}

// boot starts a process. It handles messages until the test ends.
func (c *crowd) boot() edge.Service {
	c.t.Helper()
	s, err := dynamo.New(c.client, dynamo.Options{Table: c.table, NoList: true})
	if err != nil {
		c.t.Fatal(err)
	}
	attempt := func(_ context.Context, name string) (string, error) { return name, nil }
	ports := assembly.PortsOf(s, s.Lister(), c.queue)
	ports.Scanner = nil // nothing scans the table
	p := assembly.NewProcess(assembly.Config{
		Ports: ports, Receiver: c.queue, Registry: (&code{build: 2, attempt: attempt, runsOn: func(string) {}}).registry(),
		Host: host.Machine{}, Options: executor.Options{Build: "2", Logger: quiet}, Concurrency: 4,
	})
	c.t.Cleanup(p.Work(context.Background()))
	return edge.Of(p.Service)
}

func (c *crowd) start(run int) {
	id := fmt.Sprint("w", run)
	input, _ := json.Marshal(program{Most: mostOfRun}) // a program always encodes
	for {
		_, err := c.any().Start(c.t.Context(), schema.StartRequest{WorkflowID: &id, Type: ledger.Name(), RequestID: "start", Input: input})
		if err == nil {
			return
		}
		if !errors.Is(err, refusal.Busy) && !errors.Is(err, refusal.OutcomeUnknown) {
			c.t.Fatal(err)
		}
	}
}

// any returns some process. Sometimes it is a new one that replaces another, whose requests
// continue.
func (c *crowd) any() edge.Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := mathrand.IntN(len(c.processes))
	if mathrand.IntN(20) == 0 {
		c.processes[i] = c.boot()
	}
	return c.processes[i]
}

// live sends requests. It repeats some whose outcome is unknown, and uses some ids that other
// clients use, too.
func (c *crowd) live(client int) {
	for op := range 14 {
		run := mathrand.IntN(len(c.runs))
		id := fmt.Sprintf("%d-%d", client, op)
		switch mathrand.IntN(9) {
		case 0, 1, 2, 3:
			c.send(run, "add", id, 1+mathrand.IntN(5))
		case 4:
			c.send(run, "add", "shared", 4)
		case 5:
			c.send(run, "addSlow", id, 1)
		default:
			c.look(run)
		}
	}
}

// send sends an update up to three times. It does not always wait for the answer.
func (c *crowd) send(run int, kind, id string, n int) {
	r := c.runs[run]
	input, _ := json.Marshal(n) // a number always encodes
	t := try{kind, r.id(id), n, mostOfRun}
	for range 1 + mathrand.IntN(3) {
		began := r.tick()
		err := c.call(func(ctx context.Context, s edge.Service) func() error {
			answer, err := s.Update(ctx, fmt.Sprint("w", run), "", kind, schema.UpdateRequest{UpdateID: id, Input: input, Timeout: timeout(2 * time.Second)})
			return func() error {
				if !r.answered(t, began, answer, err) {
					return errDied
				}
				return nil
			}
		})
		if errors.Is(err, errLeft) {
			r.note(t, began, said{what: "unknown"}, never)
		} else if err == nil {
			return
		}
	}
}

// look queries the sum.
func (c *crowd) look(run int) {
	r := c.runs[run]
	began := r.tick()
	_ = c.call(func(ctx context.Context, s edge.Service) func() error {
		answer, err := s.Query(ctx, fmt.Sprint("w", run), "", total.Name(), nil)
		return func() error {
			if err == nil {
				r.saw(began, answer.Result)
			}
			return err
		}
	}) // a query that failed, or that nobody waited for, has seen nothing
}

// errLeft is the error of a request whose client did not wait for the answer.
var errLeft = errors.New("the client has gone")

// call lets some process carry out a request. If the client is still there, it then calls the
// function that request returns. One client in ten leaves before the answer can arrive.
func (c *crowd) call(request func(ctx context.Context, s edge.Service) func() error) error {
	s, answered := c.any(), make(chan func() error, 1)
	c.pending.Go(func() { answered <- request(context.Background(), s) })
	if mathrand.IntN(10) == 0 {
		return errLeft
	}
	return (<-answered)()
}

// TestLinearizableOnDynamoDB records histories of updates and queries of runs, through several
// processes over a DynamoDB server whose network loses requests and answers. It makes the same
// demands as TestLinearizable.
func TestLinearizableOnDynamoDB(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for range 8 {
				newCrowd(t, server, 3, 3).check(5, seen)
			}
			t.Log(seen)
			for _, kind := range []string{"query done", "add done", "add rejected", "add unknown", "addSlow done", "answers lost"} {
				if seen[kind] == 0 {
					t.Errorf("no try was of the kind %q, so the test shows too little", kind)
				}
			}
		})
	}
}

// check runs this many clients, checks their records, and counts the kinds of requests.
func (c *crowd) check(clients int, seen map[string]int) {
	c.t.Helper()
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() { c.live(client) })
	}
	all.Wait()
	c.pending.Wait()
	for i, r := range c.runs {
		if !porcupine.CheckOperations(ledgerModel, lighter(r.history)) {
			c.t.Fatalf("the history of run %d is not linearizable:\n%s", i, r.text())
		}
		for _, op := range r.history {
			seen[op.Input.(try).kind+" "+op.Output.(said).what]++
		}
	}
	seen["answers lost"] += c.proxy.Counts()["PutItem"][faultproxy.LoseAnswer]
}

// TestLinearizableOnDynamoDBFinds breaks the protocol, so that a query is answered from stale
// memory, and demands that the test above finds that.
func TestLinearizableOnDynamoDBFinds(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	_, broken := staleQuery.sources(t, root)
	cmd := exec.Command("go", "test", "-tags", "aws", "-overlay", overlay(t, root, map[string]string{staleQuery.file: broken}), "./proof/sim", "-run", "TestLinearizableOnDynamoDB$", "-count=1")
	first, _, _ := strings.Cut(os.Getenv("WEFT_DYNAMODB"), ",") // one server is enough
	cmd.Dir, cmd.Env = root, append(os.Environ(), "WEFT_DYNAMODB="+first)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not linearizable") {
		t.Errorf("the test did not find the break (%v):\n%s", err, out)
	}
}
