package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/proof/freeport"
)

// types returns a registry with the carts and the ticket shows.
func types(t *testing.T) *engine.Registry {
	t.Helper()
	var types engine.Registry
	for _, r := range append(tickets.Registrations(), cart.Registrations()...) {
		if err := bridge.Register(&types, r); err != nil {
			t.Fatal(err)
		}
	}
	return &types
}

// serveDir serves a data directory until end is called. Nobody handles its messages.
func serveDir(t *testing.T, dir string) (url string, end func()) {
	t.Helper()
	server, err := local.Open(types(t), local.Options{Dir: dir, LargePayloads: true})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(server.Handler())
	return api.URL, func() {
		t.Helper()
		api.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// carts starts n carts, each with one item.
func carts(t *testing.T, url string, n int) {
	t.Helper()
	c := client.New(url)
	for i := range n {
		id := fmt.Sprint("cart-", i)
		if _, err := cart.Workflow.Start(t.Context(), c, id, cart.Start{Owner: "ada"}); err != nil {
			t.Fatal(err)
		}
		if _, err := cart.AddItem.Call(t.Context(), c, id, cart.Item{SKU: "tea", Quantity: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

// A sound directory has no findings. The check refuses a directory that a server holds. A directory
// that does not exist is not created.
func TestCheckOfASoundDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	url, end := serveDir(t, dir)
	carts(t, url, 5)
	if _, err := command(t, "check --data="+dir); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a check of a directory in use: %v", err)
	}
	end()
	for range 2 { // a check changes nothing
		out, err := command(t, "check --data="+dir)
		if err != nil || !strings.HasPrefix(out, "5 runs, ") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for _, line := range []string{"check --data=" + none, "terminate cart-1 --data=" + none} {
		if _, err := command(t, line); err == nil || !strings.Contains(err.Error(), "no data directory") {
			t.Errorf("weft %s: %v", line, err)
		}
	}
	if _, err := os.Stat(none); !os.IsNotExist(err) {
		t.Errorf("the directory was created: %v", err)
	}
	format := filepath.Join(dir, "weft.db")
	if err := os.Remove(format); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, "check --data="+dir); err == nil || !strings.Contains(err.Error(), "weft.db is missing") || !strings.Contains(err.Error(), "makes the file anew") {
		t.Errorf("a check without weft.db: %v", err)
	}
	if err := os.WriteFile(format, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := local.Open(types(t), local.Options{Dir: dir})
	if _, checked := command(t, "check --data="+dir); err == nil || checked == nil || !strings.Contains(err.Error(), "restore a backup") || !strings.Contains(checked.Error(), "restore a backup") {
		t.Errorf("an unreadable weft.db: %v\n%v", err, checked)
	}
	if err := os.Remove(format); err != nil {
		t.Fatal(err)
	}
	_, end = serveDir(t, dir) // the server creates weft.db again
	end()
	if out, err := command(t, "check --data="+dir); err != nil || !strings.HasPrefix(out, "5 runs, ") || !strings.HasSuffix(out, "No damage was found.\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// flip changes a bit of each occurrence of a text in the files of a directory.
func flip(t *testing.T, dir, text string) {
	t.Helper()
	flipped := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for at, n := 0, bytes.Count(data, []byte(text)); n > 0; n-- {
			at += bytes.Index(data[at:], []byte(text))
			data[at+len(text)/2] ^= 1
			at += len(text)
			flipped++
		}
		if err != nil || flipped == 0 {
			return err
		}
		return os.WriteFile(path, data, 0o600)
	})
	if err != nil || flipped == 0 {
		t.Fatalf("%d places were changed: %v", flipped, err)
	}
}

// A damaged run is reported with its workflow and its run id, also if the damage is in the log.
// Other runs are not reported.
func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	binary, addr, dir := binaryOf(t), freeport.ForTest(t), filepath.Join(t.TempDir(), "data")
	s := launch(t, binary, addr, dir)
	const owner = "a-name-that-stands-in-one-run"
	c := dial(t, addr)
	run, err := cart.Workflow.Start(t.Context(), c, "damaged", cart.Start{Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	carts(t, "http://"+addr, 3)
	s.kill(t) // now everything is in the log
	flip(t, dir, owner)
	out, err := command(t, "check --data="+dir)
	if err == nil || !strings.Contains(err.Error(), "findings") || !strings.Contains(out, fmt.Sprintf("workflow %q, run %s, commit 1: ", "damaged", run.RunID)) {
		t.Errorf("%v\n%s\nwant a finding of the damaged run %s", err, out, run.RunID)
	}
	if strings.Contains(out, "cart-") {
		t.Errorf("runs without damage are reported:\n%s", out)
	}
	refuses(t, binary, "findings in", "check", "--data", dir)
}

// A run that was terminated while no server ran is closed when a server starts.
func TestTerminateOffline(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	url, end := serveDir(t, dir)
	carts(t, url, 2)
	if _, err := command(t, "terminate cart-1 --data="+dir); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("terminate in a directory in use: %v", err)
	}
	end()
	if _, err := command(t, "terminate cart-9 --data="+dir); err == nil || !strings.Contains(err.Error(), "cart-9") {
		t.Errorf("terminate of an unknown workflow: %v", err)
	}
	records := map[string]string{
		"crash.suspects": `{"build":"b1","suspects":[{"kind":1,"workflowId":"cart-0","runId":"1-1111111111111111","deaths":3},{"kind":1,"workflowId":"cart-1","runId":"1-1111111111111111","deaths":3}]}`,
		"suspects.json":  `{"version":1,"build":"b1","workflows":[{"workflowId":"cart-0","halfDeaths":6},{"workflowId":"cart-1","halfDeaths":6}]}`,
	}
	for name, body := range records {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := command(t, "terminate cart-1 --reason=poison --data="+dir); err != nil || !strings.Contains(out, "cart-1 is terminated") {
		t.Fatalf("%v\n%s", err, out)
	}
	for name := range records {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if text := string(body); err != nil || !strings.Contains(text, `"b1"`) || !strings.Contains(text, "cart-0") || strings.Contains(text, "cart-1") {
			t.Errorf("%s is %s, %v; want it without cart-1 only", name, body, err)
		}
	}
	if out, err := command(t, "check --data="+dir); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	url, end = serveDir(t, dir)
	defer end()
	for id, want := range map[string]string{"cart-0": "running", "cart-1": "terminated"} {
		d, err := client.New(url).Describe(t.Context(), id, "")
		if err != nil || fmt.Sprint(d.Status) != want {
			t.Errorf("%s is %v, %v; want %s", id, d.Status, err, want)
		}
	}
	out, err := command(t, "history cart-1 --url="+url)
	if err != nil || !strings.Contains(out, "WorkflowExecutionTerminated") || !strings.Contains(out, "poison") {
		t.Errorf("%v\n%s", err, out)
	}
}
