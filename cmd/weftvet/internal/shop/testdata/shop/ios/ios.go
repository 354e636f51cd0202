// Package ios has what the rule io finds, and what it does not.
package ios

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	child = workflow.NewWorkflow[int, int]("child")
	ping  = workflow.NewSignal[int]("ping")
)

func run(ctx workflow.Context, db *sql.DB, c *client.Client, h *http.Client, l *log.Logger) error {
	_ = os.Getenv("REGION")                         // want `workflow code calls os.Getenv: do it in an activity, whose result is recorded \[io\]`
	_, _ = os.ReadFile("/etc/hosts")                // want `calls os.ReadFile`
	_, _ = http.Get("http://x")                     // want `calls http.Get`
	_, _ = h.Get("http://x")                        // want `calls http.Client.Get`
	_ = http.DefaultClient                          // want `uses http.DefaultClient`
	_, _ = net.Dial("tcp", "x:1")                   // want `calls net.Dial`
	_ = exec.Command("ls").Run()                    // want `calls exec.Command` `calls exec.Cmd.Run`
	_, _ = db.Exec("")                              // want `calls sql.DB.Exec`
	_, _ = filepath.Abs(".")                        // want `calls filepath.Abs`
	fmt.Println("x")                                // want `calls fmt.Println: use workflow.Logger, which is silent on replay \[io\]`
	fmt.Fprintln(os.Stderr, "x")                    // want `uses os.Stderr`
	log.Print("x")                                  // want `calls log.Print`
	l.Print("x")                                    // want `calls log.Logger.Print`
	slog.Info("x")                                  // want `calls slog.Info`
	slog.Default().Info("x")                        // want `calls slog.Default`
	println("x")                                    // want `calls println`
	g := context.Background()                       // want `calls context.Background: what needs a context.Context is for an activity, which gets one \[io\]`
	_, err := child.Start(g, c, "1", 2)             // want `calls workflow.Type.Start, which talks to the server`
	if err := ping.Send(g, c, "1", 2); err != nil { // want `calls workflow.Signal.Send, which talks to the server`
		return err
	}
	_ = c.Cancel(g, "1", "", "") // want `calls client.Client.Cancel, which talks`
	return err
}

func fine(ctx workflow.Context, name sql.NullString) error {
	workflow.Logger(ctx).Info("x", "name", name.String)
	_ = net.JoinHostPort("a", "1") + http.StatusText(200) + filepath.Join("a", "b") + fmt.Sprint(net.ParseIP("::1"))
	_, _ = name.Value()
	err := fmt.Errorf("%w", os.ErrNotExist)
	if errors.Is(err, sql.ErrNoRows) || os.IsNotExist(err) {
		return nil
	}
	return err
}
