package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// hints is a log that passes on the commands of its records.
type hints chan string

// Write passes on the command of a record.
func (h hints) Write(p []byte) (int, error) {
	var record struct{ See string }
	if err := json.Unmarshal(p, &record); err != nil {
		return 0, err
	}
	if record.See != "" {
		select {
		case h <- record.See:
		default: // the test has one
		}
	}
	return len(p), nil
}

// What a command says to go on with is for the same deployment.
func TestHintsNameTheDeployment(t *testing.T) {
	t.Parallel()
	api := work(t, "", steered(&atomic.Bool{})...)
	flag := " --url " + api
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"start", "cart", "--id=c", "-d", `{"owner":"ada"}`}, "Started c"},
		{[]string{"pause", "c"}, "weft resume" + flag + " c lets it continue."},
		{[]string{"resume", "c"}, "c continues."},
		{[]string{"move", "c"}, "weft move --unpin" + flag + " c undoes it."},
		{[]string{"batch", "start", "pause", "WorkflowType = 'order'", "--id=b"}, "weft batch watch" + flag + " b shows how far it is."},
		{[]string{"update", "c", "addItem", "-d", `{"sku":"tea","quantity":1}`, "--id=u", "--no-wait"}, "weft update wait" + flag + " c u waits for its result."},
		{[]string{"schedule", "pause", "none"}, "weft schedule list" + flag + " has those that there are"},
	} {
		if _, out, errs := exits(t, append(c.args, "--url="+api)...); !strings.Contains(out+errs, c.want) {
			t.Errorf("weft %q: %s%s\nwant %s", c.args, out, errs, c.want)
		}
	}
}

// The command that the log of a local server has for a failed attempt works when it is pasted, also
// if the server is at another address than usual and demands a token.
func TestCommandOfTheLog(t *testing.T) {
	t.Parallel()
	binary := binaryOf(t)
	see, ready, ended := make(hints, 1), make(chan string, 1), make(chan error, 1)
	dir := filepath.Join(t.TempDir(), "it's data")
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- weft.Serve(ctx, weft.Register(steered(&atomic.Bool{})...), weft.Options{
			Addr: "127.0.0.1:0", Data: dir, Auth: true, Greeting: func(_ io.Writer, url string) { ready <- url },
			Log: slog.New(slog.NewJSONHandler(see, nil)),
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	var url string
	select {
	case url = <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	remote := cli.Remote{URL: url, TokenFile: filepath.Join(dir, "token")}
	d, err := remote.Open(t.Context(), cli.Process())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := order.Start(t.Context(), client.New(url, client.Options{HTTP: d.HTTP()}), "order-7", 1); err != nil {
		t.Fatal(err)
	}
	command := <-see
	shell := exec.Command("sh", "-c", strings.Replace(command, "weft ", `"$WEFT" `, 1)+" -o jsonl")
	shell.Env = append(os.Environ(), "WEFT="+binary, "WEFT_URL=", "WEFT_TOKEN=", "HOME="+t.TempDir())
	if out, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(out), `"workflowId":"order-7"`) {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}
