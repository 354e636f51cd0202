package function

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/live"
)

// streamFor is how long a stream of server-sent events lasts: as long as any other request may
// take. Its reader connects again.
const streamFor = 20 * time.Second

// Answer is the answer to an event. Read it, and then close it: the event is handled until then. It
// has no exported fields, because the Lambda runtime sends what JSON has of a reader.
type Answer struct {
	body        io.Reader
	contentType string
	close       func()
}

// Read implements io.Reader.
func (a *Answer) Read(p []byte) (int, error) { return a.body.Read(p) }

// ContentType returns the content type of the answer, for the Lambda runtime.
func (a *Answer) ContentType() string { return a.contentType }

// Close implements io.Closer. If the answer was not read to its end, the rest of it is dropped.
func (a *Answer) Close() error {
	a.close()
	return nil
}

// Stream answers an event as Invoke does. If the event is a request of a function URL that streams
// (Options.Stream), the answer can be read while it is made. Its form is the one that such a URL
// demands of every answer.
func (f *Function) Stream(ctx context.Context, event []byte) (*Answer, error) {
	e, ok := f.streamed(ctx, event)
	if !ok {
		body, err := f.Invoke(ctx, event)
		if err != nil {
			return nil, err
		}
		return &Answer{bytes.NewReader(body), "application/json", func() {}}, nil
	}
	ctx, ended := waitedFor(ctx)
	ctx, a, over := begin(ctx, f.options.Timeout)
	ctx, gone := context.WithCancel(ctx)
	r, w := io.Pipe()
	var answering sync.WaitGroup
	answering.Go(func() {
		s := &streamWriter{to: w, header: http.Header{}}
		f.stream(ctx, a, s, e, event)
		s.end()
		_ = w.Close() // it never fails
	})
	return &Answer{r, (&events.LambdaFunctionURLStreamingResponse{}).ContentType(), func() {
		_ = r.Close() // it never fails
		gone()
		answering.Wait()
		over()
		ended()
	}}, nil
}

// streamed returns the request of an event whose answer is streamed. A request that another version
// of the function forwards is answered to that version, which streams the answer.
func (f *Function) streamed(ctx context.Context, event []byte) (e events.APIGatewayV2HTTPRequest, ok bool) {
	if f.streams == nil || marked(ctx) != "" || json.Unmarshal(event, &e) != nil {
		return e, false
	}
	return e, e.Version == "2.0" && strings.Contains(e.RequestContext.DomainName, ".lambda-url.")
}

// stream answers a request, or forwards it to the version that has the build of its run, and
// streams the answer of that one.
func (f *Function) stream(ctx context.Context, a allowance, w *streamWriter, e events.APIGatewayV2HTTPRequest, event []byte) {
	t := &attempt{}
	ctx = context.WithValue(ctx, attemptKey{}, t)
	g := &gateway{Version: e.Version, RequestContext: gatewayContext{e.RequestContext.Stage, e.RequestContext.DomainName}}
	t.moved = f.slashed(g, e.RequestContext.HTTP.Method, e.RawPath, e.RawPath)
	e.RawPath = f.path(g, e.RawPath)
	r, wrong := new(core.RequestAccessorV2).EventToRequestWithContext(ctx, e)
	f.fill(f.streams, w, r, wrong)
	if t.build == "" {
		return
	}
	forwarded, err := f.forward(ctx, a, t.build, event)
	if t.soft && notBegun(err) {
		w.instead()
		r, wrong = new(core.RequestAccessorV2).EventToRequestWithContext(executor.Anywhere(ctx), e)
		f.fill(f.streams, w, r, wrong)
		return
	}
	if err == nil {
		err = w.replace(forwarded)
	}
	if refused := f.notForwarded(ctx, t, err); refused != nil {
		w.instead()
		refuseFree(w, refused)
	}
}

// streamWriter writes an answer in the form of a function URL that streams: its status and headers
// in JSON, eight zero bytes, and its body.
//
// It holds back an answer that names another build, because the version that has the build may
// answer instead.
type streamWriter struct {
	to     *io.PipeWriter
	header http.Header
	status int
	held   *bytes.Buffer // the body of an answer that is held back; nil if it is not
	final  bool          // no other version answers
}

// Header implements http.ResponseWriter.
func (w *streamWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *streamWriter) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	if (w.header.Get(httpapi.BuildHeader) != "" || w.header.Get(httpapi.OwnerHeader) != "") && !w.final {
		w.held = &bytes.Buffer{}
		return
	}
	w.begin()
}

// begin writes what precedes the body.
func (w *streamWriter) begin() {
	headers, cookies := map[string]string{}, w.header.Values("Set-Cookie")
	for name, values := range w.header {
		if name != "Set-Cookie" && name != "Content-Length" {
			headers[name] = strings.Join(values, ",")
		}
	}
	head := &events.LambdaFunctionURLStreamingResponse{StatusCode: w.status, Headers: headers, Cookies: cookies}
	_, _ = io.Copy(w.to, head) // the runtime has gone, or reads it
}

// Write implements http.ResponseWriter.
func (w *streamWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.held != nil {
		return w.held.Write(p)
	}
	return w.to.Write(p)
}

// Flush implements http.Flusher: the reader has what was written.
func (*streamWriter) Flush() {}

// instead drops an answer that is held back. The next one is not.
func (w *streamWriter) instead() { w.header, w.status, w.held, w.final = http.Header{}, 0, nil, true }

// replace streams the answer of another version instead of the one that is held back. It fails if
// that is no answer to a request. Nothing is written then.
func (w *streamWriter) replace(answer []byte) error {
	var a events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if a.StatusCode < http.StatusOK {
		return errors.New("function: the answer has no status")
	}
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			return err
		}
	}
	w.instead()
	for name, value := range a.Headers {
		w.header.Set(name, value)
	}
	for name, values := range a.MultiValueHeaders {
		w.header[http.CanonicalHeaderKey(name)] = values
	}
	for _, cookie := range a.Cookies {
		w.header.Add("Set-Cookie", cookie)
	}
	w.WriteHeader(a.StatusCode)
	_, _ = w.Write(body) // the runtime has gone, or reads it
	return nil
}

// end writes an answer that was held back, and one that has no body.
func (w *streamWriter) end() {
	w.WriteHeader(http.StatusOK)
	if held := w.held; held != nil {
		w.held = nil
		w.begin()
		_, _ = w.to.Write(held.Bytes()) // the runtime has gone, or reads it
	}
}

// streaming returns the API of a function URL that streams.
func streaming(api http.Handler) http.Handler {
	return live.Handler(api, live.Options{For: streamFor})
}
