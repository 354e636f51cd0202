package local

import (
	"net"
	"sync/atomic"
	"time"
)

const (
	// writeChunk is how many bytes of an answer a reader has to take within writeWait.
	writeChunk = 64 << 10
	// writeWait is how long a reader may take for a chunk before the server closes its connection.
	writeWait = 30 * time.Second
	// chunkTime is how long a reader may take for a chunk of an answer that holds room in the budget for large ones, after the first writeWait.
	chunkTime = time.Second
)

// writeTime is how long the reader of a large answer of this many bytes may take for all of it.
func writeTime(size int64) time.Duration { return writeWait + time.Duration(size/writeChunk)*chunkTime }

// progressListener is a listener whose connections end when their reader takes no bytes for writeWait.
type progressListener struct{ net.Listener }

// Accept returns the next connection, or the error of the listener.
func (l progressListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &progressConn{Conn: c}, nil
}

// progressConn is a connection whose writes fail if the reader does not take a chunk within
// writeWait. A long answer to a slow but steady reader continues, until the write deadline if there
// is one.
type progressConn struct {
	net.Conn
	limit atomic.Pointer[time.Time] // the write deadline; nil or zero is none
}

// SetWriteDeadline sets the time at which all writes end, besides the wait for each chunk. Zero is
// none.
func (c *progressConn) SetWriteDeadline(t time.Time) error {
	c.limit.Store(&t)
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets both deadlines.
func (c *progressConn) SetDeadline(t time.Time) error {
	c.limit.Store(&t)
	return c.Conn.SetDeadline(t)
}

// wait sets the deadline of the next chunk. A deadline that is set meanwhile counts.
func (c *progressConn) wait() error {
	for {
		limit, deadline := c.limit.Load(), time.Now().Add(writeWait)
		if limit != nil && !limit.IsZero() && limit.Before(deadline) {
			deadline = *limit
		}
		if err := c.Conn.SetWriteDeadline(deadline); err != nil || c.limit.Load() == limit {
			return err
		}
	}
}

// Write writes p in chunks, each with its own deadline.
func (c *progressConn) Write(p []byte) (written int, err error) {
	for first := true; first || len(p) > 0; first = false {
		if err := c.wait(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[:min(len(p), writeChunk)])
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}
