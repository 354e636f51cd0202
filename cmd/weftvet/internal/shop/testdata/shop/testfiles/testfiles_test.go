package testfiles

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

func TestLimit(t *testing.T) {
	limit = 4
	at := time.Now()
	_ = func(ctx workflow.Context) time.Duration { return time.Since(at) } // want `calls time.Since`
}
