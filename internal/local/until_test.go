package local

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A server that is stopped while it opens its directory ends: at once, or after a while if the
// directory does not open. It closes what opens.
func TestStopWhileItOpens(t *testing.T) {
	for name, takes := range map[string]time.Duration{"soon": time.Second, "late": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				opened, closed := false, make(chan bool, 1)
				go func() {
					synctest.Wait()
					stop()
				}()
				began := time.Now()
				s, err := openUntil(ctx, func() (*Server, error) {
					time.Sleep(takes)
					opened = true
					return &Server{}, nil
				}, func(*Server) error { closed <- true; return nil })
				if s != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("%v, %v, want no server and that it was stopped", s, err)
				}
				if took := time.Since(began); took != min(takes, stopAfter) { // the clock of the bubble
					t.Errorf("it ended after %v, want %v", took, min(takes, stopAfter))
				}
				<-closed
				if !opened {
					t.Error("it closed what was not open")
				}
			})
		})
	}
}

// A server that is not stopped gets the result of opening it.
func TestOpenUntil(t *testing.T) {
	want := &Server{}
	no := func(*Server) error { t.Error("it was closed"); return nil }
	if s, err := openUntil(t.Context(), func() (*Server, error) { return want, nil }, no); s != want || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := openUntil(t.Context(), func() (*Server, error) { return nil, errors.ErrUnsupported }, no); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want its error", err)
	}
}
