package lines

import (
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/queue"
)

func (q *Queue) violation(format string, args ...any) {
	q.options.Violation("queue: "+format, args...)
}

func (q *Queue) line(name string) (*line, error) {
	l := q.lines[name]
	if l == nil {
		return nil, fmt.Errorf("%w: there is no queue %q", queue.ErrInvalid, name)
	}
	return l, nil
}

// inspect returns an error, before anything is sent, if the queue does not take these messages.
func (q *Queue) inspect(l *line, messages []queue.Message) error {
	if len(messages) > queue.MaxBatch {
		return fmt.Errorf("%w: a Send of %d messages", queue.ErrInvalid, len(messages))
	}
	for _, m := range messages {
		switch {
		case m.Delay < 0 || m.Delay > queue.MaxDelay:
			return fmt.Errorf("%w: a delay of %v", queue.ErrInvalid, m.Delay)
		case l.FIFO && m.Delay > 0:
			return fmt.Errorf("%w: a delay in the FIFO queue %q", queue.ErrInvalid, l.name)
		case l.FIFO && m.Group == "":
			return fmt.Errorf("%w: no group in the FIFO queue %q", queue.ErrInvalid, l.name)
		case !l.FIFO && m.Group != "":
			return fmt.Errorf("%w: a group in the standard queue %q", queue.ErrInvalid, l.name)
		case len(m.Body) == 0:
			q.violation("a message without a body is sent to %q", l.name)
			return fmt.Errorf("%w: a message without a body", queue.ErrInvalid)
		case len(m.Body) > q.options.MaxBody:
			return fmt.Errorf("%w: %d bytes, at most %d", queue.ErrTooLarge, len(m.Body), q.options.MaxBody)
		}
	}
	return nil
}

// receipt returns the receipt of a delivery. Its checksum lets find distinguish an issued receipt
// from an invented one without storing it, even long after the message is gone.
func receipt(name string, delivery uint64) string {
	number := strconv.FormatUint(delivery, 10)
	return fmt.Sprintf("%s-%08x", number, crc32.ChecksumIEEE([]byte(number+"/"+name)))
}

// find returns the message in flight that has a receipt, or nil if the receipt is no longer valid.
// It reports a receipt that this queue never issued.
func (q *Queue) find(name, r string) *message {
	number, _, _ := strings.Cut(r, "-")
	delivery, err := strconv.ParseUint(number, 10, 64)
	if err != nil || delivery == 0 || delivery > q.deliveries || r != receipt(name, delivery) {
		q.violation("the receipt %q was never issued by the queue %q", r, name)
		return nil
	}
	return q.inFlight[delivery]
}

func (q *Queue) digest(body []byte) uint64 { return maphash.Bytes(q.seed, body) }

// examine reports a message that was changed after it was sent.
func (q *Queue) examine(m *message) {
	if m.body != nil && q.digest(m.body) != m.digest {
		q.violation("the body of a message in the queue %q was changed after it was sent", m.line.name)
	}
}

// Check reports what callers changed after they had handed it over. A test calls it at its end.
func (q *Queue) Check() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.hidden {
		if !m.line.FIFO {
			q.examine(m)
		}
	}
	for _, l := range q.lines {
		ways := l.ready
		if l.FIFO {
			ways = slices.Collect(maps.Values(l.lanes))
		}
		for _, way := range ways {
			for m := way.first; m != nil; m = m.next {
				q.examine(m)
			}
		}
	}
}
