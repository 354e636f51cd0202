// Package interceptors shows interceptors of all workflows and activities of a program, and a
// header that is passed on with them. Here the header is the tenant to which an order belongs.
// Workflows and activities without a tenant are refused.
package interceptors

import (
	"context"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// These are the names that callers use.
var (
	Workflow = workflow.NewWorkflow[string, string]("interceptors")
	Shipping = workflow.NewWorkflow[string, string]("interceptors.shipping")
	Pack     = activity.New("interceptors.pack", pack)

	ErrNoTenant = workflow.NewError("noTenant", "start it with a header that names the tenant")
)

// tenant is the name of the header field.
const tenant = "tenant"

// WithTenant returns a context for a client's calls. What they start belongs to the tenant.
func WithTenant(ctx context.Context, name string) context.Context {
	return client.WithHeader(ctx, tenant, name)
}

// Run ships an order through a child, which gets the header, too.
func Run(ctx workflow.Context, item string) (string, error) { return Shipping.RunChild(ctx, item) }

// Ship packs an item.
func Ship(ctx workflow.Context, item string) (string, error) { return Pack.Run(ctx, item) }

func pack(ctx context.Context, item string) (string, error) {
	of, _ := activity.Header[string](ctx, tenant)
	step, _ := activity.Header[string](ctx, "startedBy")
	return item + " of " + of + ", packed by " + step, nil
}

// needTenant wraps workflows. A workflow without a tenant fails at once.
var needTenant = workflow.Interceptor{
	Run: func(ctx workflow.Context, next func(workflow.Context) error) error {
		if _, ok := workflow.Header[string](ctx, tenant); !ok {
			return ErrNoTenant
		}
		return next(ctx)
	},
	Start: func(ctx workflow.Context, s *workflow.Starting) {
		s.SetHeader("startedBy", workflow.InfoOf(ctx).WorkflowType)
	},
}

// needTenantToo wraps activities in the same way.
func needTenantToo(ctx context.Context, next func(context.Context) error) error {
	if _, ok := activity.Header[string](ctx, tenant); !ok {
		return ErrNoTenant.Final()
	}
	return next(ctx)
}

// Registrations returns everything that a program has to register to run it, except for the
// interceptors.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), workflow.Bind(Shipping, Ship), Pack}
}

// Interceptors returns the interceptors, which a program also registers. They wrap everything that
// the program registers, so the examples, which are one program, leave them out.
func Interceptors() []workflow.Registration {
	return []workflow.Registration{workflow.Intercept(needTenant), activity.Intercept(needTenantToo)}
}
