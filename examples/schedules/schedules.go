// Package schedules shows a schedule: a backup each hour, ten minutes past. A schedule is separate
// from the runs that it starts. It can be paused, described, and backfilled. Look at Options for
// what happens while a backup takes longer than an hour, and at Create, which creates it.
package schedules

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow backs something up; it takes as long as it is large.
var Workflow = workflow.NewWorkflow[Disk, string]("schedules")

// ErrBroken is a disk that cannot be read.
var ErrBroken = workflow.NewError("broken", "the disk cannot be read")

// Disk is what is backed up.
type Disk struct {
	Name   string `json:"name"`
	Hours  int    `json:"hours"`
	Broken bool   `json:"broken,omitempty"`
}

// Options are those of a backup each hour. A backup that is due while another runs starts when that
// has ended; if more are due by then, the others are skipped. A backup that fails pauses the
// schedule, until an operator unpauses it.
func Options() workflow.ScheduleOptions {
	return workflow.ScheduleOptions{
		Every:          []client.Every{{Interval: time.Hour, Offset: 10 * time.Minute}},
		Overlap:        client.OverlapBufferOne,
		CatchUpWindow:  2 * time.Hour,
		PauseOnFailure: true,
		WorkflowID:     "backup",
	}
}

// Create creates the schedule of a disk.
func Create(ctx context.Context, c *client.Client, disk Disk) (client.Schedule, error) {
	return Workflow.Schedule(ctx, c, "backups-of-"+disk.Name, disk, Options())
}

// Run makes one backup.
func Run(ctx workflow.Context, disk Disk) (string, error) {
	if disk.Broken {
		return "", ErrBroken
	}
	err := workflow.Sleep(ctx, time.Duration(disk.Hours)*time.Hour)
	return fmt.Sprintf("%s at %s", disk.Name, workflow.Now(ctx).Format(time.TimeOnly)), err
}

// Registrations is all that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run)}
}
