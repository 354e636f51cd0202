package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/freeport"
	"github.com/seed-41655fb1/weft/workflow"
)

// dial returns a client of the server at this address. The client compares each answer with the
// OpenAPI document.
func dial(t *testing.T, addr string) *client.Client {
	t.Helper()
	return client.New("http://"+addr, client.Options{HTTP: &http.Client{Transport: apitest.Transport(t, nil)}})
}

// server is a running binary.
type server struct {
	cmd    *exec.Cmd
	exited chan error
	stderr *strings.Builder
}

// launch starts the binary and waits until it prints that it is ready.
func launch(t *testing.T, binary, addr, dir string) *server {
	t.Helper()
	s := &server{cmd: exec.Command(binary, "dev", "--addr", addr, "--data", dir), exited: make(chan error, 1), stderr: &strings.Builder{}}
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		s.exited <- s.cmd.Wait()
	}()
	if err != nil || !strings.Contains(line, addr) {
		t.Fatalf("the server said %q, and ended with %v:\n%s", line, <-s.exited, s.stderr)
	}
	return s
}

// complaints returns what the server wrote to its log, without the line about the examples' long
// activities. Call it only after the server has exited.
func (s *server) complaints() string {
	var lines []string
	for line := range strings.Lines(s.stderr.String()) {
		if !strings.Contains(line, `"level":"INFO"`) || !strings.Contains(line, "ActivityTimeout (SAM)") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// kill ends the process as kill -9 does.
func (s *server) kill(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
}

// tally counts acknowledgements.
type tally struct {
	mu   sync.Mutex
	more *sync.Cond
	n    int64
}

func newTally() *tally {
	c := &tally{}
	c.more = sync.NewCond(&c.mu)
	return c
}

func (c *tally) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.more.Broadcast()
}

// await returns how many there are when there are n. The shoppers make progress, or the test
// binary's own time-out ends the test.
func (c *tally) await(n int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.n < n {
		c.more.Wait()
	}
	return c.n
}

// shopper fills carts and checks them out, and remembers what was acknowledged.
type shopper struct {
	t     *testing.T
	c     *client.Client
	id    string
	acked *tally
	// items has the items of acknowledged updates, by update id. asked has those of all updates
	// that were sent.
	items, asked map[string]int
	notes        int
}

// shop plays the life of one cart. It repeats each request until the server answers, because the
// server is killed again and again.
func (s *shopper) shop(ctx context.Context, random *rand.Rand) error {
	if _, err := cart.Workflow.Start(ctx, s.c, s.id, cart.Start{Owner: "ada"}, workflow.StartOptions{RequestID: "start-" + s.id}); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	s.acked.add()
	for i := range 3 + random.IntN(8) {
		id, n := fmt.Sprint("add-", i), 1+random.IntN(5)
		if random.IntN(4) == 0 {
			if err := cart.Note.Send(ctx, s.c, s.id, "a note"); err != nil {
				return fmt.Errorf("note: %w", err)
			}
			s.notes++
			s.acked.add()
			continue
		}
		s.asked[id] = n
		if _, err := cart.AddItem.Call(ctx, s.c, s.id, cart.Item{SKU: "tea", Quantity: n}, workflow.CallOptions{ID: id}); err != nil {
			return fmt.Errorf("add: %w", err)
		}
		s.items[id] = n
		s.acked.add()
	}
	if len(s.items) == 0 {
		return nil
	}
	_, err := cart.Checkout.Send(ctx, s.c, s.id, workflow.None{}, workflow.CallOptions{ID: "checkout"})
	s.acked.add()
	return err
}

// check compares a cart with what was acknowledged.
func (s *shopper) check(ctx context.Context, address string) error {
	sum := 0
	for _, n := range s.items {
		sum += n
	}
	if len(s.items) == 0 {
		contents, err := cart.Contents.Ask(ctx, s.c, s.id, workflow.None{})
		if err == nil && len(contents.Notes) != s.notes {
			err = fmt.Errorf("%d notes, want %d", len(contents.Notes), s.notes)
		}
		return err
	}
	receipt, err := s.result(ctx)
	if err != nil {
		return err
	}
	if receipt.Items != sum || receipt.Parcel == "" {
		return fmt.Errorf("receipt %+v, want %d items", receipt, sum)
	}
	return s.checkHistory(address)
}

// result waits for a cart's receipt. It returns an error if an activity of the cart is held.
func (s *shopper) result(ctx context.Context) (cart.Receipt, error) {
	for {
		some, cancel := context.WithTimeout(ctx, time.Second)
		receipt, err := cart.Workflow.Get(s.c, s.id).Result(some)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return receipt, err
		}
		found, err := s.c.Describe(ctx, s.id, "")
		if err != nil {
			return receipt, err
		}
		for _, a := range found.PendingActivities {
			if a.Held != "" {
				return receipt, fmt.Errorf("%s is held: %s", a.Type, a.Held)
			}
		}
	}
}

// checkHistory returns an error unless event ids are contiguous, each update was accepted once, and
// each activity was resolved once.
func (s *shopper) checkHistory(address string) error {
	resp, err := http.Get("http://" + address + "/v1/workflows/" + s.id + "/history")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var history struct {
		Events []struct {
			ID         int64
			Type       string
			Attributes struct {
				UpdateID         string `json:"updateId"`
				ScheduledEventID int64  `json:"scheduledEventId"`
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&history); err != nil {
		return err
	}
	seen := map[string]int{}
	for i, e := range history.Events {
		if e.ID != int64(i+1) {
			return fmt.Errorf("event %d has id %d", i+1, e.ID)
		}
		seen[fmt.Sprint(e.Type, " ", e.Attributes.UpdateID, e.Attributes.ScheduledEventID)]++
	}
	for id := range s.items {
		if n := seen["WorkflowExecutionUpdateAccepted "+id+"0"]; n != 1 {
			return fmt.Errorf("update %s was accepted %d times", id, n)
		}
	}
	for what, n := range seen {
		if n != 1 && strings.HasPrefix(what, "ActivityTaskCompleted") {
			return fmt.Errorf("%s happened %d times", what, n)
		}
	}
	return nil
}

// otherBuild returns a copy of the program that is another build: its file is longer by a byte, and
// a build is a hash of it (local.BuildID).
func otherBuild(t *testing.T, binary string) string {
	t.Helper()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "weft")
	if err := os.WriteFile(other, append(program, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	return other
}

// TestNothingIsLost loads the real binary, kills it with -9 again and again, and checks that all
// acknowledged changes are there.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	const shoppers, deaths = 60, 12
	binary, addr, dir := binaryOf(t), freeport.ForTest(t), filepath.Join(t.TempDir(), "data")
	s := launch(t, binary, addr, dir)
	// A client whose context has a deadline repeats a request until then, however long a server
	// takes to start on a busy machine.
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	c := dial(t, addr)
	acked := newTally()
	var all []*shopper
	var shopping sync.WaitGroup
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range shoppers {
		one := &shopper{t: t, c: c, id: fmt.Sprint("cart-", i), acked: acked, items: map[string]int{}, asked: map[string]int{}}
		all = append(all, one)
		shopping.Go(func() {
			if err := one.shop(ctx, rand.New(rand.NewPCG(seed, uint64(i)))); err != nil {
				t.Errorf("%s: %v", one.id, err)
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, 1<<32))
	for death := range deaths {
		for n, goal := int64(0), int64(death+1)*30+random.Int64N(30); n < goal; n = acked.await(n + 1) {
			if _, err := cart.Contents.Ask(ctx, c, "cart-0", workflow.None{}); err != nil && !errors.Is(err, client.ErrNotFound) {
				t.Fatal(err)
			}
		}
		s.kill(t)
		// Code that ran at three deaths is parked for its build. With this many carts that happens
		// to one now and then, so there is another build after two deaths.
		if death%2 == 1 {
			binary = otherBuild(t, binary)
		}
		s = launch(t, binary, addr, dir)
	}
	shopping.Wait()
	if t.Failed() {
		t.FailNow() // a cart that nobody checks out has no result
	}
	s.kill(t)
	s = launch(t, binary, addr, dir)
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-s.exited; err != nil {
		t.Errorf("Ctrl-C: %v\n%s", err, s.stderr)
	}
	serveLater(t, addr, dir)
	for _, one := range all {
		if err := one.check(ctx, addr); err != nil {
			t.Errorf("%s: %v", one.id, err)
		}
	}
	t.Logf("%d acknowledgements, %d deaths", acked.n, deaths+1)
}

// serveLater serves a data directory in this process until the test ends, two minutes later by its
// clock. The messages of attempts that died with their processes are redelivered at once: their
// leases are over.
func serveLater(t *testing.T, addr, dir string) {
	t.Helper()
	server, err := local.Open(types(t), local.Options{
		Dir: dir, Clock: func() time.Time { return time.Now().Add(2 * time.Minute) }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := local.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, server.Close()); err != nil {
			t.Error(err)
		}
	})
}
