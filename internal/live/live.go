// Package live answers with server-sent events where the API has long polls: the history of a run,
// a topic, and a page of the list. It is an adapter in front of the API. It asks the same requests
// as a caller of the long poll, one after the other, and passes the answers on as messages.
//
//   - Each message of the event "history", "items" or "list" has the answer of a long poll as its
//     data, and its ResumeHeader as its id. A reader that connects again with this Last-Event-ID
//     gets what follows: nothing is lost, and nothing repeated.
//   - "withdrawn" is "items" for an answer which says that a reset has withdrawn items.
//   - "end" says that nothing can follow: the history is complete, or no run goes on with the
//     topic. To a reader that connects again the answer is 204, and an EventSource stops.
//   - "problem" has the problem document of a request that was refused in the middle, such as that
//     of a run which was deleted. The stream ends. While the API is busy, the stream asks again.
//
// A reader drops a message that a broken connection has cut, as each EventSource does. The adapter
// holds no page in memory: it passes the bytes on as the API writes them.
package live

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Options are the bounds of the streams. The zero value has none.
type Options struct {
	// Streams is how many there may be at once; 0 is any number. One more is refused as busy.
	Streams int
	// For is how long a stream lasts; 0 is as long as its reader stays. At the end, the reader is
	// told to connect again at once.
	For time.Duration
}

const (
	// longestWait is how long a stream is silent at most. Proxies close silent connections, often
	// after 30 s or a minute.
	longestWait = 15 * time.Second
	// busyPause is how long a stream waits before it repeats a request that was refused as busy.
	busyPause = time.Second
)

// Handler returns a handler that serves requests for server-sent events, and passes on all others
// to the API.
func Handler(api http.Handler, o Options) http.Handler {
	h := &handler{api: api, options: o}
	if o.Streams > 0 {
		h.slots = make(chan struct{}, o.Streams)
	}
	return h
}

type handler struct {
	api     http.Handler
	options Options
	slots   chan struct{} // nil is any number
}

// ServeHTTP implements http.Handler. If the answer cannot be flushed, the API says that there are
// no events here.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !httpapi.AcceptsEvents(r) || !canFlush(w) {
		h.api.ServeHTTP(w, r)
		return
	}
	s := &stream{handler: h, w: w, control: http.NewResponseController(w), request: r, route: httpapi.Find(r)}
	ended, err := s.resume()
	switch {
	case err != nil:
		httpapi.WriteProblem(w, err)
		return
	case ended:
		httpapi.WriteNothing(w)
		return
	}
	if h.slots != nil {
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		default:
			httpapi.WriteProblem(w, refusal.Busy.New("the server has %d streams of server-sent events, and no more: ask for application/json with wait=20s, or try again when one has ended", h.options.Streams))
			return
		}
	}
	s.serve()
}

// canFlush reports whether a writer, or one that it wraps, can flush.
func canFlush(w http.ResponseWriter) bool {
	for {
		switch is := w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = is.Unwrap()
		default:
			return false
		}
	}
}

// stream is one answer of server-sent events.
type stream struct {
	handler *handler
	w       http.ResponseWriter
	control *http.ResponseController
	request *http.Request
	route   *httpapi.Route

	query url.Values // of the next request
	last  string     // the ResumeHeader that the reader has; empty if it has none
	begun bool       // the head of the answer is written
	err   error      // of a write
}

const (
	historyRoute = "getHistory"
	topicRoute   = "readTopic"
	eventHistory = "history"
	eventItems   = "items"
	eventList    = "list"
)

// event returns the name of a message of the stream with these headers.
func (s *stream) event(answer http.Header) string {
	if name := answer.Get(httpapi.EventHeader); name != "" {
		return name
	}
	switch s.route.ID {
	case historyRoute:
		return eventHistory
	case topicRoute:
		return eventItems
	}
	return eventList
}

// ofRun reports whether the stream reads something of a run, in which a reader has a place.
func (s *stream) ofRun() bool { return s.route.ID == historyRoute || s.route.ID == topicRoute }

// resume sets the first request: where the reader's Last-Event-ID says, or where the request
// begins. ended says that nothing can follow.
func (s *stream) resume() (ended bool, err *refusal.Error) {
	s.query = s.request.URL.Query()
	s.query.Del("wait")
	if s.route.ID == historyRoute && s.query.Get("pageToken") != "" {
		return false, refusal.Invalid.New("server-sent events have no pages: give the id of the first event as from, instead of the pageToken")
	}
	s.last = s.request.Header.Get("Last-Event-ID")
	if !s.ofRun() {
		if s.last == "" {
			s.last = s.query.Get("version")
		}
		s.query.Set("version", s.last)
		return false, nil
	}
	if s.last == "" {
		return false, nil
	}
	run, from, ended, ok := s.parse(s.last)
	pinned := s.query.Get("runId")
	other := pinned != "" && pinned != run && s.route.ID == historyRoute // a topic goes on in the runs that follow
	if !ok || other {
		return false, refusal.Invalid.New("there is no message with this Last-Event-ID here: begin again without it, or with the runId of that message")
	}
	s.goOn(run, from)
	return ended, nil
}

// parse parses the ResumeHeader of a history or of a topic. It returns the id of the first event,
// or the offset of the first item, that follows.
func (s *stream) parse(at string) (run string, from int64, ended, ok bool) {
	rest, ended := strings.CutSuffix(at, httpapi.ResumeEnd)
	run, place, found := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(place, 10, 64)
	ok = found && err == nil && run != "" && n >= 0 && n+1 > 0
	if s.route.ID == historyRoute {
		n++
	}
	return run, n, ended, ok
}

// goOn makes the next request that for the events of a run from an id on, or for items from an
// offset on.
func (s *stream) goOn(run string, from int64) {
	s.query.Set("runId", run)
	s.query.Set("from", strconv.FormatInt(from, 10))
}

// serve asks for pages until the stream ends.
func (s *stream) serve() {
	began := time.Now()
	for wait := time.Duration(0); ; {
		m := s.ask(wait)
		if s.err != nil || !s.begun || s.request.Context().Err() != nil {
			return
		}
		switch {
		case m.status == http.StatusServiceUnavailable:
			s.write(":\n\n")
			s.pause(busyPause)
		case m.status != http.StatusOK:
			return // the reader has the problem
		case m.ended:
			s.write("event: end\ndata: {}\n\n")
			s.flush()
			return
		case m.same:
			s.write(":\n\n")
		}
		if s.flush(); s.err != nil || s.request.Context().Err() != nil {
			return
		}
		wait = s.left(began)
		if s.handler.options.For > 0 && wait == 0 {
			s.write("retry: 0\n\n")
			s.flush()
			return
		}
		if m.more && !m.same {
			wait = 0 // a backlog is read as fast as its reader takes it
		}
	}
}

// left returns how long the next request may wait.
func (s *stream) left(began time.Time) time.Duration {
	if s.handler.options.For == 0 {
		return longestWait
	}
	return max(0, min(longestWait, s.handler.options.For-time.Since(began))).Truncate(time.Millisecond)
}

// ask lets the API answer the next request, which waits, and passes on the answer.
func (s *stream) ask(wait time.Duration) *message {
	ask := s.request.Clone(s.request.Context())
	if wait > 0 {
		s.query.Set("wait", wait.String())
	} else {
		s.query.Del("wait")
	}
	ask.URL.RawQuery = s.query.Encode()
	ask.Body, ask.ContentLength = http.NoBody, 0
	ask.Header.Set("Accept", "application/json")
	ask.Header.Del("Last-Event-ID")
	m := &message{stream: s, header: http.Header{}}
	ask = ask.WithContext(httpapi.WithMore(httpapi.InStream(ask.Context()), func() { m.more = true }))
	s.handler.api.ServeHTTP(m, ask)
	m.end()
	return m
}

// advance sets the next request to what follows a page.
func (s *stream) advance(at string) (ended bool) {
	s.last = at
	if !s.ofRun() {
		s.query.Set("version", at)
		return false
	}
	run, from, ended, _ := s.parse(at) // the API wrote it
	s.goOn(run, from)
	return ended
}

// begin writes the head of the answer, with the headers of the first page.
func (s *stream) begin(first http.Header) {
	if s.begun {
		return
	}
	s.begun = true
	head := s.w.Header()
	for name, values := range first {
		head[name] = values
	}
	head.Del("Content-Length")
	head.Set("Content-Type", httpapi.EventStream)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // asks nginx not to wait for more
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) write(text string) {
	if s.err == nil {
		_, s.err = s.w.Write([]byte(text))
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.control.Flush()
	}
}

// pause waits, or until the reader has gone.
func (s *stream) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.request.Context().Done():
	}
}
