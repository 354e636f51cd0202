package executor

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/deliveries"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/inventory"
	"github.com/seed-41655fb1/weft/internal/executor/maintenance"
	"github.com/seed-41655fb1/weft/internal/executor/requests"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// What the layers of the executor share with those who use it.
type (
	// Ports are the stores and queues that a service works on.
	Ports = session.Ports
	// Options are the settings of a service.
	Options = session.Options
	// Memory measures the memory of the process.
	Memory = session.Memory
	// Delivery is a message as its handler gets it.
	Delivery = inbox.Delivery
	// OtherBuild refuses what only another build may do.
	OtherBuild = commit.OtherBuild
	// Report is what a step of the slow check did.
	Report = maintenance.Report
)

// Anywhere returns the context of work that this build does although another build owns the run.
func Anywhere(ctx context.Context) context.Context { return commit.Anywhere(ctx) }

// Defaults returns the default settings of a service.
func Defaults() Options { return session.Defaults() }

// TokenWorkflow returns the workflow that the token of an activity names, or "" if it names none.
func TokenWorkflow(token string) string { return activities.TokenWorkflow(token) }

// Service carries out requests and messages, and maintains runs. Each of its parts has its own
// package.
type Service struct {
	// Process has what the parts share: ports, options, the cache.
	Process *session.Process
	// Requests carries out what callers ask for.
	Requests requests.Requests
	// Steering carries out what operators ask for.
	Steering requests.Steering
	// Lists lists and counts runs.
	Lists requests.Lists
	// Reports say what runs do and did.
	Reports requests.Reports
	// Deliveries handles the messages of the queues.
	Deliveries deliveries.Deliveries
	// Maintenance is the slow check over all runs.
	Maintenance maintenance.Maintenance
	// Inventory says what the deployment has.
	Inventory inventory.Inventory
}

// New returns a service.
func New(ports Ports, registry *engine.Registry, h host.Host, o Options) *Service {
	p := session.New(ports, registry, h, o)
	return &Service{
		Process: p, Requests: requests.Requests{Process: p}, Steering: requests.Steering{Process: p}, Lists: requests.Lists{Process: p},
		Reports: requests.Reports{Process: p}, Deliveries: deliveries.Deliveries{Process: p}, Maintenance: maintenance.Maintenance{Process: p},
		Inventory: inventory.Inventory{Process: p},
	}
}

// SkipChecks ends the checks of validators and query handlers.
func (s *Service) SkipChecks() { s.Process.Runner.SkipChecks() }

// HungWorkflows returns the ids of the workflows with code that has not returned: see
// runner.Runner.HungWorkflows.
func (s *Service) HungWorkflows() []string { return s.Process.Runner.HungWorkflows() }

// Hung returns the number of instances whose code did not return.
func (s *Service) Hung() int { return s.Process.Runner.Hung() }
