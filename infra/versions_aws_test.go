//go:build aws

package infra_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// lambda plays Lambda's API for functions that look for their version with build-1. It lists
// version 7 with that build, and answers that each event that it gets succeeded, without doing
// anything. The alias live moves from that version to version 8, this build, which has all runs.
func (d *deployment) lambda(w http.ResponseWriter, r *http.Request) {
	answer := `{"batchItemFailures":[]}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/versions"):
		answer = `{"Versions":[{"Version":"7","Environment":{"Variables":{"WEFT_BUILD":"build-1"}}},{"Version":"8","Environment":{"Variables":{"WEFT_BUILD":"build-2"}}}]}`
	case strings.HasSuffix(r.URL.Path, "/aliases/live"):
		answer = `{"FunctionVersion":"7","RoutingConfig":{"AdditionalVersionWeights":{"8":1}}}`
	case strings.HasSuffix(r.URL.Path, "-api/invocations"), strings.HasSuffix(r.URL.Path, "-api:live/invocations"):
		answer = `{"statusCode":202,"body":"{}"}`
	}
	_, _ = io.WriteString(w, answer)
}

// runPinned passes the work of a pinned run of build-1 to each function: a request, a timer and an
// activity. So it does with runs that are not pinned, whose owner each function has to find out.
func (d *deployment) runPinned(v *traveller) {
	d.t.Helper()
	l, ctx := &letters{}, d.t.Context()
	c := client.ForHandler(d.build1(v, l).API)
	for _, step := range []string{work, nap} {
		if _, err := pinned.Start(ctx, c, "pinned-"+step, []string{step}); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := note.Send(ctx, d.Client, "pinned-work", nil); err != nil {
		d.t.Errorf("a request that a version answers: %v", err)
	}
	for _, step := range []string{work, nap, listen} {
		if _, err := walk.Start(ctx, c, "owned-"+step, []string{step}); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := note.Send(ctx, d.Client, "owned-listen", nil); err != nil {
		d.t.Errorf("a request for a run that this build owns: %v", err)
	}
	for i, role := range []adapter.Role{adapter.Activity, adapter.Workflow, adapter.Activity, adapter.Workflow} {
		m, err := outbox.Decode(l.sent[i].Body)
		if err != nil {
			d.t.Fatal(err)
		}
		m.Due = 0
		d.hand(role, body(d.t, m))
	}
}

// build1 is a process of build-1 on the same table.
func (d *deployment) build1(v *traveller, l *letters) *assembly.Process {
	d.t.Helper()
	s := d.store()
	o := executor.Options{Build: "build-1", Logger: slog.New(slog.DiscardHandler)}
	p := assembly.NewProcess(assembly.Config{
		Ports: assembly.PortsOf(s, s.Lister(), l), Registry: testbed.Registry(d.t, v.registrations()...), Host: host.Machine{}, Options: o,
	})
	d.t.Cleanup(p.Service.Process.Close)
	return p
}
