package emf_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/observe/emf/emftest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
)

// A healthy run writes no line of metrics. It has updates, one of which is rejected, a signal, a
// query, an activity, a timer in the table, and an end.
func TestHealthyRun(t *testing.T) {
	t.Parallel()
	var lines, all bytes.Buffer
	health, every := emf.New(&lines, "default", emf.Options{}), emf.New(&all, "default", emf.Options{All: true})
	bed := awspath.Testbeds(awspath.Memory, awspath.Ears{Observe: observe.New(health, every)})(t, nil)
	defer bed.Close()
	for _, request := range []testbed.Request{
		{Method: http.MethodPost, Target: "/v1/workflows", Body: `{"workflowId":"a","type":"counter"}`},
		{Method: http.MethodPost, Target: "/v1/workflows/a/updates/add", Body: `{"input":1}`},
		{Method: http.MethodPost, Target: "/v1/workflows/a/updates/add", Body: `{"input":-1}`},
		{Method: http.MethodPost, Target: "/v1/workflows/a/updates/do", Body: `{"waitFor":"accepted","input":{"name":"x","for":"10s"}}`},
		{Method: http.MethodPost, Target: "/v1/workflows/a/updates/nap", Body: `{"waitFor":"accepted","input":"1h"}`},
		{Method: http.MethodPost, Target: "/v1/workflows/a/signals/poke", Body: `{"input":"x"}`},
		{Method: http.MethodPost, Target: "/v1/workflows/a/queries/sum"},
	} {
		bed.Do(1, request)
	}
	bed.Sleep(2 * time.Hour)
	bed.Do(1, testbed.Request{Method: http.MethodPost, Target: "/v1/workflows/a/updates/finish"})
	bed.Sleep(time.Minute)
	if err := errors.Join(health.Flush(), every.Flush()); err != nil {
		t.Fatal(err)
	}
	sums := emftest.Sums(t, all.String())
	for name, least := range map[string]float64{"WorkflowTasks": 6, "UpdatesAccepted": 4, "UpdatesRejected": 1, "ActivityAttempts": 1, "Messages": 2} {
		if sums[name] < least {
			t.Errorf("the run has not been played: %s is %v", name, sums[name])
		}
	}
	if lines.Len() > 0 {
		t.Errorf("a healthy run writes %s", lines.String())
	}
}

// A run whose code fails counts in StuckTasks in each quarter of an hour, until fixed code is
// deployed: an alarm can rely on that.
func TestStuckRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := emf.New(&out, "default", emf.Options{All: true})
	bed := awspath.Testbeds(awspath.Memory, awspath.Ears{Observe: observe.New(r)})(t, nil)
	defer bed.Close()
	sums := func() map[string]float64 {
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		defer out.Reset()
		return emftest.Sums(t, out.String())
	}
	for _, request := range []testbed.Request{
		{Method: http.MethodPost, Target: "/v1/workflows", Body: `{"workflowId":"a","type":"counter"}`},
		{Method: http.MethodPost, Target: "/v1/workflows/a/signals/poke", Body: `{"input":"panic"}`},
	} {
		bed.Do(1, request)
	}
	if got := sums(); got["TaskFailures"] != 1 || got["StuckTasks"] != 0 || got["Writes"] != 2 {
		t.Errorf("after the first failure: %v", got)
	}
	for quarter := range 12 {
		bed.Sleep(15*time.Minute + time.Second)
		if got := sums(); got["StuckTasks"] < 1 || got["StuckTasks"] != got["TaskFailures"] || got["StuckTasks"] != got["CodeFailures"] {
			t.Errorf("quarter %d: %v", quarter, got)
		}
	}
	bed.Deploy(1, "build-2")
	bed.Sleep(time.Hour)
	if got := sums(); got["StuckTasks"] != 0 || got["WorkflowTasks"] != 1 {
		t.Errorf("after the fix: %v", got)
	}
}
