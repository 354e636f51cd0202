package emf_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/observe/emf/emftest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
)

// A run whose code fails counts in StuckTasks in each quarter of an hour, until fixed code is
// deployed: an alarm can rely on that.
func TestStuckRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := emf.New(&out, "default", nil)
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
		if got := sums(); got["StuckTasks"] < 1 || got["StuckTasks"] != got["TaskFailures"] {
			t.Errorf("quarter %d: %v", quarter, got)
		}
	}
	bed.Deploy(1, "build-2")
	bed.Sleep(time.Hour)
	if got := sums(); got["StuckTasks"] != 0 || got["WorkflowTasks"] != 1 {
		t.Errorf("after the fix: %v", got)
	}
}
