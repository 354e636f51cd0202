package local

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// probeTime is how long the disk may take for a write before the server is not ready.
const probeTime = 2 * time.Second

// errSlow says that a disk does not answer.
var errSlow = errors.New("the disk has not answered for " + probeTime.String())

// health answers GET /healthz and GET /readyz without a token, and passes all other requests on.
type health struct {
	next  http.Handler
	probe func() error // writes nothing, and returns why nothing can be written

	mu      sync.Mutex
	running *probing // the probe that is under way; nil if there is none
}

// probing is a probe in progress.
type probing struct {
	done chan struct{} // closed when err is set
	err  error
}

// ServeHTTP implements http.Handler.
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.next.ServeHTTP(w, r)
		return
	}
	var err error
	switch r.URL.Path {
	case "/healthz": // the process answers
	case "/readyz":
		err = h.check(r)
	default:
		h.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		httpapi.WriteProblem(w, refusal.NotServing.New("%s", notServing(err)))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"status":"ok"}`+"\n") // if this fails, the caller has gone
}

// check returns why nothing can be written for now, or nil. Callers share a probe, so that a hung
// disk blocks one goroutine.
func (h *health) check(r *http.Request) error {
	h.mu.Lock()
	p := h.running
	if p == nil {
		p = &probing{done: make(chan struct{})}
		h.running = p
		go h.run(p)
	}
	h.mu.Unlock()
	late := time.NewTimer(probeTime)
	defer late.Stop()
	select {
	case <-p.done:
		return p.err
	case <-late.C:
		return errSlow
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func (h *health) run(p *probing) {
	p.err = h.probe()
	h.mu.Lock()
	h.running = nil
	h.mu.Unlock()
	close(p.done)
}

// notServing returns, for a caller, why the server accepts no writes, and what to do.
func notServing(err error) string {
	if text := whyRefused(err); text != "" {
		return text
	}
	switch {
	case errors.Is(err, isolate.ErrNoChild):
		return "no child process runs the code: they start, or end as soon as they do, and the server's log says why"
	case errors.Is(err, errSlow):
		return err.Error() + ": look at the disk of the data directory"
	case errors.Is(err, errOutside):
		return "the program's own store does not answer: look at its server"
	case errors.Is(err, disk.ErrClosed):
		return "the server stops"
	}
	return "the server cannot write to its data directory, and its log says why"
}

// whyRefused returns, for a caller, why the data directory accepts no writes, or "" if the error
// has another cause. It contains no path and no payload.
func whyRefused(err error) string {
	reason := "its log says why"
	var number syscall.Errno
	if errors.As(err, &number) {
		reason = number.Error()
	}
	switch {
	case errors.Is(err, disk.ErrBusy):
		return "the disk of the server's data directory does not keep up, and the server's memory for writes is in use: start it with a larger --memory-limit, or on a faster disk"
	case errors.Is(err, disk.ErrFull):
		return "the disk of the server's data directory accepts no writes for now (" + reason + "): make room on it, and the server continues by itself"
	case errors.Is(err, disk.ErrGone):
		return "a file of the server's data directory was deleted or replaced, so the server takes no more writes; its log names the file: stop the server, put the file back or restore a backup, and start it again"
	case errors.Is(err, disk.ErrEnded):
		return "the server can no longer write to its data directory (" + reason + "), so it ends: start it again"
	}
	return ""
}
