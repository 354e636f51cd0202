package processes_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

var shared = workflow.NewWorkflow[int, int]("shared")

// share takes memory that RLIMIT_DATA does not count, in MiB, and holds it until the attempt ends.
var share = activity.New("share", func(ctx context.Context, mib int) (int, error) {
	block, err := syscall.Mmap(-1, 0, mib<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		return 0, err
	}
	for i := 0; i < len(block); i += syscall.Getpagesize() {
		block[i] = 1
	}
	<-ctx.Done()
	return 0, syscall.Munmap(block)
})

func init() {
	more = append(more, workflow.Bind(shared, func(ctx workflow.Context, mib int) (int, error) { return share.Run(ctx, mib) }), share)
}

// A child whose resident memory is above the limit is killed by the parent, and its workflow is
// parked.
func TestResidentMemory(t *testing.T) {
	s := serveIn(t, t.TempDir(), weft.Isolation{Children: 1, MemoryMiB: memory})
	s.startFatal(t, fmt.Sprintf(`{"workflowId":"shared","type":"shared","input":%d}`, memory+64))
	s.log.until("a child process has more memory than it may: it is killed")
	if got := s.log.until("a workflow is parked")["workflowId"]; got != "shared" {
		t.Errorf("the log says that %v is parked", got)
	}
	s.goods(t, "after")
}
