package local

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/seed-41655fb1/weft/internal/refusal"
)

const (
	// readTime is how long a client may take to send a request.
	readTime = time.Minute
	// readChunk is how many bytes of a body with space in the budget a client has to send within
	// readWait. readWait is shorter than budgetWait, so that waiting requests get the space.
	readChunk = 64 << 10
	readWait  = 4 * time.Second
)

// errRefused is the error of reading a body whose request was refused or answered.
var errRefused = errors.New("the rest of the body is not read")

// boundedBody is the body of a request. It takes space in the budget once more than unbudgeted
// bytes have arrived, and loses the space if the rest does not keep arriving.
type boundedBody struct {
	io.ReadCloser
	answer *boundedAnswer
	// bytes is what the whole body takes, and read how much of it was read.
	bytes, read int64
	held        bool
	// chunk is how much of the current chunk was read, and waited how long the client took for that.
	chunk  int64
	waited time.Duration
	// until is when the client has to have sent the whole request.
	until time.Time
}

// newBoundedBody returns the body of the request that a answers. A body of unknown length counts as
// a largest one.
func newBoundedBody(r *http.Request, a *boundedAnswer) *boundedBody {
	bytes := int64(largestBody)
	if r.ContentLength >= 0 {
		bytes = min(r.ContentLength, largestBody)
	}
	return &boundedBody{ReadCloser: r.Body, answer: a, bytes: bytes, until: time.Now().Add(readTime)}
}

// Read reads the body. If there is no room for it, or it arrives too slowly, the request is refused, and has not begun.
func (b *boundedBody) Read(p []byte) (int, error) {
	if free := unbudgeted - b.read; b.bytes <= unbudgeted || free > 0 {
		if b.bytes > unbudgeted {
			p = p[:min(int64(len(p)), free)]
		}
		n, err := b.ReadCloser.Read(p)
		b.read += int64(n)
		return n, err
	}
	if !b.held {
		if !b.answer.reserve(b.bytes) {
			b.answer.fail(refusal.Busy.New(noRoom))
			return 0, errRefused
		}
		b.held = true
	}
	return b.readSteadily(p)
}

// readSteadily reads with a deadline: each chunk has to arrive within readWait. A connection
// without deadlines, such as that of a caller in this process, has none.
func (b *boundedBody) readSteadily(p []byte) (int, error) {
	began := time.Now()
	deadline := began.Add(readWait - b.waited)
	late := deadline.Before(b.until)
	if !late {
		deadline = b.until
	}
	limited := b.answer.setReadDeadline(deadline)
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(began)
	if b.chunk += int64(n); b.chunk >= readChunk {
		b.chunk, b.waited = 0, 0
	}
	if late && errors.Is(err, os.ErrDeadlineExceeded) {
		b.answer.fail(refusal.Busy.New(slowBody))
	} else if limited && err == nil { // only reads count: HTTP/2 ends a body at its deadline though nobody reads. After the end the server sets its own
		b.answer.setReadDeadline(b.until)
	}
	return n, err
}

const slowBody = "the body of the request arrived too slowly: send at least 64 KiB of it every 4 s"
