package local

import (
	"errors"
	"log/slog"

	"github.com/seed-41655fb1/weft/internal/crash"
)

// recordCrashes opens the crash recorder of a data directory. Its first log line names what is
// parked. It returns nil without a directory, and if the recorder cannot be opened: the server
// continues without one.
func recordCrashes(dir, build string, log *slog.Logger) *crash.Recorder {
	if dir == "" {
		return nil
	}
	r, err := crash.Open(dir, build, log)
	if err != nil {
		log.Warn("code that ends the process cannot be found: the crash recorder does not open", "error", err)
		return nil
	}
	return r
}

// closeAfter returns a function that closes the crash recorder, and then the rest.
func closeAfter(r *crash.Recorder, rest func() error) func() error {
	return func() error { return errors.Join(r.Close(), rest()) }
}
