// Package determinism shows what workflow code uses in place of clocks, random numbers and loggers.
// The code runs again from its beginning whenever a process takes the workflow over, and must do
// the same each time. Look at Run: Now, NewID and Random repeat their values, and Logger logs only
// once.
package determinism

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a raffle.
var (
	Workflow = workflow.NewWorkflow[Raffle, Draw]("determinism")
	Sold     = workflow.NewQuery[workflow.None, []Ticket]("determinism.sold")
)

// Raffle says how many tickets there are. One is sold each hour.
type Raffle struct {
	Tickets int `json:"tickets"`
}

// Ticket is one ticket.
type Ticket struct {
	ID   string    `json:"id"`
	Sold time.Time `json:"sold"`
}

// Draw is the winning ticket.
type Draw struct {
	Number int    `json:"number"`
	Ticket Ticket `json:"ticket"`
}

// Run sells the tickets and draws one. It waits between two sales, so many processes take it over.
func Run(ctx workflow.Context, raffle Raffle) (Draw, error) {
	log := workflow.Logger(ctx)
	tickets := []Ticket{}
	Sold.Handle(ctx, func(workflow.None) ([]Ticket, error) { return tickets, nil })
	for len(tickets) < raffle.Tickets {
		t := Ticket{ID: workflow.NewID(ctx), Sold: workflow.Now(ctx)}
		tickets = append(tickets, t)
		log.Info("sold", "ticket", t.ID)
		if err := workflow.Sleep(ctx, time.Hour); err != nil {
			return Draw{}, err
		}
	}
	n := workflow.Random(ctx).IntN(len(tickets))
	log.Info("drawn", "number", n)
	return Draw{Number: n, Ticket: tickets[n]}, nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Sold))}
}
