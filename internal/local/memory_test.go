package local

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

// A server sets its own values, but keeps those that the environment or the program has set. It is
// not parallel: the settings are the process's.
func TestTuneMemory(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	environment := map[string]string{"GOGC": "50", "GOMEMLIMIT": "1GiB"}
	getenv := func(name string) string { return environment[name] }
	TuneMemory(getenv)
	if got := debug.SetGCPercent(100); got != 100 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("GOGC and GOMEMLIMIT are set, and were replaced: %d, %d", got, debug.SetMemoryLimit(-1))
	}
	clear(environment)
	debug.SetGCPercent(70)
	debug.SetMemoryLimit(1 << 30)
	TuneMemory(getenv)
	if got := debug.SetGCPercent(100); got != 70 || debug.SetMemoryLimit(-1) != 1<<30 {
		t.Errorf("the program has set others, and they were replaced: %d, %d", got, debug.SetMemoryLimit(-1))
	}
	debug.SetMemoryLimit(math.MaxInt64)
	TuneMemory(getenv)
	if got := debug.SetGCPercent(100); got != gcPercent {
		t.Errorf("the percentage is %d; want %d", got, gcPercent)
	}
	if got := debug.SetMemoryLimit(-1); got == math.MaxInt64 || got <= 0 {
		t.Errorf("there is no limit: %d", got)
	}
}

// A limit with which no server can work is refused, and a limit above the machine's memory logs a
// warning.
func TestCheckMemory(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]string{0: "", -1: "too small", 1 << 20: "too small", 64<<20 - 1: "too small", 64 << 20: "", 100 << 40: "above the available memory"} {
		var log bytes.Buffer
		err := CheckMemory(limit, slog.New(slog.NewTextHandler(&log, nil)))
		if said := fmt.Sprint(err) + log.String(); !strings.Contains(said, want) || (err != nil) != (want == "too small") || (log.Len() > 0) != (limit == 100<<40) {
			t.Errorf("%d: %s", limit, said)
		}
	}
}
