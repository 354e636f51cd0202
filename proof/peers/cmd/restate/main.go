// Command restate measures a running Restate server with its Go SDK. It serves the handlers,
// registers them, and calls them through the ingress. run starts the server.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"
	"github.com/seed-41655fb1/weft/proof/peers/measure"
)

// steps is a workflow. Its run handler runs once for each id, and the result is kept for a day.
type steps struct{}

func (steps) ServiceName() string { return "Steps" }

func (steps) Run(ctx restate.WorkflowContext, n int) (sum int, err error) {
	for range n {
		got, err := restate.Run(ctx, func(restate.RunContext) (int, error) { return sum + 1, nil }, restate.WithName("step"))
		if err != nil {
			return 0, err
		}
		sum = got
	}
	return sum, nil
}

// cart is a virtual object. It handles one add at a time, and its state is durable.
type cart struct{}

func (cart) ServiceName() string { return "Cart" }

func (cart) Add(ctx restate.ObjectContext, q int) (int, error) {
	if q < 1 {
		return 0, restate.ToTerminalError(errors.New("quantity below 1"), restate.WithErrorCode(422))
	}
	total, err := restate.Get[int](ctx, "total")
	if err != nil {
		return 0, err
	}
	total += q
	restate.Set(ctx, "total", total)
	return total, nil
}

// peer calls through the ingress. Without a key, a repeated add may take effect twice.
type peer struct {
	c   *ingress.Client
	key bool
}

func (p peer) Run(ctx context.Context, id string, n int) (int, error) {
	return ingress.Workflow[int, int](p.c, "Steps", id, "Run").Request(ctx, n)
}

func (p peer) Open(context.Context, string) error { return nil } // an object always exists

func (p peer) Add(ctx context.Context, id string, q int) (int, bool, error) {
	var o []ingress.RequestOption
	if p.key {
		o = append(o, restate.WithIdempotencyKey(uuid.NewString()))
	}
	total, err := ingress.Object[int, int](p.c, "Cart", id, "Add").Request(ctx, q, o...)
	if err != nil && restate.IsTerminalError(err) {
		return 0, true, nil
	}
	return total, false, err
}

func main() {
	url := flag.String("ingress", "http://127.0.0.1:28081", "the server's ingress")
	admin := flag.String("admin", "http://127.0.0.1:28070", "the server's admin API")
	listen := flag.String("listen", "127.0.0.1:28090", "the address of the handlers")
	flag.Parse()
	quiet := slog.NewTextHandler(io.Discard, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		s := server.NewRestate().WithLogger(quiet, true).Bind(restate.Reflect(steps{})).Bind(restate.Reflect(cart{}))
		if err := s.Start(ctx, *listen); err != nil && ctx.Err() == nil {
			panic(err)
		}
	}()
	must(register(*admin, *listen))
	client := func(perHost int) *ingress.Client {
		return ingress.NewClient(*url, ingress.WithHttpClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: perHost}}))
	}
	measure.Main("restate", peer{client(128), true}, measure.Options{Extra: func(ctx context.Context, r *measure.Report) error {
		rate, _, err := r.Hot(ctx, 64, peer{client(128), false}, 0)
		if err != nil {
			return err
		}
		r.Put("hot_64_no_key_per_s", rate)
		rate, _, err = r.Hot(ctx, 64, peer{ingress.NewClient(*url), true}, 0)
		r.Put("hot_64_default_transport_per_s", rate)
		return err
	}})
}

// register sends the server the address of the handlers once they listen.
func register(admin, listen string) error {
	for range 200 {
		c, err := net.Dial("tcp", listen)
		if err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	r, err := http.Post(admin+"/deployments", "application/json", bytes.NewBufferString(fmt.Sprintf(`{"uri":"http://%s","force":true}`, listen)))
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= 300 {
		err = fmt.Errorf("register: %s: %s", r.Status, b)
	}
	return err
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
