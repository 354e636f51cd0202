package isolate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/queue"
)

// errParked is what work of a parked workflow comes to.
var errParked = errors.New("isolate: the workflow is parked")

// within hands work of a workflow to its child, and sees to what its death comes to. do returns an error that wraps errBroken if the
// child did not answer.
func (p *Pool) within(ctx context.Context, workflow, run string, runsCode bool, do func(c *process) error) error {
	suspect, parked := p.suspects.state(workflow)
	if parked && runsCode {
		return errParked
	}
	s := p.slotOf(workflow)
	if suspect && runsCode {
		select {
		case p.oneByOne <- struct{}{}:
			defer func() { <-p.oneByOne }()
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, parked = p.suspects.state(workflow); parked {
			return errParked
		}
		s = p.solo
	}
	c, err := s.take(ctx)
	if err != nil {
		return err
	}
	err = c.doing(func() error { return do(c) })
	switch {
	case !runsCode || workflow == "": // it is not to blame
	case errors.Is(err, errBroken) && c.died(ctx):
		p.blame(workflow, run, suspect)
	case err == nil && suspect:
		p.suspects.clear(workflow)
	}
	return err
}

// doing carries out work that the slot has counted. A reverse proxy may panic.
func (c *process) doing(do func() error) error {
	defer c.work.Done()
	return do()
}

// blame remembers that a child died with a workflow in flight.
func (p *Pool) blame(workflow, run string, solo bool) {
	if p.suspects.add(workflow, solo) {
		p.o.Log.Error("a workflow is parked: its code has ended child processes in which it ran alone; terminate it, or start the server with code that is fixed",
			"workflowId", workflow, "runId", run, "deaths", soloDeaths)
	}
}

// Deliver hands messages that are handled together to a child, and returns the receipts of those that are done with. What a child did not
// answer is visible again at once: it may be handled a second time, as after any crash. What is parked is put off.
func (p *Pool) Deliver(ctx context.Context, name string, part []queue.Delivery) (done []string) {
	m, err := turn.DecodeMessage(part[0].Body)
	if err != nil {
		p.o.Log.ErrorContext(ctx, "a message cannot be read", "error", err)
		return nil
	}
	err = p.within(ctx, m.WorkflowID, fmt.Sprint(m.RunID), true, func(c *process) (err error) {
		done, err = call[delivered, []string](ctx, c.client, pathDeliver, delivered{name, part})
		return err
	})
	if err == nil {
		return done
	}
	again := queue.MaxDelay
	if !errors.Is(err, errParked) {
		again = 0
		p.o.Log.WarnContext(ctx, "messages will come again", "workflowId", m.WorkflowID, "runId", m.RunID, "error", err)
	}
	for _, d := range part {
		if err := p.o.Receiver.Extend(ctx, name, d.Receipt, again); err != nil {
			p.o.Log.WarnContext(ctx, "a message comes again when its time-out has passed", "error", err)
		}
	}
	return nil
}

// mostPeeked is how much of the body of a start is read to find the workflow's id. The body of any size goes on to the child.
const mostPeeked = 8 << 20

// ServeHTTP has a child answer a request.
func (p *Pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/-/") {
		http.NotFound(w, r) // these are the parent's
		return
	}
	workflow, runsCode, err := route(r)
	if err != nil {
		refuse(w, api.Invalid.New("the body cannot be read"))
		return
	}
	began, err := p.proxy(w, r, workflow, runsCode)
	switch {
	case err == nil, began:
	case errors.Is(err, errParked):
		refuse(w, api.NotReady.New("the workflow %q is parked: its code has ended the process %d times; terminate it, or start the server with code that is fixed", workflow, soloDeaths))
	default:
		refuse(w, api.OutcomeUnknown.New("the process that carried out the request ended: it may have been done; send it again"))
	}
}

// proxy hands a request to a child, and reports whether the child began to answer.
func (p *Pool) proxy(w http.ResponseWriter, r *http.Request, workflow string, runsCode bool) (began bool, err error) {
	err = p.within(r.Context(), workflow, "", runsCode, func(c *process) (err error) {
		proxy := httputil.ReverseProxy{
			Rewrite: func(out *httputil.ProxyRequest) {
				out.Out.URL = &url.URL{Scheme: "http", Host: "weft", Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
				out.Out.GetBody = nil
			},
			Transport:     c.client.Transport,
			FlushInterval: -1,
			ModifyResponse: func(answer *http.Response) error {
				began = true
				if ends(r) && answer.StatusCode < http.StatusInternalServerError {
					p.suspects.clear(workflow) // its next run may be another program
				}
				return nil
			},
			ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, cause error) {
				err = errors.Join(errBroken, cause)
			},
		}
		proxy.ServeHTTP(w, r)
		return err
	})
	return began, err
}

func refuse(w http.ResponseWriter, problem *api.Problem) {
	body, err := json.Marshal(problem)
	if err != nil {
		body = nil // the status says it
	}
	w.Header().Set("Content-Type", "application/problem+json")
	if problem.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(problem.Status)
	_, _ = w.Write(append(body, '\n')) // the caller has gone
}

// ends reports whether a request terminates or deletes a run: no code of it runs for that.
func ends(r *http.Request) bool {
	return r.Method == http.MethodDelete ||
		r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/terminate") && strings.Count(r.URL.Path, "/") == 4
}

// route returns the id of the workflow that a request is about, and whether its code may run for it. It is empty if there is none, as in
// a list.
func route(r *http.Request) (workflow string, runsCode bool, err error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if len(parts) > 2 && (parts[1] == "workflows" || parts[1] == "schedules") {
		id, err := url.PathUnescape(parts[2])
		if parts[1] == "schedules" {
			id = api.SchedulePrefix + id
		}
		return id, r.Method != http.MethodGet && !ends(r), err
	}
	if r.Method != http.MethodPost || r.Body == nil {
		return "", false, nil
	}
	begin, err := io.ReadAll(io.LimitReader(r.Body, mostPeeked))
	if err != nil {
		return "", false, err
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), r.Body), r.Body}
	var ids struct{ WorkflowID, ScheduleID, Token string }
	_ = json.Unmarshal(begin, &ids) // the child says what is wrong with it
	if ids.ScheduleID != "" {
		ids.ScheduleID = api.SchedulePrefix + ids.ScheduleID
	}
	return cmp.Or(ids.WorkflowID, ids.ScheduleID, ids.Token), true, nil
}
