package local_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/local"
)

// A connection on which no request ever began does not keep the server from stopping cleanly.
func TestStopWithASpareConnection(t *testing.T) {
	s, err := local.Open(&engine.Registry{}, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := local.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	spare, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = spare.Close() }()
	// The server accepts in order: once it has answered here, it has accepted the spare one.
	answer, err := http.Get("http://" + l.Addr().String() + "/v1/workflows")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
