package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// asCommand is the environment variable that makes the test's binary the command weft. So the tests
// that need a process of its own link no other binary.
const asCommand = "WEFT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	if err := os.Setenv(asCommand, "1"); err != nil { // the children inherit it
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	removeBinary()
	os.Exit(status)
}

// An error begins with the name of the command, once.
func TestSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"weft: no answer: connection refused": "weft: no answer: connection refused",
		"Not found: there is no workflow":     "weft: Not found: there is no workflow",
	} {
		if got := said(errors.New(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An error of a certificate says how to make the command trust it.
func TestSaidOfCertificate(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("weft: no answer: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	if got := said(err); !strings.Contains(got, "unknown authority: ") || !strings.Contains(got, "SSL_CERT_FILE") {
		t.Errorf("%q does not say what to do", got)
	}
}
