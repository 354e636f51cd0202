package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/seed-41655fb1/weft"
)

// demo plays the cart through.
type demo struct{}

// step is one request of the demo.
type step struct {
	title  string
	method string
	path   string
	body   string
}

var steps = []step{
	{"Start a cart. One write is the start and its first task, in one conditional put; the other keeps the timer that reminds in a day.", http.MethodPost, "/v1/workflows", `{"workflowId":"cart-42","type":"cart","input":{"owner":"ada"}}`},
	{"An update that its validator refuses: nothing is written, and no message is sent.", http.MethodPost, "/v1/workflows/cart-42/updates/addItem", `{"input":{"sku":"tea","quantity":100}}`},
	{"An update that is accepted: one write, and the total comes back.", http.MethodPost, "/v1/workflows/cart-42/updates/addItem", `{"input":{"sku":"tea","quantity":2}}`},
	{"A signal: one write, no answer but that it is durable.", http.MethodPost, "/v1/workflows/cart-42/signals/note", `{"input":"as a present, please"}`},
	{"A query: nothing is written.", http.MethodPost, "/v1/workflows/cart-42/queries/cart", `{}`},
	{"Checkout: an update whose handler runs three activities. What is counted here is what this request cost: accepting the update, sending the first activity, and waiting. Each activity costs one write more.", http.MethodPost, "/v1/workflows/cart-42/updates/checkout", `{}`},
	{"The result of the workflow.", http.MethodGet, "/v1/workflows/cart-42/result?wait=20s", ""},
	{"Its history.", http.MethodGet, "/v1/workflows/cart-42/history", ""},
}

// Run plays the demo on a server of its own, in a directory that is removed again.
func (demo) Run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "weft-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, stop := context.WithCancel(ctx)
	ready, served := make(chan string, 1), make(chan error, 1)
	go func() {
		served <- weft.Serve(ctx, registry(), weft.Options{Addr: "127.0.0.1:0", Data: dir, Greeting: func(_ io.Writer, url string) { ready <- url }})
	}()
	select {
	case url := <-ready:
		err = play(ctx, url)
		stop()
		return errors.Join(err, <-served)
	case err := <-served:
		stop()
		return err
	}
}

// play makes the requests, and shows what was sent, what came back and what it cost.
func play(ctx context.Context, url string) error {
	for i, s := range steps {
		req, err := http.NewRequestWithContext(ctx, s.method, url+s.path, strings.NewReader(s.body))
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		fmt.Printf("%d. %s\n\n   > %s %s\n", i+1, s.title, s.method, s.path)
		if s.body != "" {
			fmt.Printf("   > %s\n", s.body)
		}
		fmt.Printf("   < %s\n   < Weft-Cost: %s\n%s\n", resp.Status, resp.Header.Get("Weft-Cost"), printable(body))
		if resp.StatusCode >= http.StatusInternalServerError {
			return fmt.Errorf("step %d was answered %s", i+1, resp.Status)
		}
	}
	return nil
}

// printable returns a body as the demo prints it: a history with a line for each event, anything
// else unchanged.
func printable(body []byte) string {
	var history struct {
		Events []struct {
			ID         int
			Type       string
			Attributes json.RawMessage
		}
	}
	var out strings.Builder
	if json.Unmarshal(body, &history) == nil && len(history.Events) > 0 {
		for _, e := range history.Events {
			fmt.Fprintf(&out, "   < %3d %s %s\n", e.ID, e.Type, e.Attributes)
		}
		return out.String()
	}
	fmt.Fprintf(&out, "   < %s\n", bytes.TrimSpace(body))
	return out.String()
}
