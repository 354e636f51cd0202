package turn

import (
	"sync"

	"github.com/seed-41655fb1/weft/engine"
)

// maxChecked is how many events a run may have for its validators to be checked: a check replays them.
const maxChecked = 1000

// looks counts the checks of validators and query handlers that are left.
type looks struct {
	most int
	mu   sync.Mutex
	done map[[2]string]int // by the type of the workflow, and what ran
}

// due reports whether a task is to be checked after which these validators and query handlers have run, and counts the check.
func (l *looks) due(run *engine.Run, names []string) bool {
	if l.most <= 0 || len(names) == 0 || run.State.Started == nil || run.State.NextEventID > maxChecked {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	due := false
	for _, name := range names {
		key := [2]string{run.State.Started.WorkflowType, name}
		if l.done[key] < l.most {
			if l.done == nil {
				l.done = map[[2]string]int{}
			}
			l.done[key]++
			due = true
		}
	}
	return due
}
