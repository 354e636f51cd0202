package httpapi

import (
	"net"
	"net/http"
	"sync"
)

// spares are the connections of a server on which no request has begun. http.Server.Shutdown waits
// five seconds for each; a client that dialed one connection too many would delay every stop.
type spares struct {
	mu      sync.Mutex
	stopped bool
	conns   map[net.Conn]struct{}
}

// CloseSpare makes a server's Shutdown close the connections on which no request has begun. It sets
// the server's ConnState: call it once, before the server serves.
func CloseSpare(server *http.Server) {
	s := &spares{conns: map[net.Conn]struct{}{}}
	server.ConnState = s.changed
	server.RegisterOnShutdown(s.stop)
}

// changed records the state of a connection, and closes a new one if the server stops.
func (s *spares) changed(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.stopped:
		_ = c.Close() // nothing was read from it
	default:
		s.conns[c] = struct{}{}
	}
}

// stop closes the spare connections. A caller whose first request was on its way finds that the
// server did not answer, as after any stop.
func (s *spares) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for c := range s.conns {
		_ = c.Close() // nothing was read from it
	}
}
