// Package httpapi is the HTTP API: one handler, which the local server and the api function share.
// It only translates: each request is parsed once, to a command, which the executor carries out.
package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/internal/version"
)

// CostHeader is the header with the cost of a request.
const CostHeader = "Weft-Cost"

// BuildHeader is the header of a refusal that names the build that has to carry the request out.
const BuildHeader = "Weft-Build"

// OwnerHeader is the header of a refusal that names the build that owns the run while a deployment
// is rolled out. This build can carry the request out, too, in the context of executor.Anywhere.
const OwnerHeader = "Weft-Owner"

// MaxBody is the largest body that is read, in bytes. If large payloads are offloaded, a body may
// exceed the largest payload by this much.
const MaxBody = 1 << 20

// handler is the API over one service.
type handler struct {
	service *executor.Service
	log     *slog.Logger
	// contract returns the contract of the program.
	contract func() (*contract.Document, error)
	troubles observe.Outages // of requests that fail or are slow, by their causes
}

// checked carries out a request of the route if its query string is valid.
func (t *Route) checked(h *handler, r *http.Request) (int, any, error) {
	if err := cmp.Or(checkQuery(r, t), checkAccept(r)); err != nil {
		return 0, nil, err
	}
	return t.endpoint.serve(h, r)
}

// New returns the handler of the API. comments adds comments to the program's contract; nil adds
// none.
func New(service *executor.Service, log *slog.Logger, comments Comments) http.Handler {
	h := &handler{service: service, log: log, contract: contractOf(service.Process.Registry, comments)}
	mux := http.NewServeMux()
	for i := range routes {
		mux.HandleFunc(routes[i].Pattern, h.observe(&routes[i]))
	}
	t := &router{mux, h}
	mux.HandleFunc("/", t.unknown)
	return t
}

// router also answers with a problem document if no pattern matches.
type router struct {
	mux     *http.ServeMux
	handler *handler
}

// ServeHTTP serves the API. A path with a segment that is empty, or is a dot or two, does not
// belong to the API: the mux would redirect it to the path of another workflow.
func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if clean(r) {
		t.mux.ServeHTTP(w, r)
	} else {
		t.unknown(w, r)
	}
}

// clean reports whether the path of a request begins with a slash, and has no segment that is
// empty, or is a dot or two.
func clean(r *http.Request) bool {
	escaped := r.URL.EscapedPath()
	return strings.HasPrefix(escaped, "/") && path.Clean(escaped) == escaped
}

// unknown answers a request that no pattern matches. It names the methods of the path, if there are
// any.
func (t *router) unknown(w http.ResponseWriter, r *http.Request) {
	t.handler.serve(func(*handler, *http.Request) (int, any, error) {
		var allowed []string
		for _, method := range methods {
			probe := *r
			probe.Method = method
			if Find(&probe) != nil {
				allowed = append(allowed, method)
			}
		}
		if allowed != nil {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return 0, nil, refusal.MethodNotAllowed.New("%s has no %s: use %s", r.URL.Path, r.Method, strings.Join(allowed, " or "))
		}
		return 0, nil, refusal.NotFound.New("there is nothing at %s; the API is under /v1/workflows", r.URL.Path)
	})(w, r)
}

// serve returns a handler that carries out requests with do.
func (h *handler) serve(do serve) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { h.answer(w, r, do, &observe.Request{}) }
}

func (h *handler) maxBody() int64 {
	if most := h.service.Process.Options.MaxPayload; most > engine.MaxPayload {
		return int64(most) + MaxBody
	}
	return MaxBody
}

// answer carries out a request, meters it, and writes the answer or the problem. It reports in o
// how the request ended, before it writes: a slow reader does not make a slow request.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, do serve, o *observe.Request) {
	ctx, m := meter.With(r.Context())
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, h.maxBody())
	status, answer, err := do(h, r)
	text, isText := answer.(document)
	var body []byte
	if err == nil && !isText {
		body, err = json.Marshal(answer)
	}
	o.Status, o.Cost, o.Left, o.Ended = status, m.Cost(), errors.Is(ctx.Err(), context.Canceled), h.service.Process.World.Now()
	w.Header().Set(CostHeader, o.Cost.String())
	if err != nil {
		refused := h.refusalOf(r, err)
		o.Status, o.Cause = problem.Of(refused).Status, causeOfRefusal(refused)
		refuse(w, err, refused)
		return
	}
	o.Cause = causeOf(answer)
	if isText {
		write(w, status, "application/yaml", text)
		return
	}
	if at := resumeAt(answer); at != "" {
		w.Header().Set(ResumeHeader, at)
	}
	setRetryAfter(w, retryAfter(answer))
	if page, ok := answer.(*schema.TopicResponse); ok && page.Withdrawn != nil {
		w.Header().Set(EventHeader, EventWithdrawn)
	}
	write(w, status, "application/json", append(body, '\n'))
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set(version.Header, version.Weft())
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller has gone: there is nobody to tell
}

// setRetryAfter says how long the caller pauses before the next request, in whole seconds; 0 says
// nothing.
func setRetryAfter(w http.ResponseWriter, d time.Duration) {
	if d > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	}
}

// refusalOf returns the refusal that answers an error. An error that is not a refusal is a defect:
// it is logged, and the caller learns only that it happened.
func (h *handler) refusalOf(r *http.Request, err error) *refusal.Error {
	if refused, ok := errors.AsType[*refusal.Error](err); ok {
		return refused
	}
	h.log.ErrorContext(r.Context(), "internal error", "method", r.Method, "path", r.URL.Path, "error", err)
	return refusal.Internal.New("this is a defect of the server or of its data; its log has more")
}

// refuse writes the problem document (RFC 9457) of a refusal that answers err.
func refuse(w http.ResponseWriter, err error, refused *refusal.Error) {
	switch other, ok := errors.AsType[*executor.OtherBuild](err); {
	case !ok:
	case other.Soft:
		w.Header().Set(OwnerHeader, other.Build)
	default:
		w.Header().Set(BuildHeader, other.Build)
	}
	WriteProblem(w, refused)
}

// WriteProblem answers a request with the problem document of a refusal and with how long the
// caller should wait, and returns the status. The answer says that the request cost nothing, unless
// its CostHeader is set already.
func WriteProblem(w http.ResponseWriter, refused *refusal.Error) (status int) {
	p := problem.Of(refused)
	setRetryAfter(w, p.RetryAfter)
	if w.Header().Get(CostHeader) == "" {
		w.Header().Set(CostHeader, meter.Cost{}.String())
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"type":"urn:weft:problem:internal","title":"Internal error","status":500}`)
	}
	write(w, p.Status, "application/problem+json", append(body, '\n'))
	return p.Status
}

// runID returns the run that a request pins with its query string; empty is the latest.
func runID(r *http.Request) history.RunID { return history.RunID(r.URL.Query().Get("runId")) }
