package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/proof/measured"
)

func TestCodeOf(t *testing.T) {
	t.Parallel()
	broken := &failure.Failure{Kind: failure.KindApplication, Type: "broken", Message: "it is broken"}
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, Done},
		{errors.New("a file cannot be written"), Other},
		{&kong.ParseError{}, Usage},
		{Errorf(Usage, "wrong"), Usage},
		{fmt.Errorf("wrapped: %w", Errorf(NotFound, "none")), NotFound},
		{With(TimedOut, Errorf(Usage, "wrong")), TimedOut},
		{&client.Rejected{Failure: broken}, Refused},
		{&client.Rejected{}, Refused},
		{broken.Err(), Failed},
		{fmt.Errorf("the run: %w", broken.Err()), Failed},
		{(&failure.Failure{Kind: failure.KindTimeout, Message: "it took too long"}).Err(), Failed},
		{(&failure.Failure{Kind: failure.KindCanceled}).Err(), Failed},
		{(&failure.Failure{Kind: failure.KindPanic, Message: "it panicked"}).Err(), Failed},
		{(&failure.Failure{Kind: failure.KindActivity, Cause: broken}).Err(), Failed},
		{(&failure.Failure{Kind: failure.KindChild, Cause: broken}).Err(), Failed},
		{(&failure.Failure{Kind: failure.KindTerminated}).Err(), Failed},
		{failure.ErrNotFound, Failed}, // of a run; a refusal is a problem
		{problem.Of(refusal.Invalid.New("wrong")), Refused},
		{problem.Of(refusal.AlreadyOpen.New("open")), Refused},
		{problem.Of(refusal.NotReady.New("its code fails").With(broken)), Refused},
		{problem.Of(refusal.UpdatesInFlight.New("many")), Refused},
		{problem.Of(refusal.NotFound.New("none")), NotFound},
		{problem.Of(refusal.QueryFailed.New("it fails").With(broken)), Failed},
		{problem.Of(refusal.Unauthorized.New("no token")), Unreachable},
		{problem.Of(refusal.Forbidden.New("no page")), Unreachable},
		{problem.Of(refusal.Busy.New("busy")), Unreachable},
		{problem.Of(refusal.Internal.New("a defect")), Unreachable},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
	if With(Failed, nil) != nil {
		t.Error("no error has a code")
	}
}

// An error begins with the name of the command, once, and cannot control the terminal.
func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"weft: no answer: connection refused": "weft: no answer: connection refused",
		"Not found: there is no workflow":     "weft: Not found: there is no workflow",
		"it says \x1b[31mred\nand more":       `weft: it says \x1b[31mred\nand more`,
	} {
		if got := Text(errors.New(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A run that has closed was found, and one that is open is said to be open once.
func TestTextOfRefusals(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`weft: run "1" of workflow "o" has closed already: it is terminated`: problem.Of(refusal.NotFound.New(`run "1" of workflow "o" has closed already: it is terminated`)),
		`weft: run "1" of workflow "o" is open: terminate it`:                problem.Of(refusal.AlreadyOpen.New(`run "1" of workflow "o" is open: terminate it`)),
		`weft: Not found: there is no workflow "o"`:                          problem.Of(refusal.NotFound.New(`there is no workflow "o"`)),
	} {
		if got := Text(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An error of a certificate says how to make the command trust it.
func TestTextOfCertificate(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("weft: no answer: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	if got := Text(err); !strings.Contains(got, "unknown authority: ") || !strings.Contains(got, "SSL_CERT_FILE") {
		t.Errorf("%q does not say what to do", got)
	}
}

// docs/cli.md has the exit codes.
func TestDocument(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/cli.md", "<!-- exit codes: go test ./internal/cli -run TestDocument -rewrite -->\n", "<!-- end of the exit codes -->\n"
	table := "| code | meaning |\n|---|---|\n"
	for _, c := range Codes {
		table += fmt.Sprintf("| %d | %s |\n", c.Code, c.Meaning)
	}
	section, err := measured.ReadSection(path, begin, end)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := section.Replace(table); err != nil {
			t.Fatal(err)
		}
	} else if section.Text != table {
		t.Errorf("%s has\n%swant\n%s", path, section.Text, table)
	}
}
