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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	batches "github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/queue"
)

// errParked is the error of work of a parked workflow.
var errParked = errors.New("isolate: the workflow is parked")

// errBusy says that a request waited too long for a child, or that too many are waiting. It did
// nothing.
var errBusy = errors.New("isolate: no child process is free")

// errTaken says that another suspect has its turn in the solo child. The work did nothing.
var errTaken = errors.New("isolate: another suspect runs alone")

// job is work for a child.
type job struct {
	workflow, run string
	// runsCode says that the workflow's code may run. Work that runs no code is never blamed.
	runsCode bool
	// ends says that the work closes or deletes a run of the workflow.
	ends bool
	// request says that a caller waits, so the wait for a child is bounded.
	request bool
}

// within gives a job to the child of its workflow, and blames the workflow if the child dies
// meanwhile. do returns an error that wraps errBroken if the child did not answer. within returns
// errParked, errTaken or errBusy without a call of do.
func (p *Pool) within(ctx context.Context, j job, do func(ctx context.Context, c *process) error) error {
	c, release, err := p.reserve(ctx, j)
	if err != nil {
		return err
	}
	defer release()
	if c.alone && j.request {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, aloneAtMost)
		defer cancel()
	}
	if !j.runsCode || j.workflow == "" { // it is not to blame
		return c.doing(func() error { return do(ctx, c) })
	}
	leave := c.enter(j.workflow, j.run)
	answered := false
	defer func() {
		if answered {
			leave()
		} else {
			p.all.Go(func() { c.linger(leave) })
		}
	}()
	err = c.doing(func() error { return do(ctx, c) })
	answered = !errors.Is(err, errBroken) && ctx.Err() == nil
	switch {
	case errors.Is(err, errBroken) && c.over(ctx):
		p.blameFor(c) // before the caller has an answer
	case err == nil && c.alone && c.askWhetherReturned(ctx, j.workflow):
		p.clear(j.workflow)
	}
	return err
}

// reserve waits for the child that does a job. A request waits no longer than waitFor, and only if
// fewer than mostWaiting others wait. Call release when the job is done.
func (p *Pool) reserve(ctx context.Context, j job) (c *process, release func(), err error) {
	waiting := ctx
	if j.request {
		if !p.waiting.TryAcquire(1) {
			return nil, nil, errBusy
		}
		defer p.waiting.Release(1)
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, waitFor)
		defer cancel()
	}
	if c, release, err = p.next(waiting, j); err != nil && ctx.Err() == nil && waiting.Err() != nil {
		err = errBusy
	}
	return c, release, err
}

// next waits for the child of a job: the solo child if it has to run alone. A delivery does not
// wait for its turn there, because that would delay other deliveries. Work of a parked workflow is
// refused without a wait.
func (p *Pool) next(ctx context.Context, j job) (c *process, release func(), err error) {
	alone, err := p.alone(j)
	if err != nil {
		return nil, nil, err
	}
	if alone {
		free, err := p.turn(ctx, j.request)
		if err != nil {
			return nil, nil, err
		}
		if alone, err = p.alone(j); alone { // it was not cleared or parked while it waited
			p.inTurn.Store(j.workflow)
			if c, err = p.solo.take(ctx); err == nil {
				return c, p.limitTurn(free), nil
			}
		}
		free()
		if err != nil {
			return nil, nil, err
		}
	}
	c, err = p.slotOf(j.workflow).take(ctx)
	return c, func() {}, err
}

// alone reports whether a job must run in the solo child, because its workflow is a suspect
// and its code may run. It returns errParked if the workflow is parked.
func (p *Pool) alone(j job) (bool, error) {
	if !j.runsCode {
		return false, nil
	}
	suspect, parked := p.suspects.state(j.workflow)
	if parked {
		return false, errParked
	}
	return suspect, nil
}

// turn waits until no other suspect has its turn, and returns a function that ends this turn.
func (p *Pool) turn(ctx context.Context, wait bool) (end func(), err error) {
	select {
	case p.oneByOne <- struct{}{}:
	default:
		if !wait {
			return nil, errTaken
		}
		select {
		case p.oneByOne <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return sync.OnceFunc(func() {
		<-p.oneByOne
		p.wake()
	}), nil
}

// limitTurn ends a turn after a while, and returns a function that ends it earlier. The code then
// continues in the solo child, beside that of the next suspect. The time begins when the suspect
// has the solo child. Starting another may take longer than a turn.
func (p *Pool) limitTurn(free func()) (end func()) {
	over := time.AfterFunc(p.suspects.turn(), free)
	return func() {
		over.Stop()
		free()
	}
}

// askWhetherReturned asks the solo child whether a workflow's code has run there, and returned.
// Work can succeed without that: a request is refused because the code failed before, or a task is
// recorded as failed because its code hangs.
func (c *process) askWhetherReturned(ctx context.Context, workflow string) bool {
	got, err := call[none, status](ctx, c.client, pathStatus, none{})
	return err == nil && got.Returned == workflow && !slices.Contains(got.Workflows, workflow)
}

// doing carries out work that the slot has counted. A reverse proxy may panic.
func (c *process) doing(do func() error) error {
	defer c.work.Done()
	return do()
}

// blameFor blames the work in flight in a child that died. If a workflow was alone in the solo
// child, it is to blame, and all others that have not ended a process alone are cleared. Of
// several, the one whose turn it is probably is. The file of suspects is written once: the place of
// the child waits for it, and so do all whose work was in flight.
func (p *Pool) blameFor(c *process) {
	c.blame(func(flying map[string]flight) {
		for workflow, f := range flying {
			switch {
			case !c.alone:
				p.blame(workflow, f.run, 0)
			case len(flying) == 1:
				p.blame(workflow, f.run, certain)
				p.suspects.acquit(workflow)
				defer p.wake()
			case p.inTurn.Load() == workflow:
				p.blame(workflow, f.run, doubtful)
			}
		}
		if c.alone && len(flying) > 1 {
			p.suspects.doubt()
		}
		if len(flying) > 0 {
			p.suspects.save()
		}
	})
}

// blame records that a child died with code of a workflow in flight, or that the code hung in it.
// The caller saves the suspects. run may be empty: a request does not have it.
func (p *Pool) blame(workflow, run string, halves int) {
	if p.suspects.add(workflow, halves) {
		p.o.Log.Error("a workflow is parked: its code has ended child processes in which it ran alone, or hung in them; terminate it, or start the server with code that is fixed",
			"workflowId", workflow, "runId", run, "deaths", soloDeaths)
	}
}

// Deliver gives messages that are handled together to a child, and returns the receipts of those
// that are finished. Messages that a child did not answer are visible again at once: they may be
// handled twice, as after any crash. Messages of parked workflows are postponed.
func (p *Pool) Deliver(ctx context.Context, name string, part []queue.Delivery) (done []string) {
	m, err := outbox.Decode(part[0].Body)
	if err != nil {
		p.o.Log.ErrorContext(ctx, "a message cannot be read", "error", err)
		return nil
	}
	size := least
	for _, d := range part {
		size += int64(len(d.Body))
	}
	size = min(size, budget)
	if err := p.given.Acquire(ctx, size); err != nil {
		return nil
	}
	defer p.given.Release(size)
	j := job{workflow: m.WorkflowID, run: fmt.Sprint(m.RunID), runsCode: true}
	err = p.within(ctx, j, func(ctx context.Context, c *process) (err error) {
		done, err = call[delivered, []string](ctx, c.client, pathDeliver, delivered{name, part})
		return err
	})
	if err == nil {
		return done
	}
	again := delivery{workflow: m.WorkflowID, queue: name}
	for _, d := range part {
		again.receipts = append(again.receipts, d.Receipt)
	}
	switch {
	case errors.Is(err, errParked):
		p.putOff(ctx, again, queue.MaxDelay)
	case errors.Is(err, errTaken):
		p.putOff(ctx, again, p.suspects.delay())
	default:
		p.o.Log.WarnContext(ctx, "the queue redelivers messages that no child process has handled", "workflowId", m.WorkflowID, "runId", m.RunID, "error", err)
		p.extend(ctx, name, again.receipts, 0)
	}
	return nil
}

// mostPeeked is how much of the body of a start is read to find the workflow's id. The whole body,
// of any size, is passed to the child.
const mostPeeked = 8 << 20

// ServeHTTP lets a child answer a request.
func (p *Pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/-/") {
		http.NotFound(w, r) // these are the parent's
		return
	}
	size := peeked(r)
	if !p.given.TryAcquire(size) {
		httpapi.WriteProblem(w, refusal.Busy.New("the server reads as many requests as it may"))
		return
	}
	defer p.given.Release(size)
	j, err := route(r)
	if err != nil {
		httpapi.WriteProblem(w, refusal.Invalid.New("the body cannot be read"))
		return
	}
	began, err := p.proxy(w, r, j)
	switch {
	case err == nil, began:
	case errors.Is(err, errParked):
		httpapi.WriteProblem(w, refusal.NotReady.New("the workflow %q is parked: its code has ended the process, or hung, %d times; terminate it, or start the server with code that is fixed", j.workflow, soloDeaths))
	case errors.Is(err, errBusy), errors.Is(err, errStopped):
		httpapi.WriteProblem(w, refusal.Busy.New("no process was free to carry out the request: send it again"))
	default:
		httpapi.WriteProblem(w, refusal.OutcomeUnknown.New("the process that carried out the request did not answer: it may have been done; send it again"))
	}
}

// peeked returns how many bytes of a request's body route may hold.
func peeked(r *http.Request) int64 {
	if r.ContentLength < 0 {
		return mostPeeked
	}
	return min(r.ContentLength, mostPeeked)
}

// proxy passes a request to a child, and reports whether the child began to answer.
func (p *Pool) proxy(w http.ResponseWriter, r *http.Request, j job) (began bool, err error) {
	arrived := time.Now()
	err = p.within(r.Context(), j, func(ctx context.Context, c *process) (err error) {
		waited := time.Since(arrived)
		proxy := httputil.ReverseProxy{
			Rewrite: func(out *httputil.ProxyRequest) {
				out.Out.URL = &url.URL{Scheme: "http", Host: "weft", Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
				out.Out.GetBody = nil
				markShort(out.Out.Header, c.alone, waited)
			},
			Transport:     c.client.Transport,
			FlushInterval: -1,
			ModifyResponse: func(answer *http.Response) error {
				began = true
				if j.ends && answer.StatusCode < http.StatusInternalServerError {
					p.clear(j.workflow) // its next run may be another program
				}
				return nil
			},
			ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, cause error) {
				err = errors.Join(errBroken, cause)
			},
		}
		proxy.ServeHTTP(w, r.WithContext(ctx))
		return err
	})
	return began, err
}

// markShort marks a request whose wait the child has to end soon, and removes the mark from others.
func markShort(header http.Header, alone bool, waited time.Duration) {
	header.Del(headerShort)
	if alone || waited >= longWait {
		header.Set(headerShort, "1")
	}
}

// route returns the job of a request. Its workflow is empty if it is about none, as in a list, or
// if the API has no such request: the child then refuses it.
func route(r *http.Request) (j job, err error) {
	j.request = true
	to := httpapi.Find(r)
	if to == nil {
		return j, nil
	}
	j.runsCode, j.ends = to.Access.RunsCode(), to.Access == httpapi.Ends
	if j.workflow, err = to.Workflow(r); err != nil || j.workflow != "" || !to.HasBody() || r.Body == nil {
		return j, err
	}
	begin, err := io.ReadAll(io.LimitReader(r.Body, mostPeeked))
	if err != nil {
		return j, err
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), r.Body), r.Body}
	j.workflow = named(begin)
	return j, nil
}

// named returns the id of the workflow that a body names. If a body is malformed, the child says
// so.
func named(body []byte) string {
	var ids struct{ WorkflowID, ScheduleID, BatchID, Token string }
	_ = json.Unmarshal(body, &ids) // the child says it
	if ids.ScheduleID != "" {
		ids.ScheduleID = stored.IDPrefix + ids.ScheduleID
	}
	if ids.BatchID != "" {
		ids.BatchID = batches.IDPrefix + ids.BatchID
	}
	// A token itself must not get into the log or the file of suspects.
	id := cmp.Or(ids.WorkflowID, ids.ScheduleID, ids.BatchID, executor.TokenWorkflow(ids.Token))
	if engine.CheckID("workflowId", id) != nil && !strings.HasPrefix(id, stored.IDPrefix) {
		return "" // no such workflow can run
	}
	return id
}
