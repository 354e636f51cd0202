package main

import (
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// slow sends each request after a pause.
type slow struct {
	client aws.HTTPClient
	pause  time.Duration
}

// Do implements aws.HTTPClient.
func (s *slow) Do(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.pause):
		return s.client.Do(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
