package main

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// played plays KMS and S3, because no server for them runs here. Their cost is the number of
// requests.
type played struct {
	pause time.Duration // the pause before each answer

	mu      sync.Mutex
	keys    map[string][]byte // data keys, by their wrapped form
	objects map[string][]byte
}

func newPlayed(pause time.Duration) *played {
	return &played{pause: pause, keys: map[string][]byte{}, objects: map[string][]byte{}}
}

// wrappedBytes is the length of a wrapped data key of KMS.
const wrappedBytes = 184

// Do implements aws.HTTPClient.
func (p *played) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	select {
	case <-time.After(p.pause):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	status, answer := p.answer(r, body)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(answer))), Request: r}, nil
}

func (p *played) answer(r *http.Request, body []byte) (status int, answer []byte) {
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "GenerateDataKey":
		made := dataKey{Plaintext: make([]byte, 32), CiphertextBlob: make([]byte, wrappedBytes)}
		_, _ = rand.Read(made.Plaintext) // crypto/rand.Read never fails
		_, _ = rand.Read(made.CiphertextBlob)
		p.keys[string(made.CiphertextBlob)] = made.Plaintext
		return made.encoded()
	case "Decrypt":
		var asked dataKey
		if json.Unmarshal(body, &asked) != nil || p.keys[string(asked.CiphertextBlob)] == nil {
			return http.StatusBadRequest, []byte(`{"__type":"InvalidCiphertextException"}`)
		}
		return dataKey{Plaintext: p.keys[string(asked.CiphertextBlob)]}.encoded()
	}
	switch object, found := p.objects[r.URL.Path]; {
	case r.Method == http.MethodPut:
		p.objects[r.URL.Path] = body
		return http.StatusOK, nil
	case r.Method == http.MethodGet && found:
		return http.StatusOK, object
	}
	return http.StatusNotFound, []byte("<Error><Code>NoSuchKey</Code></Error>")
}

// dataKey is a data key in a request to KMS or in its answer.
type dataKey struct {
	Plaintext      []byte `json:",omitempty"`
	CiphertextBlob []byte `json:",omitempty"`
}

func (k dataKey) encoded() (status int, answer []byte) {
	text, err := json.Marshal(k)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	return http.StatusOK, text
}
