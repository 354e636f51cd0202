package executor_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain makes the collector run less often, because deployments and histories are much garbage,
// and little is kept.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(2 << 30)
	}
	os.Exit(m.Run())
}
