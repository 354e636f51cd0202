package main

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// slow sends each request after a pause.
type slow struct {
	client http.Client
	pause  time.Duration
}

func newSlow(pause time.Duration) *slow {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy, transport.MaxIdleConnsPerHost = nil, 128
	return &slow{http.Client{Transport: transport}, pause}
}

// Do implements aws.HTTPClient. The SDK closes a request's body while net/http may still read it, and loses that race with
// a server that is fast enough: net/http gets a copy.
func (s *slow) Do(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.pause):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	copied := r.Clone(r.Context())
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		copied.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.client.Do(copied)
}
