package local

import (
	"net"
	"time"
)

const (
	// writeChunk is how many bytes of an answer a reader has to take within writeWait.
	writeChunk = 64 << 10
	// writeWait is how long a reader may take for a chunk before the server closes its connection.
	writeWait = 30 * time.Second
)

// progressListener is a listener whose connections end when their reader takes no bytes for writeWait.
type progressListener struct{ net.Listener }

// Accept returns the next connection, or the error of the listener.
func (l progressListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return progressConn{c}, nil
}

// progressConn is a connection whose writes fail when the reader does not take a chunk within writeWait. A long answer to a reader who
// reads slowly but steadily goes on.
type progressConn struct{ net.Conn }

// Write writes p in chunks, each with a deadline of its own.
func (c progressConn) Write(p []byte) (written int, err error) {
	for first := true; first || len(p) > 0; first = false {
		if err := c.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
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
