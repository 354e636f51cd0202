// Package schedules shows a schedule: a backup each hour, ten minutes past. A schedule is separate
// from the runs that it starts. It can be paused, described and backfilled. Look at Options for
// what happens while a backup takes longer than an hour, and at Create, which creates the schedule.
package schedules

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow backs a disk up. It takes as many hours as the disk says.
var Workflow = workflow.NewWorkflow[Disk, string]("schedules")

// ErrBroken says that a disk cannot be read.
var ErrBroken = workflow.NewError("broken", "the disk cannot be read")

// Disk is what is backed up.
type Disk struct {
	Name   string `json:"name"`
	Hours  int    `json:"hours"`
	Broken bool   `json:"broken,omitempty"`
}

// Options are the options of a backup each hour. A backup that is due while another one runs starts
// when that one has ended. If several are due by then, the others are skipped. A backup that fails
// pauses the schedule until an operator unpauses it.
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

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run)}
}
