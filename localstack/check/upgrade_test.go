//go:build deploycheck

package check

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/client/sigv4"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/workflow"
)

// The updates, the query and the signal of the shop of examples/deploy, as its package orders
// declares them. The second version adds how often.
type (
	order struct {
		Customer string `json:"customer"`
		Seconds  int    `json:"seconds"`
	}
	line struct {
		Thing    string `json:"thing"`
		Quantity int    `json:"quantity"`
		Cents    int    `json:"cents"`
	}
	receipt struct {
		Cents   int    `json:"cents"`
		Payment string `json:"payment"`
	}
)

var (
	orders = workflow.NewWorkflow[order, receipt]("order")
	add    = workflow.NewUpdate[line, int]("add")
	often  = workflow.NewUpdate[workflow.None, int]("often")
	pay    = workflow.NewSignal[string]("pay")
)

// The changes to orders.go. The second version has one more update, which open runs have to answer
// too. The bad one panics when an order is paid.
const (
	handles  = "\tAdd.Handle("
	counts   = "\ttimes := 0\n\tworkflow.NewUpdate[workflow.None, int](\"often\").Handle(ctx, func(workflow.Context, workflow.None) (int, error) { return times, nil })\n"
	adds     = "\t\tcents += "
	counting = "\t\ttimes++\n"
	names    = "workflow.Names(Add, Pay)"
	naming   = `workflow.Names(Add, Pay, workflow.NewUpdate[workflow.None, int]("often"))`
	paid     = "{ card = number }"
	panics   = `{ panic("bad code") }`
)

// TestUpgrade deploys other code while runs wait for an update, a signal and a timer: they continue
// with it. A run that is stuck because of bad code continues when fixed code is deployed.
func TestUpgrade(t *testing.T) {
	ctx, c := shop(t)
	s := source{t, filepath.Join(variable(t, "SHOP"), "orders", "orders.go")}
	updated, signaled, held := begin(ctx, t, c, "updated", 3600), begin(ctx, t, c, "signaled", 3600), begin(ctx, t, c, "held", 3600)
	timed := begin(ctx, t, c, "timed", longerThanADeployment(t))
	for _, id := range []string{"updated", "signaled", "held", "timed"} {
		if cents, err := add.Call(ctx, c, id, line{"tea", 1, 100}); err != nil || cents != 100 {
			t.Fatalf("%s: %d, %v", id, cents, err)
		}
	}
	if n, err := often.Call(ctx, c, "updated", workflow.None{}); err == nil {
		t.Fatalf("the first version answers an update of the second: %d", n)
	}

	s.replace(handles, counts+handles)
	s.replace(adds, counting+adds)
	s.replace(names, naming)
	deploy(ctx, t)
	if d, err := c.Describe(ctx, "timed", ""); err != nil || len(d.PendingTimers) != 1 {
		t.Fatalf("%+v, %v; want that the timer has yet to fire: the deployment took longer than that", d, err)
	}
	if cents, err := add.Call(ctx, c, "updated", line{"tea", 1, 50}); err != nil || cents != 150 {
		t.Errorf("an update of a run that the version before began: %d, %v; want 150", cents, err)
	}
	if n, err := often.Call(ctx, c, "updated", workflow.None{}); err != nil || n != 2 {
		t.Errorf("the update of the second version: %d, %v; want 2", n, err)
	}
	finish(ctx, t, c, "updated", updated, 150)
	finish(ctx, t, c, "signaled", signaled, 100)

	s.replace(paid, panics)
	deploy(ctx, t)
	if err := pay.Send(ctx, c, "held", "card"); err != nil {
		t.Fatal(err)
	}
	isHeld(ctx, t, c, "held")
	s.replace(panics, paid)
	deploy(ctx, t)
	closed(ctx, t, "held", held, receipt{100, "100 cents from card"})

	closed(ctx, t, "timed", timed, receipt{})
}

// longerThanADeployment returns a number of seconds in which a changed shop is deployed: twice
// those of the first deployment, which makes everything, because a machine may be busy with other
// work.
func longerThanADeployment(t *testing.T) int {
	t.Helper()
	const usually = 90
	first, err := strconv.Atoi(variable(t, "DEPLOYED_IN"))
	if err != nil {
		t.Fatal(err)
	}
	return max(usually, 2*first)
}

// finish pays an order.
func finish(ctx context.Context, t *testing.T, c *client.Client, id string, run workflow.Run[receipt], cents int) {
	t.Helper()
	if err := pay.Send(ctx, c, id, "card"); err != nil {
		t.Error(err)
	}
	closed(ctx, t, id, run, receipt{cents, strconv.Itoa(cents) + " cents from card"})
}

// closed waits for the end of a run.
func closed(ctx context.Context, t *testing.T, id string, run workflow.Run[receipt], want receipt) {
	t.Helper()
	if got, err := run.Result(ctx); err != nil || got != want {
		t.Errorf("%s: %+v, %v; want %+v", id, got, err, want)
	}
}

// isHeld waits until a task of the run has failed.
func isHeld(ctx context.Context, t *testing.T, c *client.Client, id string) {
	t.Helper()
	for tick := time.Tick(100 * time.Millisecond); ; {
		d, err := c.Describe(ctx, id, "")
		if err == nil && d.StuckTask != nil {
			if !strings.Contains(d.StuckTask.Failure.Message, "bad code") {
				t.Errorf("%s: its task fails for another reason: %+v", id, d.StuckTask.Failure)
			}
			return
		}
		if err == nil && d.ClosedAt != nil {
			t.Fatalf("%s has ended: the bad code was not deployed", id)
		}
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatalf("%s: %+v, %v; want a task that bad code holds up", id, d, err)
		}
	}
}

func begin(ctx context.Context, t *testing.T, c *client.Client, id string, seconds int) workflow.Run[receipt] {
	t.Helper()
	run, err := orders.Start(ctx, c, id, order{"ada", seconds})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// source is a file of the shop.
type source struct {
	t    *testing.T
	path string
}

// replace changes the file, so that the next deployment has other code.
func (s source) replace(old, changed string) {
	s.t.Helper()
	text, err := os.ReadFile(s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	if n := strings.Count(string(text), old); n != 1 {
		s.t.Fatalf("%s has %q %d times: this test needs it exactly once", s.path, old, n)
	}
	if err := os.WriteFile(s.path, []byte(strings.Replace(string(text), old, changed, 1)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// deploy deploys the shop as it is now.
func deploy(ctx context.Context, t *testing.T) {
	t.Helper()
	shell(ctx, t, variable(t, "DEPLOY"))
}

// shell runs a command in the shop's folder.
func shell(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	command := exec.CommandContext(ctx, "sh", "-c", text)
	command.Dir = variable(t, "SHOP")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// shop returns a client of the shop, and the context in which the test has to end.
func shop(t *testing.T) (context.Context, *client.Client) {
	t.Helper()
	end, limited := t.Deadline()
	if !limited {
		end = time.Now().Add(time.Hour)
	}
	const toReport = 10 * time.Second
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(-toReport))
	t.Cleanup(cancel)
	return ctx, client.New(variable(t, "SHOP_URL"), client.Options{HTTP: signing(ctx, t)})
}

// signing returns what sends signed requests to the shop. It compares them and their answers with
// the API's document.
func signing(ctx context.Context, t *testing.T) *http.Client {
	t.Helper()
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	signs, err := sigv4.New(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(variable(t, "SHOP_URL"))
	if err != nil {
		t.Fatal(err)
	}
	signs.Transport = apitest.Below(t, strings.TrimSuffix(address.Path, "/"), signs.Transport)
	return signs
}

// variable returns an environment variable that the check sets.
func variable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run make deploy-check", name)
	}
	return value
}
