package weftest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// transport passes the client's requests to the handler. It wakes the loop when a request begins
// and when it ends.
type transport Env

// RoundTrip implements http.RoundTripper.
func (p *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	e := (*Env)(p)
	e.changed(func() {
		e.begun = true
		if !follows(r) {
			e.steps = 0
		}
		e.requests++
	})
	defer e.changed(func() { e.requests-- })
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(e.given, func() { cancel(context.Cause(e.given)) })()
	if httpapi.Changes(r) {
		ctx = e.meter.Counting(ctx)
	}
	recorder, patient := httptest.NewRecorder(), r.Clone(ctx)
	if q := patient.URL.Query(); q.Has("wait") {
		q.Set("wait", keep.String()) // one long poll instead of many short ones
		patient.URL.RawQuery = q.Encode()
	}
	if e.given.Err() == nil {
		e.process.API.ServeHTTP(recorder, patient)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if e.given.Err() != nil {
		return e.refuse(r)
	}
	answer := recorder.Result()
	answer.Request = r
	return answer, nil
}

// follows reports whether a request may be a repeated wait that follows a run to the next one. The
// client sends such a request by itself.
func follows(r *http.Request) bool {
	t := httpapi.Find(r)
	return t != nil && t.ID == "getResult"
}

// refuse answers the requests of a test that has failed for good.
func (e *Env) refuse(r *http.Request) (*http.Response, error) {
	p := problem.Of(refusal.Internal.New("weftest: %v", context.Cause(e.given)))
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: p.Status, Status: http.StatusText(p.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/problem+json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}
