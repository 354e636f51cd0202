package httpapi

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	batches "github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// Route is a route of the API. Each is declared once, in the table of its file. The handler serves
// the table, openapi.yaml describes it, and Find tells other code what a request does.
type Route struct {
	// ID is the operationId of the route in openapi.yaml.
	ID string
	// Pattern is the method and the path, as http.ServeMux has them: "GET /v1/workflows/{id}".
	Pattern string
	// Query are the parameters that the query string may have. Routes below a workflow also take
	// runId.
	Query []string
	// Access says what a request may do.
	Access Access
	// ReadsRun says that the server may read a whole run to answer a request.
	ReadsRun bool
	// Streams says that package live also answers with server-sent events.
	Streams bool
	// Operation is the name of a request in traces and metrics; empty if the request only looks.
	Operation string
	// InTrace says that the trace of the run has a span of the request.
	InTrace bool

	endpoint endpoint
}

// Bodies returns the types of the bodies of a route's requests and answers. The first is nil if the
// requests have none.
func (t *Route) Bodies() (body, answer reflect.Type) { return t.endpoint.body, t.endpoint.answer }

// Access says what a request may do. openapi.yaml has its name with each operation (x-weft-access),
// for those who write policies.
type Access uint8

const (
	// Reads writes nothing, and runs no code of a workflow.
	Reads Access = iota + 1
	// Asks writes nothing, and runs the code of the workflow.
	Asks
	// Writes may write, and may run the code of the workflow.
	Writes
	// Ends closes or deletes a run, and runs no code of the workflow.
	Ends
)

// String returns the name that openapi.yaml has.
func (a Access) String() string { return [...]string{"", "reads", "asks", "writes", "ends"}[a] }

// Changes reports whether a request may change something.
func (a Access) Changes() bool { return a == Writes || a == Ends }

// RunsCode reports whether a request may run the code of a workflow.
func (a Access) RunsCode() bool { return a == Asks || a == Writes }

// none is the answer of a route that returns nothing.
type none = struct{}

// endpoint carries out the requests of a route. body and answer are the types of their bodies; body
// is nil if they have none.
type endpoint struct {
	serve        serve
	body, answer reflect.Type
}

// serve carries out a request and returns the status and the body of its answer.
type serve func(h *handler, r *http.Request) (status int, answer any, err error)

// takes returns the endpoint of requests that have a body.
func takes[B, A any](do func(*handler, *http.Request, B) (int, A, error)) endpoint {
	serve := func(h *handler, r *http.Request) (int, any, error) {
		var body B
		if err := decode(r, &body); err != nil {
			return 0, nil, err
		}
		return do(h, r, body)
	}
	return endpoint{serve, reflect.TypeFor[B](), reflect.TypeFor[A]()}
}

// gives returns the endpoint of requests that have no body.
func gives[A any](do func(*handler, *http.Request) (int, A, error)) endpoint {
	serve := func(h *handler, r *http.Request) (int, any, error) { return do(h, r) }
	return endpoint{serve: serve, answer: reflect.TypeFor[A]()}
}

// routes are all routes of the API.
var routes = slices.Concat(
	workflowRoutes,
	waitRoutes,
	countRoutes,
	byHandRoutes, pauseRoutes,
	runRoutes, topicRoutes,
	scheduleRoutes, batchRoutes,
	activityRoutes,
	deploymentRoutes, typeRoutes,
	documentRoutes,
)

// Routes returns all routes of the API. Callers must not change them.
func Routes() []Route { return routes }

// matcher has a pattern for each route, and byPattern the routes. The matcher only finds patterns;
// its handlers are never called.
var matcher, byPattern = func() (*http.ServeMux, map[string]*Route) {
	mux, all := http.NewServeMux(), map[string]*Route{}
	for i := range routes {
		mux.HandleFunc(routes[i].Pattern, http.NotFound)
		all[routes[i].Pattern] = &routes[i]
	}
	return mux, all
}()

// Find returns the route of a request; nil if the API has none. A HEAD is a GET.
func Find(r *http.Request) *Route {
	if !clean(r) {
		return nil
	}
	_, pattern := matcher.Handler(r)
	return byPattern[pattern]
}

// Changes reports whether a request may change something. A request without a route is refused, so
// it may not.
func Changes(r *http.Request) bool {
	t := Find(r)
	return t != nil && t.Access.Changes()
}

// Covers reports whether a path is one of the API's, or could be.
func Covers(path string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(path, root) })
}

// roots are the first segments of the paths of the routes: the version of the API, and a kind of
// object.
var roots = func() (all []string) {
	for i := range routes {
		parts := strings.Split(routes[i].Path(), "/")
		all = append(all, strings.Join(parts[:3], "/"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}()

// Methods returns the methods of the API. HEAD is one.
func Methods() []string { return methods }

var methods = func() (all []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		serves := func(t Route) bool {
			return t.Method() == method || method == http.MethodHead && t.Method() == http.MethodGet
		}
		if slices.ContainsFunc(routes, serves) {
			all = append(all, method)
		}
	}
	return all
}()

// Method returns the method of the route.
func (t *Route) Method() string {
	method, _, _ := strings.Cut(t.Pattern, " ")
	return method
}

// Path returns the path of the route. Its variables are in braces.
func (t *Route) Path() string {
	_, path, _ := strings.Cut(t.Pattern, " ")
	return path
}

// HasBody reports whether the requests of the route have a body.
func (t *Route) HasBody() bool { return t.endpoint.body != nil }

// Parameters returns what the query string of a request may have.
func (t *Route) Parameters() []string {
	if strings.HasPrefix(t.Path(), "/v1/workflows/{id}") {
		return append([]string{"runId"}, t.Query...)
	}
	return t.Query
}

// Workflow returns the workflow that the path of a request names; empty if it names none. A
// schedule and a batch are workflows, too. It fails if the path cannot be unescaped.
func (t *Route) Workflow(r *http.Request) (string, error) {
	i := slices.Index(strings.Split(t.Path(), "/"), "{id}")
	if i < 0 {
		return "", nil
	}
	id, err := url.PathUnescape(strings.Split(r.URL.EscapedPath(), "/")[i])
	switch {
	case err != nil:
	case strings.HasPrefix(t.Path(), "/v1/schedules/"):
		id = stored.IDPrefix + id
	case strings.HasPrefix(t.Path(), "/v1/batches/"):
		id = batches.IDPrefix + id
	}
	return id, err
}
