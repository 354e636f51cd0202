package workflow

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// ScheduleOptions says when a schedule starts runs, and how.
type ScheduleOptions = client.ScheduleOptions

// Schedule creates a schedule that starts runs of this type with an input. The schedule is durable
// when Schedule returns:
//
//	nightly, err := Report.Schedule(ctx, c, "nightly", Config{Full: true}, workflow.ScheduleOptions{
//		Cron: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin",
//	})
//
// It returns client.ErrAlreadyStarted if another schedule has the id.
func (t Type[In, Out]) Schedule(ctx context.Context, c *client.Client, id string, in In, o ScheduleOptions) (client.Schedule, error) {
	input, err := payload.EncodeBy(t.by, in)
	if err != nil {
		return client.Schedule{}, err
	}
	return c.CreateSchedule(ctx, id, t.name, input, o)
}

// ChangeSchedule changes a schedule to this type, with another input and other options.
func (t Type[In, Out]) ChangeSchedule(ctx context.Context, s client.Schedule, in In, o ScheduleOptions) error {
	input, err := payload.EncodeBy(t.by, in)
	if err != nil {
		return err
	}
	return s.Change(ctx, t.name, input, o)
}
