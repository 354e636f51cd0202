package testbed

import (
	"bytes"
	"log/slog"
	"sync"
)

// Warnings keeps what the processes of a testbed report to operators. Its zero value is ready to
// use.
type Warnings struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger returns a logger whose lines are kept without their times.
func (w *Warnings) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// Write keeps a line.
func (w *Warnings) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(line)
}

// Take returns the lines since the last call.
func (w *Warnings) Take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.text.Reset()
	return w.text.String()
}
