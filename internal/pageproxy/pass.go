package pageproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/version"
)

const (
	// mostBody is the largest body that is passed on, in bytes: API Gateway takes 10 MB.
	mostBody = 10 << 20
	// answerTime is how long the deployment may take until it begins to answer. API Gateway waits
	// for 29 s.
	answerTime = 40 * time.Second
	// silence is how long an answer may bring nothing. A stream of events has a comment each 15 s.
	silence = 60 * time.Second
	// chunk is how much of an answer is held at once, in bytes.
	chunk = 32 << 10
)

// errLate is the cause of the end of a request that the deployment does not answer, or not on.
var errLate = errors.New("there was no answer in time")

// sentOn are the headers of a request that are passed on: none that says who the browser is.
var sentOn = []string{"Accept", "Accept-Encoding", "Content-Type", "If-None-Match", "Last-Event-Id", "Traceparent", "Tracestate"}

// sentBack are the headers of an answer that are passed back, besides those of Weft: none with
// which a deployment could have an effect on the browser.
var sentBack = []string{"Allow", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Etag", "Retry-After", "Vary"}

// pass passes a request of the API on, and its answer back while it arrives.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	if !isAPI(r.URL) {
		httpapi.WriteProblem(w, refusal.NotFound.New("there is nothing here: only the API below /v1/ is passed on"))
		return
	}
	if methods := httpapi.Methods(); !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		httpapi.WriteProblem(w, refusal.MethodNotAllowed.New("the API has no method %s", r.Method))
		return
	}
	body, refused := readBody(w, r)
	if refused != nil {
		httpapi.WriteProblem(w, refused)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	late := time.AfterFunc(answerTime, func() { cancel(errLate) })
	defer late.Stop()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	resp, err := p.ask(ctx, r, body)
	if err != nil {
		if r.Context().Err() == nil {
			p.notAnswered(w, r, err, context.Cause(ctx), sent.Load())
		}
		return
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as anybody wants it
	p.answered(resp.Header.Get(version.Header))
	if p.refusedByGateway(w, resp) {
		return
	}
	headBack(w, resp)
	if err := copyBack(w, resp.Body, late); err != nil && r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // the browser sees that the answer is not whole
	}
}

// isAPI reports whether a path is one of the API, however it is read.
func isAPI(u *url.URL) bool {
	path := u.EscapedPath()
	for segment := range strings.SplitSeq(path, "/") {
		if name, err := url.PathUnescape(segment); err != nil || name == "." || name == ".." {
			return false
		}
	}
	return strings.HasPrefix(path, "/v1/")
}

// readBody reads the body of a request, which has to be signed as a whole.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal.Error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a recorder of a test has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	_ = control.SetReadDeadline(time.Time{})
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		return nil, refusal.TooLarge.New("the body has more than %d bytes, which is the most that API Gateway takes", mostBody)
	case err != nil:
		return nil, refusal.Invalid.New("the body cannot be read: %v", err)
	}
	return body, nil
}

// ask sends a request to the deployment.
func (p *Proxy) ask(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	to := p.options.URL + r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	out, err := http.NewRequestWithContext(ctx, r.Method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, name := range sentOn {
		if values := r.Header.Values(name); len(values) > 0 {
			out.Header[name] = values
		}
	}
	out.Header.Set("User-Agent", "weft-ui")
	return p.options.Client.Do(out)
}

// notAnswered says why there is no answer, and what to do.
func (p *Proxy) notAnswered(w http.ResponseWriter, r *http.Request, err, cause error, sent bool) {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(cause, errLate) {
		err = fmt.Errorf("%w (%s)", errLate, answerTime)
	}
	p.note(func() string {
		if p.silent {
			return ""
		}
		p.silent = true
		return fmt.Sprintf("%s does not answer: %v", p.options.URL, err)
	})
	kind, what := refusal.Busy, "nothing was done"
	if sent && r.Method != http.MethodGet && r.Method != http.MethodHead {
		kind, what = refusal.OutcomeUnknown, "it may have been done: send it again"
	}
	httpapi.WriteProblem(w, kind.New("%s does not answer: %v; %s. Check the network and your credentials; weft doctor says more", p.options.URL, err, what))
}

// refusedByGateway answers with what to do if a gateway in front of the deployment refuses the
// user. What the API itself says is passed on.
func (p *Proxy) refusedByGateway(w http.ResponseWriter, resp *http.Response) bool {
	kind := map[int]refusal.Kind{http.StatusUnauthorized: refusal.Unauthorized, http.StatusForbidden: refusal.Forbidden}[resp.StatusCode]
	if kind == "" || strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") {
		return false
	}
	httpapi.WriteProblem(w, kind.New("%s does not let weft ui in (%d): %s", p.options.URL, resp.StatusCode, p.options.Advice))
	return true
}

// headBack passes the head of an answer back. A browser that shows an answer by itself runs nothing
// that is in it.
func headBack(w http.ResponseWriter, resp *http.Response) {
	for name, values := range resp.Header {
		if slices.Contains(sentBack, name) || strings.HasPrefix(name, "Weft-") {
			w.Header()[name] = values
		}
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(resp.StatusCode)
}

// copyBack passes a body back, each part when it arrives, and ends the request when nothing arrives
// for too long. late is the timer that does.
func copyBack(w http.ResponseWriter, body io.Reader, late *time.Timer) error {
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // of the next answer on this connection
	for buffer := make([]byte, chunk); ; {
		late.Reset(silence)
		n, err := body.Read(buffer)
		if n > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // a recorder of a test has none
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answered notes that the deployment answers, and with which version of Weft.
func (p *Proxy) answered(by string) {
	p.note(func() string {
		if !p.silent {
			return ""
		}
		p.silent = false
		return p.options.URL + " answers again"
	})
	if by != "" {
		p.Saw(by)
	}
}

// Saw notes the version of Weft of the deployment. Empty is one from before there was a page. One
// that was built in a checkout may be any.
func (p *Proxy) Saw(by string) {
	p.note(func() string {
		if by == p.version || by == version.Unreleased {
			return ""
		}
		switch p.version = by; by {
		case p.options.Version:
			return fmt.Sprintf("the deployment now has Weft %s, as the page", by)
		case "":
			return fmt.Sprintf("the deployment does not say its version of Weft, so it is older than the page, which is of %s: what it does not know does not work", p.options.Version)
		}
		return fmt.Sprintf("the deployment has Weft %s, and the page is of %s: what only one of them knows does not work; use the weft of the deployment's version", by, p.options.Version)
	})
}

// note reports what a function returns, which it calls alone; nothing if that is empty.
func (p *Proxy) note(line func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := line(); text != "" && p.options.Note != nil {
		p.options.Note(text)
	}
}
