package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// maxTaskQueue is the length of the longest name of a task queue: AWS names a queue and a function after it.
const maxTaskQueue = 28

// CheckTaskQueue returns what is wrong with the name of a task queue, or nil. The empty name is
// that of the default queue.
func CheckTaskQueue(name string) error {
	wrong := strings.ContainsFunc(name, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' })
	if wrong || len(name) > maxTaskQueue {
		return fmt.Errorf("the task queue %q cannot be: give at most %d characters of a-z, 0-9 and -", name, maxTaskQueue)
	}
	if strings.HasSuffix(name, "-dead") {
		return fmt.Errorf("the task queue %q cannot be: names that end in -dead are those of dead letters", name)
	}
	return nil
}

// HasTaskQueue reports whether the deployment has a task queue. All have the default one.
func (o *Options) HasTaskQueue(name string) bool {
	return name == "" || slices.Contains(o.TaskQueues, name)
}

// NoTaskQueue returns the message for an activity whose task queue the deployment does not have,
// and what to do.
func (o *Options) NoTaskQueue(name string) string {
	return fmt.Sprintf("is to run on the task queue %q, and this deployment has only %s: add the queue to it (WEFT_TASK_QUEUES of its functions, --task-queues of a local server, activity.TaskQueues in a test)",
		name, strings.Join(append([]string{"the default one"}, o.TaskQueues...), ", "))
}

// routed returns the failure of a task that starts an activity on a task queue which the deployment
// does not have: no attempt would ever be made. It fails the task, and not the activity, because
// the workflow may take an activity's failure for an answer and act on it. The failed task is
// retried, and continues when the queue is there.
func (o *Options) routed(commands []history.Event) error {
	for _, e := range commands {
		a, is := e.Attributes.(*history.ActivityTaskScheduled)
		if !is || o.HasTaskQueue(a.TaskQueue) {
			continue
		}
		return &failure.OtherError{Kind: failure.KindMisuse, Message: fmt.Sprintf(
			"activity %q %s, or correct the name", a.ActivityType, o.NoTaskQueue(a.TaskQueue))}
	}
	return nil
}
