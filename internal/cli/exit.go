package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/problem"
)

// Code is the exit status of the command. Scripts rely on it: a code keeps its meaning.
type Code int

// The exit codes.
const (
	Done        Code = 0
	Other       Code = 1
	Usage       Code = 2
	Refused     Code = 3
	NotFound    Code = 4
	Failed      Code = 5
	Unreachable Code = 6
	TimedOut    Code = 7
	Interrupted Code = 130
)

// Codes lists the exit codes with their meaning. docs/cli.md is written from it.
var Codes = []struct {
	Code
	Meaning string
}{
	{Done, "The command has done what it says."},
	{Other, "Something else went wrong, as a file that cannot be written; a check that found something."},
	{Usage, "The command line, its input or a profile is wrong. Nothing was sent."},
	{Refused, "The deployment refused the request: an update that its validator rejects, an id that is taken, an invalid request. It did nothing."},
	{NotFound, "There is no such workflow, run, update, query, schedule, batch or stack, or the run has closed."},
	{Failed, "The command waited for a run, an update, a query or a batch, and it failed."},
	{Unreachable, "The deployment did not answer, did not let the command in (401, 403), or could not serve it (5xx). Or what answered is not Weft, or there are no AWS credentials."},
	{TimedOut, "The time of `--timeout` was over. The error says what the command waited for."},
	{Interrupted, "The command was interrupted (Ctrl-C)."},
}

// coded is an error that has its exit code.
type coded struct {
	code Code
	err  error
}

// Error returns the text of the error.
func (c *coded) Error() string { return c.err.Error() }

// Unwrap returns the error.
func (c *coded) Unwrap() error { return c.err }

// With returns err with an exit code, which replaces one that it has. It returns nil for nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &coded{code, err}
}

// Errorf returns an error with an exit code.
func Errorf(code Code, format string, args ...any) error {
	return &coded{code, fmt.Errorf(format, args...)}
}

// CodeOf returns the exit code of an error.
func CodeOf(err error) Code {
	var c *coded
	var parse *kong.ParseError
	var p *client.Problem
	switch {
	case err == nil:
		return Done
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &parse):
		return Usage
	case errors.Is(err, client.ErrRejected):
		return Refused
	case isForeign(err):
		return Unreachable
	case errors.As(err, &p):
		return ofProblem(p)
	case ofCode(err): // of a run or an update: other failures are in problems
		return Failed
	}
	return Other
}

// ofCode reports whether an error is the failure of a run or an update.
func ofCode(err error) bool {
	is := func(target any) bool { return errors.As(err, target) }
	return is(new(*failure.Error)) || is(new(*failure.TimeoutError)) || is(new(*failure.CanceledError)) || is(new(*failure.PanicError)) ||
		is(new(*failure.ActivityError)) || is(new(*failure.ChildWorkflowError)) || is(new(*failure.OtherError))
}

// isForeign reports whether what has answered is not Weft.
func isForeign(err error) bool {
	_, foreign := problem.NotWeft(err)
	return foreign
}

// ofProblem returns the exit code of a refusal of Weft.
func ofProblem(p *client.Problem) Code {
	switch {
	case errors.Is(p, client.ErrQueryFailed):
		return Failed
	case problem.WrongPath(p):
		return Unreachable
	case p.Status == http.StatusNotFound:
		return NotFound
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Status >= http.StatusInternalServerError:
		return Unreachable
	}
	return Refused
}

// said reports whether the detail of a refusal says all that its title does: a run that has closed
// was found, and one that is open need not be said to be open twice.
func said(p *client.Problem) bool {
	return p.Status == http.StatusNotFound && strings.Contains(p.Detail, " has closed already") || errors.Is(p, client.ErrAlreadyStarted) && strings.Contains(p.Detail, " is open")
}

// Text returns an error as the command prints it. It begins with the command's name, once: the
// client's errors have it already.
func Text(err error) string {
	text := err.Error()
	if p := (*client.Problem)(nil); errors.As(err, &p) && p.Detail != "" {
		text = strings.Replace(text, p.Detail, Flags(p.Detail), 1)
		if said(p) {
			text = strings.Replace(text, p.Title+": ", "", 1)
		}
	}
	text = "weft: " + Clean(strings.TrimPrefix(text, "weft: "))
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		text += ": use an address that the certificate names; if the certificate is your own, set SSL_CERT_FILE to its file"
	}
	return text
}
