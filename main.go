package weft

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/precheck"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// Main runs the local server with these workflows and activities until it is interrupted. If the
// server cannot run, Main prints the reason and ends the process with status 1, or 2 if its command
// line is wrong. A flag or variable of Flags replaces the option of the same name. Several sets of
// options are merged: lists and maps are joined, and of any other field the last that is given
// counts. A function that two sets give panics.
//
// If Log is nil and the program has not set a default logger for slog, Main logs to standard error,
// from the level in WEFT_LOG_LEVEL on (debug, info, warn or error; info by default).
// WEFT_LOG_FORMAT is console for people, json, or text (key=value); by default, it is console on a
// terminal, and json elsewhere.
//
// The garbage collector runs when the heap has grown by 400 %, and more often above half of the
// memory of the machine or the container, unless GOGC or GOMEMLIMIT are set or the program has set
// others.
//
// With WEFT_CHECK=1 in the environment, Main serves weft check on standard input and output instead
// of a server, and ends the process.
func Main(r *Registry, sets ...Options) {
	if precheck.Wanted(os.Getenv) {
		os.Exit(precheck.Program{Types: r.types, Wrong: r.Err(), Build: local.BuildID()}.Main())
	}
	var f Flags
	kong.Parse(&f, kong.Description("Runs the workflows of this program: the HTTP API, the workers and the timers, in one process."),
		kong.Exit(func(code int) { os.Exit(min(code, usage)) }))
	local.TuneMemory(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serveWithLog(ctx, r, f.Over(options.Of(sets))); err != nil {
		fmt.Fprintln(os.Stderr, "weft:", err)
		os.Exit(1)
	}
}

// usage is the exit status of a command line that is wrong, as of the command weft.
const usage = 2

// serveWithLog is Serve with a logger of its own if neither the options nor the program have a
// logger.
func serveWithLog(ctx context.Context, r *Registry, o Options) (err error) {
	if o.Log == nil && isGoDefault(slog.Default()) {
		var failures string
		if o.Log, failures, err = local.Logger(os.Stderr, os.Getenv); err != nil {
			return err
		}
		o.LogFailures = cmp.Or(o.LogFailures, failures)
		slog.SetDefault(o.Log) // for what workflows and activities log
	}
	return Serve(ctx, r, o)
}

// isGoDefault reports whether a logger is slog's initial one.
func isGoDefault(log *slog.Logger) bool {
	return fmt.Sprintf("%T", log.Handler()) == "*slog.defaultHandler"
}

// How long an attempt may take on AWS: with the longest time-out that Lambda has, and with the
// default time-out of the templates. A function keeps five seconds for the result.
const (
	longestOnLambda  = 15*time.Minute - 5*time.Second
	longestByDefault = time.Minute - 5*time.Second
)

// longerByDefault returns the activity types that Lambda allows, but not with the default time-out
// of the templates.
func (r *Registry) longerByDefault() (types []string) {
	for _, a := range r.types.LongerThan(longestByDefault) {
		if a.StartToClose <= longestOnLambda {
			types = append(types, a.Name)
		}
	}
	return types
}

// Serve runs the local server until ctx ends, and then stops it cleanly. Open workflows continue
// when a server is started on the same directory again, also after a crash. Several sets of options
// are merged as in Main.
func Serve(ctx context.Context, r *Registry, sets ...Options) error {
	o := options.Of(sets)
	if err := r.Err(); err != nil {
		return err
	}
	defaults := settings.Defaults()
	o.Addr, o.Data = cmp.Or(o.Addr, defaults.Addr), cmp.Or(o.Data, defaults.Data)
	if o.Auth && o.NoAuth {
		return errors.New("the options Auth and NoAuth are both set: choose one")
	}
	if err := isolate.CheckLimits(o.Isolate); err != nil {
		return err
	}
	if _, err := o.webhooks(); err != nil {
		return err
	}
	if o.Greeting == nil {
		o.Greeting = r.greet
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	var keys codec.Keys
	if o.KeyFile != "" {
		var err error
		if keys, err = codec.ReadKeyFile(o.KeyFile); err != nil {
			return err
		}
	}
	if isolate.IsChild() { // its parent has checked the rest
		return o.serveChild(ctx, r, keys)
	}
	if err := local.CheckMemory(o.MemoryLimit, o.Log); err != nil {
		return err
	}
	pair, err := local.LoadTLS(o.TLSCert, o.TLSKey)
	if err != nil {
		return err
	}
	listener, err := local.Listen(o.Addr)
	if err != nil {
		return err
	}
	hub, stop, err := o.observe(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stop()
	server, err := local.OpenUntil(ctx, r.types, o.local(listener.Addr(), local.URL(listener.Addr(), pair != nil), keys, hub))
	if err != nil && ctx.Err() != nil {
		o.Log.Warn("the server was stopped while it opened the data directory", "reason", err.Error())
		return listener.Close()
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	o.warnOfNetwork(listener.Addr(), pair != nil, server)
	o.welcome(os.Stdout, listener.Addr(), pair != nil, server)
	r.warnOfLong(o.Log)
	if pair != nil {
		listener = tls.NewListener(listener, pair)
	}
	return errors.Join(server.Serve(ctx, listener), server.Close())
}

// warnOfLong logs which activities may take longer than Lambda functions allow.
func (r *Registry) warnOfLong(log *slog.Logger) {
	for _, a := range r.types.LongerThan(longestOnLambda) {
		log.Warn("an activity may take longer than any Lambda function: it runs here, and would be held on AWS; give it a shorter StartToClose, or complete it from outside (activity.ErrPending)",
			"activityType", a.Name, "startToClose", a.StartToClose, "allowed", longestOnLambda)
	}
	if types := r.longerByDefault(); len(types) > 0 {
		log.Info("these activities need a longer activity time-out than the templates' default: set ActivityTimeout (SAM) or activity_timeout (Terraform)",
			"activityTypes", types, "default", longestByDefault.String())
	}
}

// warnOfNetwork logs what is risky about a server that other machines can reach.
func (o *Options) warnOfNetwork(bound net.Addr, secure bool, server *local.Server) {
	file, token := server.Token()
	switch {
	case local.IsLoopback(bound):
	case file == "" && token == "":
		o.Log.Warn("other machines can reach the server, and it demands no token: whoever can reach it may do everything", "address", bound)
	case !secure:
		o.Log.Warn("other machines can reach the server, and the token and all payloads are sent in plain text: give --tls-cert and --tls-key, or put a proxy with TLS in front",
			"address", bound)
	}
}

// welcome prints what callers need, and the greeting.
func (o *Options) welcome(out io.Writer, bound net.Addr, secure bool, server *local.Server) {
	var greeting bytes.Buffer
	o.Greeting(&greeting, local.URL(bound, secure))
	first, rest, _ := strings.Cut(greeting.String(), "\n") // the first line says where the server is, and programs wait for it
	if first != "" {
		_, _ = fmt.Fprintln(out, first)
	}
	if !local.IsLoopback(bound) {
		_, _ = fmt.Fprintf(out, "The server listens at %s, so other machines can reach it.\n", bound)
	}
	if !o.NoPage {
		_, _ = fmt.Fprintf(out, "Its web page is at %s/.\n", local.URL(bound, secure))
	}
	demands := printToken(out, server)
	if demands && !o.NoPage {
		_, _ = fmt.Fprintln(out, "A browser asks for it: give any name, and the token as the password.")
	}
	if demands && !strings.Contains(rest, "Authorization") {
		rest = strings.ReplaceAll(rest, "curl ", `curl -H "Authorization: Bearer $WEFT_TOKEN" `)
	}
	_, _ = io.WriteString(out, rest)
}

// printToken prints the token if this server has just created it, or else the file that holds it.
// It reports whether there is a token. It never prints a token twice.
func printToken(out io.Writer, server *local.Server) bool {
	file, token := server.Token()
	switch {
	case token != "":
		_, _ = fmt.Fprintf(out, "Callers need this token, which is shown once and kept in %s:\n  export WEFT_TOKEN=%s\n", file, token)
	case file != "":
		_, _ = fmt.Fprintf(out, "Callers need the token in %s:\n  export WEFT_TOKEN=\"$(cat '%[1]s')\"\n", file)
	}
	return token != "" || file != ""
}

// serveChild serves as a child of a server with the same options.
func (o *Options) serveChild(ctx context.Context, r *Registry, keys codec.Keys) error {
	hub, stop, err := o.observe(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return local.OpenChild(r.types, o.local(nil, "", keys, hub))
}

// checkedLooks is how many tasks after each validator and query handler the server checks for a
// change of state. It is enough to find one while its author tries it, and too few to be noticed
// later.
const checkedLooks = 100

// exportTime is how long a stopping server waits for its last spans and metrics to be exported.
const exportTime = 5 * time.Second

// observe opens the telemetry, and returns the function that closes it. A failed last export is
// logged, and is no error of the server.
func (o *Options) observe(ctx context.Context) (hub *observe.Hub, stop func(), err error) {
	log := observe.Log(o.Log)
	if o.Telemetry == nil {
		return observe.New(log), func() {}, nil
	}
	t, err := o.Telemetry(ctx, observe.Settings{Namespace: "default", Service: filepath.Base(os.Args[0]), Metrics: true, Log: o.Log})
	if err != nil || t == nil {
		return observe.New(log), func() {}, err
	}
	return observe.New(log, t), func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportTime)
		defer cancel()
		if err := t.Close(limited); err != nil {
			o.Log.Warn("the last spans and metrics could not be exported", "error", err)
		}
	}, nil
}

// greet prints how to start the first of the registered workflows.
func (r *Registry) greet(out io.Writer, url string) {
	_, _ = fmt.Fprintf(out, "Weft is at %s. Stop it with Ctrl-C.\n", url)
	names := r.types.WorkflowNames()
	if len(names) == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, `
Start a workflow:
  curl -i %[1]s/v1/workflows -d '{"workflowId":"%[2]s-1","type":"%[2]s"}'
Wait for its result:
  curl -i '%[1]s/v1/workflows/%[2]s-1/result?wait=20s'
`, url, names[0])
}
