package httpapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// ResumeHeader is the header of a page of a history, of a topic, or of the list, that says where a
// reader of server-sent events resumes: with this value as its Last-Event-ID.
//
//   - Of a history it is the run and the last event that the reader has then: RUN:EVENT. If nothing
//     can follow, ResumeEnd follows it.
//   - Of a topic it is the run with which the reader goes on, and the offset of the next item,
//     which it does not have yet: RUN:NEXT. So an answer without items has a place, too. ResumeEnd
//     follows it in the same way.
//   - Of the list it is the version of the page.
const ResumeHeader = "Weft-Resume"

// EventHeader is the header of an answer whose server-sent event is not the usual one of its route:
// EventWithdrawn, of an answer that says which items of a topic a reset has withdrawn.
const (
	EventHeader    = "Weft-Event"
	EventWithdrawn = "withdrawn"
)

// ResumeEnd ends the ResumeHeader of a history or of a topic that is complete.
const ResumeEnd = ":end"

// resumeAt returns the ResumeHeader of an answer; empty if it has none.
func resumeAt(answer any) string {
	switch a := answer.(type) {
	case historyPage:
		at := string(a.RunID) + ":" + strconv.FormatInt(a.Next-1, 10)
		if a.Closed {
			at += ResumeEnd
		}
		return at
	case *schema.ListResponse:
		return a.Version
	case *schema.TopicResponse:
		run, end := a.RunID, ""
		if a.NewRunID != "" {
			run = a.NewRunID
		} else if a.Closed {
			end = ResumeEnd
		}
		return string(run) + ":" + strconv.FormatInt(a.Next, 10) + end
	}
	return ""
}

// WaitedHeader is the header of a request that waits. It says how long its caller has waited since
// the last news, with the requests of the same call before it, as "3.25s". Without it, that is not
// at all.
const WaitedHeader = "Weft-Waited"

// waiting returns the parser of a request that may wait, whose usual parser is p.
func waiting(p *command.Parser, r *http.Request) *command.Parser {
	streams := r.Context().Value(streamKey{}) != nil
	waited := r.Header.Values(WaitedHeader)
	if len(waited) == 0 && !streams {
		return p
	}
	waits := *p
	waits.Waited, waits.Streams = waited, streams
	return &waits
}

type streamKey struct{}

// InStream returns a context for a request whose answer becomes a part of a stream of server-sent
// events. It is held until the soft limit, because its reader does not pause between answers.
func InStream(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, true)
}

// retryAfter returns how long the caller of an answer pauses before the next request; 0 is not at
// all.
func retryAfter(answer any) time.Duration {
	switch a := answer.(type) {
	case *schema.ResultResponse:
		return time.Duration(a.RetryAfter)
	case *schema.StartResponse:
		if a.Outcome != nil {
			return time.Duration(a.Outcome.RetryAfter)
		}
	case *schema.UpdateResponse:
		return time.Duration(a.RetryAfter)
	case historyPage:
		return time.Duration(a.RetryAfter)
	case *schema.TopicResponse:
		return time.Duration(a.RetryAfter)
	case *schema.ListResponse:
		return time.Duration(a.RetryAfter)
	}
	return 0
}

func (h *handler) history(r *http.Request) (int, historyPage, error) {
	q := r.URL.Query()
	size, err := pageSize(q, "events", command.MostEvents, command.MostEvents)
	if err != nil {
		return 0, historyPage{}, err
	}
	of, err := waiting(h.service.Process.Parser(), r).HistoryPage(r.PathValue("id"), runID(r), command.HistoryPage{PageToken: q.Get("pageToken"), From: q.Get("from"), Size: size, Wait: q.Get("wait")})
	if err != nil {
		return 0, historyPage{}, err
	}
	page, err := h.service.Requests.History(r.Context(), of)
	if err != nil {
		return 0, historyPage{}, err
	}
	if !takeRoom(r.Context()) {
		return 0, historyPage{}, refusal.Busy.New("the server's memory for answers is in use: send the request again")
	}
	answer := historyPage{WorkflowID: r.PathValue("id"), RunID: page.RunID, Next: of.From(), RetryAfter: page.RetryAfter}
	if answer.Events, err = fitting(page.Events); err != nil {
		return 0, historyPage{}, err
	}
	more := page.More || len(answer.Events) < len(page.Events)
	if n := len(answer.Events); n > 0 {
		answer.Next = page.Events[n-1].ID + 1
	}
	if more {
		answer.NextPageToken = command.HistoryToken(page.RunID, answer.Next)
	} else if page.Closed {
		answer.Closed, answer.NewRunID = true, page.NewRunID
	}
	return http.StatusOK, answer, nil
}

// historyPage is a schema.HistoryResponse whose events are encoded.
type historyPage struct {
	WorkflowID    string            `json:"workflowId"`
	RunID         history.RunID     `json:"runId"`
	Events        []json.RawMessage `json:"events"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
	Next          int64             `json:"next"`
	Closed        bool              `json:"closed"`
	NewRunID      history.RunID     `json:"newRunId,omitempty"`
	RetryAfter    schema.Duration   `json:"retryAfter,omitempty"`
}

// awaitList answers a list that may wait for another version of its page.
func (h *handler) awaitList(r *http.Request, l *command.List) (int, *schema.ListResponse, error) {
	q := r.URL.Query()
	c, err := waiting(h.service.Process.Parser(), r).AwaitList(l, q.Get("version"), q.Get("wait"))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Lists.AwaitList(r.Context(), c)
	return http.StatusOK, answer, err
}

// Waits reports whether the query string of a request has a wait.
func Waits(r *http.Request) bool { return r.URL.Query().Get("wait") != "" }

type moreKey struct{}

// WithMore returns a context for a request whose handler calls more if other items of the topic
// follow the answer already, or those of another run: the next request need not wait.
func WithMore(ctx context.Context, more func()) context.Context {
	return context.WithValue(ctx, moreKey{}, more)
}

// reportMore says that the next request need not wait, to whoever asked for that.
func reportMore(ctx context.Context) {
	if more, ok := ctx.Value(moreKey{}).(func()); ok {
		more()
	}
}

type roomKey struct{}

// WithRoom returns a context for a request that waits and then reads a run. When the wait is over,
// the handler calls take, which takes memory for the answer. If take returns false, the handler
// refuses the request as busy.
func WithRoom(ctx context.Context, take func() bool) context.Context {
	return context.WithValue(ctx, roomKey{}, take)
}

func takeRoom(ctx context.Context) bool {
	take, ok := ctx.Value(roomKey{}).(func() bool)
	return !ok || take()
}

// EventStream is the content type of server-sent events.
const EventStream = "text/event-stream"

// AcceptsEvents reports whether a request takes server-sent events, on a route that has them. This
// package has none: package live makes them of the pages of the route.
func AcceptsEvents(r *http.Request) bool {
	if r.Method != http.MethodGet || !accepts(r, EventStream) {
		return false
	}
	t := Find(r)
	return t != nil && t.Streams
}

// accepts reports whether the Accept header of a request has one of the types, with no weight
// of 0.
func accepts(r *http.Request, types ...string) bool {
	for _, value := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			typ, parameters, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil && q == 0 {
				continue
			}
			if slices.Contains(types, typ) {
				return true
			}
		}
	}
	return false
}

// checkAccept refuses a request that takes server-sent events and nothing else.
func checkAccept(r *http.Request) error {
	if AcceptsEvents(r) && !accepts(r, "application/json", "application/*", "*/*") {
		return refusal.NotAcceptable.New("there are no server-sent events here: ask for application/json, and wait for news with wait=20s and the next or the version of the answer before")
	}
	return nil
}

// WriteNothing answers a reader of server-sent events that nothing can follow: 204, and it cost
// nothing.
func WriteNothing(w http.ResponseWriter) {
	w.Header().Set(CostHeader, meter.Cost{}.String())
	w.WriteHeader(http.StatusNoContent)
}
