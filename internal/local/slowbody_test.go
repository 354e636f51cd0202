package local

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes, on which the time of a bubble counts.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// dial returns a client's connection.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.accepted <- server
	return client
}

// servePipes serves a handler as Serve does, until the function it returns is called.
func servePipes(h http.Handler) (p *pipes, end func()) {
	p = &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readTime, IdleTimeout: 2 * time.Minute}
	go func() { _ = server.Serve(progressListener{p}) }()
	return p, func() { _ = server.Close() }
}

// post begins a request of so many bytes.
func post(c net.Conn, query string, size int) {
	_, _ = fmt.Fprintf(c, "POST /a?%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", query, size)
}

// answerOf reads an answer.
func answerOf(c net.Conn) (status int, body string, err error) {
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// Clients that declare large bodies and send next to nothing hold no room. A client that sends some
// and then stops loses its room to another that waits. One that sends steadily keeps its room.
func TestSlowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		p, end := servePipes(a.h)
		defer end()
		var silent, stuck []net.Conn
		for range 30 { // of 6 MiB each: more than the budget
			silent = append(silent, p.dial())
			post(silent[len(silent)-1], "", largestBody)
			_, _ = silent[len(silent)-1].Write([]byte("{"))
		}
		synctest.Wait()
		checkAllBack(t, a.budget)

		for range 2 { // all that one client may hold; all pipes are one client
			c := p.dial()
			stuck = append(stuck, c)
			post(c, "", largestBody)
			_, _ = c.Write(make([]byte, unbudgeted+1))
		}
		synctest.Wait()
		steady := p.dial()
		post(steady, "", 4*readChunk)
		done := make(chan error, 1)
		go func() {
			_, _ = steady.Write(make([]byte, unbudgeted))
			for sent := unbudgeted; sent < 4*readChunk; {
				time.Sleep(readWait - time.Second)
				n, err := steady.Write(make([]byte, min(readChunk, 4*readChunk-sent)))
				if sent += n; err != nil {
					done <- err
					return
				}
			}
			status, body, err := answerOf(steady)
			if status != http.StatusOK || err != nil {
				err = fmt.Errorf("%d %.200s %w", status, body, err)
			}
			done <- err
		}()
		waiting := p.dial()
		post(waiting, "", largestBody)
		_, err := waiting.Write(make([]byte, largestBody))
		if status, body, answered := answerOf(waiting); status != http.StatusOK || err != nil || answered != nil {
			t.Errorf("a client who waits for the room of others who stopped: %d %.200s, %v, %v", status, body, err, answered)
		}
		for _, c := range stuck {
			if status, body, err := answerOf(c); status != http.StatusServiceUnavailable || err != nil || !strings.Contains(body, slowBody) {
				t.Errorf("a client who stopped: %d %.200s, %v", status, body, err)
			}
		}
		if err := <-done; err != nil {
			t.Errorf("a client who sends steadily: %v", err)
		}
		time.Sleep(readTime)
		for _, c := range silent {
			if status, _, err := answerOf(c); status != http.StatusOK || err != nil { // the asker's answer to a body that it could not read
				t.Errorf("a client who sent nothing, after the time of a request: %d, %v", status, err)
			}
		}
		synctest.Wait()
		checkAllBack(t, a.budget)
	})
}

// deadlines is a writer that has read deadlines, and remembers the last one.
type deadlines struct {
	http.ResponseWriter
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.last = t
	return nil
}

// Between two reads only the deadline of the whole request counts.
func TestDeadlineBetweenReads(t *testing.T) {
	t.Parallel()
	d := &deadlines{ResponseWriter: httptest.NewRecorder()}
	newBudget(0, 1000).bounded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadFull(r.Body, make([]byte, 2*unbudgeted))
		if body := r.Body.(*boundedBody); err != nil || d.last != body.until {
			t.Errorf("the deadline is %v, want %v; %v", d.last, body.until, err)
		}
	})).ServeHTTP(d, httptest.NewRequest(http.MethodPost, "/a", strings.NewReader(strings.Repeat("x", 3*unbudgeted))))
}

// The deadlines of a body end with it: a request whose body has arrived may wait for a run.
func TestWaitAfterABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := servePipes(newBudget(0, 1000).bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(2 * readTime):
			case <-r.Context().Done():
				err = r.Context().Err()
			}
			_, _ = fmt.Fprint(w, err)
		})))
		defer end()
		c := p.dial()
		post(c, "", 3*readChunk)
		_, sent := c.Write(make([]byte, 3*readChunk))
		if status, body, err := answerOf(c); status != http.StatusOK || body != "<nil>" || sent != nil || err != nil {
			t.Errorf("%d %s, %v, %v", status, body, sent, err)
		}
	})
}

// A reader of a large answer that is slower than its room allows is cut off, although no chunk is
// late, and its room is free again. A faster reader gets the whole answer, and its deadline does
// not affect the next answer on the connection.
func TestSlowReadersOfLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		a := newAsker()
		p, end := servePipes(a.h)
		defer end()
		take := func(c net.Conn, size int64, each time.Duration) (n int64, err error) {
			if _, err := fmt.Fprintf(c, "GET /a?%d HTTP/1.1\r\nHost: localhost\r\n\r\n", size); err != nil {
				return 0, err
			}
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			for err == nil && n < size {
				time.Sleep(each)
				var part int64
				part, err = io.CopyN(io.Discard, answer.Body, min(writeChunk, size-n))
				n += part
			}
			return n, err
		}
		began := time.Now()
		if n, err := take(p.dial(), size, writeWait/2-time.Second); n >= size || err == nil || time.Since(began) > writeTime(size)+writeWait {
			t.Errorf("a slow reader got %d bytes in %v: %v", n, time.Since(began), err)
		}
		synctest.Wait()
		checkAllBack(t, a.budget)
		quick := p.dial()
		if n, err := take(quick, size, chunkTime); err != nil {
			t.Errorf("a quick reader got %d bytes of %d: %v", n, size, err)
		}
		time.Sleep(writeTime(size))
		if _, err := take(quick, 10, 0); err != nil {
			t.Errorf("the next answer: %v", err)
		}
	})
}
