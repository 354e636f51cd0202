package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
)

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
