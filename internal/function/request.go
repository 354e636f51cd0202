package function

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/page"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// maxAnswer is the largest answer that Lambda takes, in bytes of JSON: 6 MB.
const maxAnswer = 6 << 20

// tooLargeAdvice says what to do about an answer that Lambda does not take.
const tooLargeAdvice = "Ask again with the header Accept-Encoding: gzip, through a function URL or an HTTP API. " +
	"If it is too large then, too: have the code keep the value in a bucket of yours, and return its key"

// gateway is what an event says about the gateway that it came through. Payload format 2.0 (an HTTP
// API or a function URL) has a version; 1.0 has its method at the top, and a version only from an
// HTTP API.
type gateway struct {
	Version        string         `json:"version"`
	HTTPMethod     string         `json:"httpMethod"`
	RequestContext gatewayContext `json:"requestContext"`
	// Weft is in no event of a gateway.
	Weft ownEvent `json:"weft"`
}

type gatewayContext struct {
	Stage      string `json:"stage"`
	DomainName string `json:"domainName"`
}

// attempt is an attempt at a request in this process.
type attempt struct {
	// build is the build that has to carry it out, or empty if this process did.
	build string
	// soft says that this process can carry it out, too.
	soft bool
	// reads says that the request writes nothing.
	reads bool
	// moved is the address of the web page, for a request that lacks its final slash; else empty.
	moved string
	// refusal is the answer to every request, or nil if requests are carried out.
	refusal *refusal.Error
	// request is the request that this process carried out, and began when it arrived.
	request *http.Request
	began   time.Time
	// inAPI says that the API serves the request, and reports it if it panics.
	inAPI bool
}

type attemptKey struct{}

// attemptOf returns the attempt of a context.
func attemptOf(ctx context.Context) *attempt {
	if t, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return t
	}
	return &attempt{}
}

// request answers an HTTP request, or forwards it to the version that has the build of its run.
func (f *Function) request(ctx context.Context, a allowance, event []byte) (any, error) {
	t := &attempt{}
	ctx = context.WithValue(ctx, attemptKey{}, t)
	if marked(ctx) != "" {
		ctx = httpapi.Forwarded(ctx)
	}
	answer, err := f.carryOut(ctx, event)
	if err != nil || t.build == "" {
		return answer, err
	}
	forwarded, err := f.forward(ctx, a, t.build, event)
	if err == nil {
		return json.RawMessage(forwarded), nil
	}
	if t.soft && notBegun(err) {
		return f.carryOut(executor.Anywhere(ctx), event)
	}
	if t.refusal = f.notForwarded(ctx, t, err); t.refusal == nil {
		return answer, nil
	}
	return f.carryOut(ctx, event)
}

// notForwarded returns how a request is refused that another version has to answer, after the error
// of forwarding it. It returns nil without an error, and if there is no such version: this process
// has refused the request then.
func (f *Function) notForwarded(ctx context.Context, t *attempt, err error) *refusal.Error {
	if err == nil || errors.Is(err, ErrNoVersion) {
		return nil
	}
	f.log.WarnContext(ctx, "a request of another build was not answered", "build", t.build, "error", err)
	refused := refusal.OutcomeUnknown.New("only build %q can do this, and it did not answer, but may have done it: send the request again with the same id", t.build)
	if t.reads || errors.Is(err, ErrNotForwarded) {
		refused = refusal.Busy.New("only build %q can do this, and it could not be reached; nothing was written: send the request again", t.build)
	}
	refused = refused.By(refusal.ByBuild)
	f.report(ctx, t, refused)
	return refused
}

// report reports the refusal of a request that the API does not report: the API has refused it for
// another reason before, or a handler around the API has panicked.
func (f *Function) report(ctx context.Context, t *attempt, refused *refusal.Error) {
	o := &observe.Request{Method: t.request.Method, Status: problem.Of(refused).Status, Cause: refused.Cause, Began: t.began, Ended: f.now()}
	if route := httpapi.Find(t.request); route != nil {
		o.Route = route.Path()
	}
	f.process.Service.Process.Observed().Observe(ctx, o)
}

func (f *Function) now() time.Time { return f.process.Service.Process.World.Now() }

// carryOut answers an HTTP request in this process.
func (f *Function) carryOut(ctx context.Context, event []byte) (any, error) {
	var g gateway
	if err := json.Unmarshal(event, &g); err != nil {
		return nil, err
	}
	switch {
	case g.Version == "2.0":
		return f.format2(ctx, &g, event)
	case g.HTTPMethod != "":
		return f.format1(ctx, &g, event)
	case g.Weft.Probe > 0:
		return f.beat(ctx, g.Weft.Probe), nil
	}
	return nil, errors.New("the event is no request of an HTTP API, a REST API or a function URL: check what invokes this function, and its WEFT_ROLE")
}

func (f *Function) format2(ctx context.Context, g *gateway, event []byte) (any, error) {
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	attemptOf(ctx).moved = f.slashed(g, e.RequestContext.HTTP.Method, e.RawPath, e.RawPath)
	e.RawPath = f.path(g, e.RawPath)
	r, err := new(core.RequestAccessorV2).EventToRequestWithContext(ctx, e)
	return f.answer(r, err, func(fill func(http.ResponseWriter)) (any, error) {
		w := core.NewProxyResponseWriterV2()
		fill(w)
		return w.GetProxyResponse()
	})
}

func (f *Function) format1(ctx context.Context, g *gateway, event []byte) (any, error) {
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	attemptOf(ctx).moved = f.slashed(g, e.HTTPMethod, e.Path, e.RequestContext.Path)
	e.Path = f.path(g, e.Path)
	r, err := new(core.RequestAccessor).EventToRequestWithContext(ctx, e)
	packsNoPage(r)
	return f.answer(r, err, func(fill func(http.ResponseWriter)) (any, error) {
		w := core.NewProxyResponseWriter()
		fill(w)
		return w.GetProxyResponse()
	})
}

// path returns the path of a request in the API's form: escaped, and without the gateway's prefix.
// REST APIs and function URLs pass paths on unchanged. An HTTP API decodes them, so an escaped
// slash in a name looks like one between segments, and it cuts a path at an escaped question mark.
// (No workflow id has either.)
func (f *Function) path(g *gateway, path string) string {
	if g.Version != "" && !strings.Contains(g.RequestContext.DomainName, ".lambda-url.") {
		path = (&url.URL{Path: path}).EscapedPath()
	}
	// Only known prefixes of the gateway are cut off: otherwise rules on paths, of a firewall or in
	// a policy, would be easy to get around.
	for _, prefix := range []string{g.RequestContext.Stage, f.options.BasePath} {
		if prefix = "/" + strings.Trim(prefix, "/"); !isServed(path) && strings.HasPrefix(path, prefix+"/") {
			path = strings.TrimPrefix(path, prefix)
		}
	}
	return path
}

// isServed reports whether a path is one of the API's, or could be, or one of the web page's.
func isServed(path string) bool { return httpapi.Covers(path) || page.Has(path) }

// answer lets the API answer a request, or says what is wrong with it. write returns the event's
// answer with what fill writes into it.
func (f *Function) answer(r *http.Request, wrong error, write func(fill func(http.ResponseWriter)) (any, error)) (any, error) {
	var cost string
	answer, err := write(func(w http.ResponseWriter) {
		f.fill(f.api, w, r, wrong)
		cost = w.Header().Get(httpapi.CostHeader)
	})
	if err != nil {
		return nil, err
	}
	encoded, err := encode(answer)
	if err != nil || len(encoded) <= maxAnswer {
		return json.RawMessage(encoded), err
	}
	if zipped, err := compress(r, answer); err != nil || len(zipped) > 0 && len(zipped) <= maxAnswer {
		return json.RawMessage(zipped), err
	}
	return write(func(w http.ResponseWriter) {
		w.Header().Set(httpapi.CostHeader, cost)
		refuse(w, refusal.TooLarge.New("the answer has %d bytes, and Lambda takes %d: the request was carried out. %s", len(encoded), maxAnswer, tooLargeAdvice))
	})
}

// fill lets the API write the answer to a request, or writes what is wrong with the request. It
// notes in the attempt whether another build has to answer.
func (f *Function) fill(api http.Handler, w http.ResponseWriter, r *http.Request, wrong error) {
	if wrong != nil {
		refuseFree(w, refusal.Invalid.New("the request cannot be read: %v", wrong))
		return
	}
	t := attemptOf(r.Context())
	if t.refusal != nil {
		refuseFree(w, t.refusal)
		return
	}
	if t.moved != "" {
		w.Header().Set("Location", t.moved)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	t.request, t.began = r, f.now()
	f.serveHTTP(api, w, r)
	t.build, t.reads = w.Header().Get(httpapi.BuildHeader), !httpapi.Changes(r)
	if owner := w.Header().Get(httpapi.OwnerHeader); owner != "" {
		t.build, t.soft = owner, true
	}
}

// compress returns an answer that is too large for Lambda with its body compressed; nil if the
// caller does not accept that. An answer of format 1.0 is not compressed: a REST API passes on the
// base64 of a body unless it is set up to decode it.
//
// In JSON within JSON each quote takes two bytes, so 5 MiB of a payload may become 10 MB. A body
// that grows so has few different bytes, and compression gains more than base64 adds.
func compress(r *http.Request, answer any) ([]byte, error) {
	a, ok := answer.(events.APIGatewayV2HTTPResponse)
	if !ok || a.IsBase64Encoded || !acceptsGzip(r) {
		return nil, nil
	}
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(a.Body)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	a.Headers = maps.Clone(a.Headers)
	if a.Headers == nil {
		a.Headers = map[string]string{}
	}
	a.Headers["Content-Encoding"] = "gzip"
	a.Headers["Vary"] = strings.Trim(a.Headers["Vary"]+",Accept-Encoding", ",")
	a.Body, a.IsBase64Encoded = base64.StdEncoding.EncodeToString(zipped.Bytes()), true
	return encode(a)
}

// acceptsGzip reports whether a request's Accept-Encoding has gzip, with no weight of 0.
func acceptsGzip(r *http.Request) bool {
	for _, value := range r.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(value, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				q, isWeight := strings.CutPrefix(strings.TrimSpace(weight), "q=")
				n, err := strconv.ParseFloat(q, 64)
				return !isWeight || err == nil && n > 0
			}
		}
	}
	return false
}

// reporting returns an API that notes in the attempt while it serves a request: it reports its own
// panics. Nobody reports those of the handlers around it.
func reporting(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := attemptOf(r.Context())
		t.inAPI = true
		api.ServeHTTP(w, r)
		t.inAPI = false
	})
}

// serveHTTP serves a request. The gateway counts the bytes of an answer itself. Elsewhere net/http
// drops the body of an answer to a HEAD; here headOnly does.
func (f *Function) serveHTTP(api http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		if value := recover(); value != nil {
			f.log.ErrorContext(r.Context(), "a request panicked", "method", r.Method, "path", r.URL.Path, "panic", observe.Panic(value), "stack", string(debug.Stack()))
			refused := refusal.Internal.New("this is a defect of the server; its log has more")
			if t := attemptOf(r.Context()); !t.inAPI {
				f.report(r.Context(), t, refused)
			}
			refuse(w, refused)
		}
	}()
	if r.Method == http.MethodHead {
		w = headOnly{w}
	}
	api.ServeHTTP(w, r)
	w.Header().Del("Content-Length")
}

// headOnly drops the body of an answer.
type headOnly struct{ http.ResponseWriter }

// Write drops a body. The answer then has a status, as after any other first write.
func (h headOnly) Write(body []byte) (int, error) {
	_, err := h.ResponseWriter.Write(nil)
	return len(body), err
}

// refuseFree is refuse for a request that cost nothing.
func refuseFree(w http.ResponseWriter, refused *refusal.Error) {
	w.Header().Set(httpapi.CostHeader, meter.Cost{}.String())
	refuse(w, refused)
}

// refuse writes the problem document of a refusal.
func refuse(w http.ResponseWriter, refused *refusal.Error) {
	p := problem.Of(refused)
	w.Header().Set("Content-Type", "application/problem+json")
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	w.WriteHeader(p.Status)
	body, err := json.Marshal(p)
	if err == nil {
		_, _ = w.Write(append(body, '\n')) // into memory
	}
}
