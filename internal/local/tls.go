package local

import (
	"crypto/tls"
	"errors"
	"fmt"
)

// LoadTLS reads a certificate chain and its private key from files in PEM. It returns nil if
// neither is named, and an error that says what to do if they cannot be used.
func LoadTLS(cert, key string) (*tls.Config, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, errors.New("TLS needs two files: give both --tls-cert and --tls-key")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w: give a certificate chain and its private key in PEM", cert, key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}
