package live

import (
	"bytes"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/httpapi"
)

// message is the API's answer to one request, as a message of the stream. The API writes to it.
type message struct {
	stream *stream
	header http.Header
	status int
	// drop says that the body is not passed on, and whole that it is passed on as it is: it refuses
	// the stream.
	drop, whole bool
	// same says that the page is the one that the reader has, ended that nothing can follow, and
	// more that something follows already.
	same, ended, more bool
}

// Header implements http.ResponseWriter.
func (m *message) Header() http.Header { return m.header }

// Unwrap returns the writer of the stream for http.ResponseController: the deadline of an answer is
// that of its message.
func (m *message) Unwrap() http.ResponseWriter { return m.stream.w }

// WriteHeader implements http.ResponseWriter. It begins the message.
func (m *message) WriteHeader(status int) {
	if status < http.StatusOK || m.status != 0 {
		return
	}
	m.status = status
	s := m.stream
	at := m.header.Get(httpapi.ResumeHeader)
	switch {
	case status != http.StatusOK && !s.begun:
		m.whole = true
		for name, values := range m.header {
			s.w.Header()[name] = values
		}
		s.w.WriteHeader(status)
	case status == http.StatusServiceUnavailable:
		m.drop = true
	case status != http.StatusOK:
		s.write("event: problem\ndata: ")
	default:
		s.begin(m.header)
		m.same = at == s.last && m.header.Get(httpapi.EventHeader) == ""
		m.drop = m.same
		m.ended = s.advance(at)
		if !m.drop {
			s.write("id: " + at + "\nevent: " + s.event(m.header) + "\ndata: ")
		}
	}
}

// Write implements http.ResponseWriter. JSON has line breaks only between its tokens: without them
// it says the same in one line.
func (m *message) Write(p []byte) (int, error) {
	if m.status == 0 {
		m.WriteHeader(http.StatusOK)
	}
	s := m.stream
	if s.err != nil {
		return 0, s.err
	}
	switch {
	case m.drop:
	case m.whole:
		_, s.err = s.w.Write(p)
	default:
		for line := range bytes.SplitSeq(p, []byte("\n")) {
			if len(line) > 0 && s.err == nil {
				_, s.err = s.w.Write(line)
			}
		}
	}
	return len(p), s.err
}

// end ends the message, and the deadline of its bytes.
func (m *message) end() {
	s := m.stream
	if m.status != 0 && !m.drop && !m.whole {
		s.write("\n\n")
		s.flush()
	}
	_ = s.control.SetWriteDeadline(time.Time{}) // a writer without deadlines has none to end
}
