package adapter

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/seed-41655fb1/weft/internal/function"
)

// lambdaAPI plays the operations of Lambda's API that a function calls.
type lambdaAPI struct {
	t      *testing.T
	builds []string // by version, from 1 on; the newest is also $LATEST's
	invoke http.HandlerFunc
	alias  http.HandlerFunc
	lists  int
	before func()           // called before a list is answered, unless it is nil
	refuse http.HandlerFunc // answers requests for a list instead, unless it is nil
}

// ServeHTTP answers a request. A page lists two versions.
func (l *lambdaAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/2015-03-31/functions/weft-api/versions":
		l.lists++
		if l.before != nil {
			l.before()
		}
		if l.refuse != nil {
			l.refuse(w, r)
			return
		}
		l.list(w, r.URL.Query().Get("Marker"))
	case "/2015-03-31/functions/weft-api/invocations":
		l.invoke(w, r)
	case "/2015-03-31/functions/weft-api/aliases/live":
		l.alias(w, r)
	default:
		l.t.Errorf("%s %s was asked for", r.Method, r.URL)
	}
}

func (l *lambdaAPI) list(w http.ResponseWriter, marker string) {
	all := []map[string]any{{"Version": "$LATEST", "Environment": map[string]any{"Variables": map[string]any{"WEFT_BUILD": "build-9"}}}, {"Version": "99"}}
	for i, build := range l.builds {
		all = append(all, map[string]any{"Version": fmt.Sprint(i + 1), "Environment": map[string]any{"Variables": map[string]any{"WEFT_BUILD": build}}})
	}
	at := 0
	_, _ = fmt.Sscan(marker, &at) // no marker means the first page
	page := map[string]any{"Versions": all[at:min(at+2, len(all))]}
	if at+2 < len(all) {
		page["NextMarker"] = fmt.Sprint(at + 2)
	}
	_ = json.NewEncoder(w).Encode(page)
}

func fail(status int, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-ErrorType", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"message":"on purpose"}`))
	}
}

// playLambda returns the versions of a function of a fake Lambda.
func playLambda(t *testing.T, builds ...string) (*lambdaAPI, *versions) {
	t.Helper()
	l := &lambdaAPI{t: t, builds: builds}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return l, newVersions(aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, "weft-api")
}

// Forward sends an event to the last version of the build, with a mark, and lists the versions
// once.
func TestVersions(t *testing.T) {
	t.Parallel()
	// Twelve versions: the tenth is newer than the ninth.
	l, v := playLambda(t, "build-1", "a", "b", "c", "build-2", "d", "e", "f", "build-1", "build-1", "g", "h")
	qualifier := ""
	l.invoke = func(w http.ResponseWriter, r *http.Request) {
		qualifier = r.URL.Query().Get("Qualifier")
		text, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
		var mark lambdacontext.ClientContext
		if err = errors.Join(err, json.Unmarshal(text, &mark)); err != nil || !strings.HasPrefix(mark.Custom["weft-build"], "build-") {
			t.Errorf("the mark is %s, %v", text, err)
		}
		_, _ = io.Copy(w, r.Body)
	}
	for build, want := range map[string]string{"build-1": "10", "build-2": "5"} {
		answer, err := v.Forward(t.Context(), build, []byte(`{"Records":[]}`))
		if err != nil || string(answer) != `{"Records":[]}` || qualifier != want {
			t.Errorf("%s: version %s answered %s, %v; want version %s", build, qualifier, answer, err, want)
		}
	}
	if pages := l.lists; pages != 7 {
		t.Errorf("%d pages were read, want those of one list", pages)
	}
	all, err := v.lister()(t.Context())
	if err != nil || len(all) != 10 || all["build-1"] != "10" || all["h"] != "12" {
		t.Errorf("the versions are %v, %v", all, err)
	}
	if (*versions)(nil).lister() != nil {
		t.Error("a function without versions lists them")
	}
}

// Failed searches are remembered, but not as many as a caller can ask for.
func TestManyMissingVersions(t *testing.T) {
	t.Parallel()
	_, v := playLambda(t, "build-1")
	now := time.Now()
	v.now = func() time.Time { return now }
	for i := range maxMissed + 1 {
		if _, err := v.find(t.Context(), fmt.Sprint("missing-", i)); !errors.Is(err, function.ErrNoVersion) {
			t.Fatal(err)
		}
		now = now.Add(listEvery)
	}
	if len(v.missed) > maxMissed {
		t.Errorf("%d failed searches are remembered", len(v.missed))
	}
}

// Builds that a caller has invented cause one list in a while, also if it fails, and do not delay
// an event for a build that is known.
func TestInventedBuilds(t *testing.T) {
	t.Parallel()
	l, v := playLambda(t, "build-1")
	now := time.Now()
	v.now = func() time.Time { return now }
	l.invoke = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }
	if _, err := v.Forward(t.Context(), "build-1", nil); err != nil {
		t.Fatal(err)
	}
	invent := func(n int, want error) {
		t.Helper()
		for i := range n {
			if _, err := v.Forward(t.Context(), fmt.Sprint("invented-", n, "-", i), nil); !errors.Is(err, want) {
				t.Fatalf("%d of %d: %v", i, n, err)
			}
		}
	}
	invent(100, function.ErrNoVersion)
	if l.lists != 2 { // pages
		t.Errorf("%d pages were read, want those of one list", l.lists)
	}
	now = now.Add(listEvery)
	l.refuse = fail(429, "TooManyRequestsException")
	invent(50, function.ErrNotForwarded)
	if l.lists != 3 {
		t.Errorf("%d pages were read, want one more: the list fails", l.lists)
	}
	l.refuse = nil
	invent(51, function.ErrNotForwarded)

	now = now.Add(listEvery)
	l.lists = 0
	asked, answer := make(chan struct{}), make(chan struct{})
	l.before = func() { asked <- struct{}{}; <-answer }
	results := make(chan error)
	search := func() {
		_, err := v.Forward(t.Context(), "invented", nil)
		results <- err
	}
	go search()
	<-asked
	go search() // waits for the same list, or finds that it has failed
	if _, err := v.Forward(t.Context(), "build-1", nil); err != nil {
		t.Errorf("during a list: %v", err)
	}
	l.before = nil
	answer <- struct{}{}
	for range 2 {
		if err := <-results; !errors.Is(err, function.ErrNoVersion) {
			t.Errorf("an invented build: %v", err)
		}
	}
	if l.lists != 2 {
		t.Errorf("%d pages were read, want those of one list", l.lists)
	}
}

// A list that panics holds up no later search.
func TestAListThatPanics(t *testing.T) {
	t.Parallel()
	_, v := playLambda(t, "build-1")
	client := v.client
	v.client = func() *lambda.Client { panic("a defect") }
	func() {
		defer func() { _ = recover() }()
		_, _ = v.all(t.Context())
	}()
	v.client = client
	if _, err := v.find(t.Context(), "build-1"); !errors.Is(err, function.ErrNotForwarded) || !errors.Is(err, errNotListed) {
		t.Errorf("a search after the list that has panicked: %v", err)
	}
	if known, err := v.all(t.Context()); err != nil || known["build-1"] == "" {
		t.Errorf("%v, %v", known, err)
	}
}

// A build that is published just after a list is found once that list is as old as a failed search
// may be.
func TestAVersionJustAfterAList(t *testing.T) {
	t.Parallel()
	l, v := playLambda(t, "build-1")
	now := time.Now()
	v.now = func() time.Time { return now }
	find := func(want error) {
		t.Helper()
		if _, err := v.find(t.Context(), "build-2"); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if _, err := v.find(t.Context(), "build-1"); err != nil {
		t.Fatal(err)
	}
	l.builds = append(l.builds, "build-2")
	now = now.Add(listEvery - 1)
	find(function.ErrNoVersion)
	now = now.Add(missedFor - listEvery)
	find(function.ErrNoVersion)
	now = now.Add(1)
	find(nil)
}

// A failed search is remembered for a while. A version that is gone is forgotten.
func TestMissingVersions(t *testing.T) {
	t.Parallel()
	l, v := playLambda(t, "build-1")
	now := time.Now()
	v.now = func() time.Time { return now }
	missing := func(lists int) {
		t.Helper()
		if _, err := v.Forward(t.Context(), "build-2", nil); !errors.Is(err, function.ErrNoVersion) {
			t.Errorf("%v", err)
		}
		if l.lists != lists {
			t.Errorf("listed %d times, want %d", l.lists, lists)
		}
	}
	missing(2)
	missing(2)
	now = now.Add(missedFor)
	missing(4)
	l.builds = append(l.builds, "build-2")
	now = now.Add(missedFor)
	l.invoke = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }
	if _, err := v.Forward(t.Context(), "build-2", nil); err != nil {
		t.Errorf("after it was published: %v", err)
	}
	l.invoke = fail(404, "ResourceNotFoundException")
	if _, err := v.Forward(t.Context(), "build-2", nil); !errors.Is(err, function.ErrNoVersion) {
		t.Errorf("a version that is gone: %v", err)
	}
	l.builds, l.lists = l.builds[:1], 0
	missing(2)
}

// The outcome of an event without an answer is known only if Lambda has refused it.
func TestInvokeFails(t *testing.T) {
	t.Parallel()
	l, v := playLambda(t, "build-1")
	for _, c := range []struct {
		name   string
		invoke http.HandlerFunc
		is     error // nil means neither
	}{
		{"throttled", fail(429, "TooManyRequestsException"), function.ErrNotForwarded},
		{"being updated", fail(409, "ResourceConflictException"), function.ErrNotForwarded},
		{"inactive", fail(502, "ResourceNotReadyException"), function.ErrNotForwarded},
		{"no addresses left", fail(502, "SubnetIPAddressLimitReachedException"), function.ErrNotForwarded},
		{"broken", fail(500, "ServiceException"), nil},
		{"a function that fails", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = w.Write([]byte(`{"errorMessage":"a secret"}`))
		}, nil},
	} {
		calls := 0
		l.invoke = func(w http.ResponseWriter, r *http.Request) {
			calls++
			c.invoke(w, r)
		}
		_, err := v.Forward(t.Context(), "build-1", []byte("{}"))
		known := errors.Is(err, function.ErrNotForwarded) || errors.Is(err, function.ErrNoVersion)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || known != (c.is != nil) || strings.Contains(err.Error(), "secret") || calls != 1 {
			t.Errorf("%s: %v, in %d calls", c.name, err, calls)
		}
	}
}
