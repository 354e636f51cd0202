package local

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A reader that reads nothing is cut off. One that takes a chunk at a time, each within the wait,
// gets everything.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, reader := net.Pipe()
		defer reader.Close()
		if n, err := (&progressConn{Conn: server}).Write(make([]byte, 3*writeChunk)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a reader who does not read: %d bytes, %v", n, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		server, reader := net.Pipe()
		defer reader.Close()
		go func() {
			for range 3 {
				time.Sleep(writeWait - time.Second)
				_, _ = io.ReadFull(reader, make([]byte, writeChunk))
			}
		}()
		if n, err := (&progressConn{Conn: server}).Write(make([]byte, 3*writeChunk)); n != 3*writeChunk || err != nil {
			t.Errorf("a reader who reads slowly: %d bytes, %v", n, err)
		}
	})
}
