package processes_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
)

// With isolation, a child replays the code to say where it waits. Code that ends its process is
// refused when it is parked, and others are still answered.
func TestWaitsOfChildren(t *testing.T) {
	s := serve(t, 1)
	if got := s.post(t, "/v1/workflows", `{"workflowId":"waits","type":"counter"}`); got != http.StatusCreated {
		t.Fatalf("start: %d", got)
	}
	check := func() {
		t.Helper()
		w, err := s.c.Waits(t.Context(), "waits", "")
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(w.Coroutines, func(c client.Coroutine) bool { return c.Name == "main" })
		if w.State != client.StateWaiting || w.Stopped != nil || i < 0 {
			t.Fatalf("%+v", w)
		}
		if at := w.Coroutines[i].At; len(at) == 0 || !strings.HasPrefix(at[0].Place, "processes/") || len(w.Coroutines[i].WaitsFor) == 0 {
			t.Errorf("%+v", w.Coroutines[i])
		}
	}
	check()
	s.startFatal(t, `{"workflowId":"fatal","type":"fatal","input":1}`)
	if got := s.log.until("a workflow is parked")["workflowId"]; got != "fatal" {
		t.Errorf("the log says that %v is parked", got)
	}
	if w, err := s.c.Waits(t.Context(), "fatal", ""); !errors.Is(err, client.ErrNotReady) {
		t.Errorf("the waits of a parked workflow: %+v, %v", w, err)
	}
	check()
	if err := s.c.Terminate(t.Context(), "fatal", "", "enough"); err != nil {
		t.Error(err)
	}
	if w, err := s.c.Waits(t.Context(), "fatal", ""); err != nil || w.Status != history.Terminated || len(w.Coroutines) != 0 {
		t.Errorf("%+v, %v", w, err)
	}
}
