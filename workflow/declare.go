package workflow

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
)

// None is the type of an input or a result that carries nothing.
type None = payload.None

// Type is a workflow type: its name, and the types of its input and its result. Bind binds its code
// at registration, so that the code itself can name its type.
type Type[In, Out any] struct {
	name, where string
	by          Converter
}

// NewWorkflow declares a workflow type. Declare each once, as a package variable, beside its code.
// Several sets of options are merged.
//
//go:noinline
func NewWorkflow[In, Out any](name string, sets ...DeclareOptions) Type[In, Out] {
	return Type[In, Out]{name, where.Caller(), converterOf("workflow type", name, sets)}
}

// Name returns the name under which runs of the type are recorded. A changed name strands open
// runs.
func (t Type[In, Out]) Name() string { return t.name }

// Registration is what weft.Register takes: a workflow that was bound to its code, an activity,
// task queues, or interceptors. Only Weft's packages implement it.
type Registration interface{ bridge.Registration }

// BindOptions tunes a binding. The zero value is the default.
type BindOptions struct {
	// Pinned keeps each run on the build that started it, however often code is deployed while it
	// is open. Its code may change freely, without Patched. A run that continues another one stays
	// on that run's build. The build has to stay deployed until its last run has closed, or has
	// been moved to another build (Run.Move); see docs/operations.md. Changing the option changes
	// no open run.
	Pinned bool
	// Names are all that the code handles: the signals that it receives, the updates and queries
	// that it handles, also those whose handlers it sets later, in an update or in an interceptor,
	// and the search attributes and memo fields that it sets. The program's contract has them, and
	// requests are checked against their types.
	Names []Name
	// Dynamic are the kinds of names that the code decides about when it runs. For these, names
	// that Names omits are allowed, and nothing is checked about them.
	Dynamic Kinds
	// Lenient requires no field of what callers send: a missing one is the zero value. By default,
	// a field without omitempty or omitzero is required.
	Lenient bool
}

// Bind binds a workflow type to its code. The code handles the signals, the updates and the queries
// that the options name, and no others: see Names. Several sets of options are merged.
func Bind[In, Out any](t Type[In, Out], run func(Context, In) (Out, error), sets ...BindOptions) Registration {
	o, at := options.Of(sets), where.Caller()
	names, wrong := o.named(at)
	w := &engine.Workflow{
		Name: t.name, Where: at, Declared: t.where, Pinned: o.Pinned, Names: names,
		Input: payload.ValueBy[In](t.by), Result: payload.ValueBy[Out](t.by),
		CheckInput: func(p history.Payload) error {
			_, err := payload.DecodeOrZeroBy[In](t.by, p)
			return err
		},
		Run: func(in *engine.Instance, scope *coro.Scope, input history.Payload) (history.Payload, error) {
			ctx := Context{in: in, scope: scope}
			value, err := payload.DecodeOrZeroBy[In](t.by, input)
			if err != nil {
				panic(fmt.Errorf("the input of workflow type %q does not decode: %w", t.name, err))
			}
			var result Out
			err = ctx.aroundRun(func(ctx Context) (err error) {
				result, err = run(ctx, value)
				return err
			})
			if err != nil {
				return nil, err
			}
			return payload.MustEncodeBy(t.by, result), nil
		},
	}
	return bridge.PartOf(func(r *engine.Registry) error {
		if err := cmp.Or(wrong, payload.Verify(w.Input, w.Result)); err != nil {
			return fmt.Errorf("workflow type %q (bound at %s): %w", t.name, at, err)
		}
		return r.AddWorkflow(w)
	})
}

// mustEncode encodes a value of workflow code.
func mustEncode(v any) history.Payload { return payload.MustEncode(v) }

// ContinueAsNew ends this run and continues in a new run of this type with another input. The
// workflow's function has to return what it returns. The new run has the same workflow id, an empty
// history, and the signals that this run has not received. Activities, timers and update handlers
// end with the old run, so call AwaitHandlers before. One put closes the old run and opens the new
// one. A wait for the result waits for the new run's.
func (t Type[In, Out]) ContinueAsNew(ctx Context, in In) (out Out, err error) {
	ctx.scheduler().MustRun("continue as new")
	return out, &engine.ContinueAsNew{WorkflowType: t.name, Input: payload.MustEncodeBy(t.by, in)}
}

// StartOptions tunes a start. [client.StartOptions] documents its fields. The zero value is the
// default.
type StartOptions = client.StartOptions

// Retry says whether and when a failed activity or workflow is retried.
type Retry = client.Retry

// Run is a handle of a run, which was started or is known by its ids.
type Run[Out any] struct {
	WorkflowID string
	RunID      string
	client     *client.Client
	by         Converter
}

// Start starts a run under this workflow id. If the id is empty, the server chooses one. The run is
// durable when Start returns. It returns client.ErrAlreadyStarted if the workflow id has an open
// run.
func (t Type[In, Out]) Start(ctx context.Context, c *client.Client, workflowID string, in In, sets ...StartOptions) (Run[Out], error) {
	input, err := payload.EncodeBy(t.by, in)
	if err != nil {
		return Run[Out]{}, err
	}
	id, runID, err := c.Start(ctx, workflowID, t.name, input, options.Of(sets))
	return Run[Out]{WorkflowID: id, RunID: string(runID), client: c, by: t.by}, err
}

// Run starts a run under this workflow id, waits until it has closed, and returns its result or the
// error that it ended with. It does Start and Result in one request, if the run ends within 20 s.
//
// A second Run under the id of a closed run starts another run, unless IDReusePolicy forbids it. If
// a run of the id is open, Run returns client.ErrAlreadyStarted. With the IDConflictPolicy
// "useExisting", Run waits for that run instead; with "terminateExisting", it replaces it.
//
// If the context ends before the run has closed, the run continues. The error then says whether the
// run was started, and its ids, if the client knows them. Type.Get and Result wait for it again.
func (t Type[In, Out]) Run(ctx context.Context, c *client.Client, workflowID string, in In, sets ...StartOptions) (out Out, err error) {
	input, err := payload.EncodeBy(t.by, in)
	if err != nil {
		return out, err
	}
	p, err := c.Run(ctx, workflowID, t.name, input, options.Of(sets))
	if err != nil {
		return out, err
	}
	return payload.DecodeOrZeroBy[Out](t.by, p)
}

// WithStart returns the start of a run of this type, for an update or a signal that starts it if no
// open run takes it:
//
//	start := Workflow.WithStart(Start{Owner: "ada"})
//	total, err := AddItem.Call(ctx, c, "cart-42", item, workflow.CallOptions{Start: start})
func (t Type[In, Out]) WithStart(in In, sets ...StartOptions) *client.Start {
	input, err := payload.EncodeBy(t.by, in)
	return &client.Start{Type: t.name, Input: input, Options: options.Of(sets), Err: err}
}

// Get returns a handle of the latest run of a workflow id. It does not check whether the run
// exists.
func (t Type[In, Out]) Get(c *client.Client, workflowID string) Run[Out] {
	return Run[Out]{WorkflowID: workflowID, client: c, by: t.by}
}

// Result waits until the run has closed, and returns its result or the error that it ended with.
// The context bounds the wait.
func (r Run[Out]) Result(ctx context.Context) (out Out, err error) {
	p, err := r.client.Result(ctx, r.WorkflowID, r.RunID)
	if err != nil {
		return out, err
	}
	return payload.DecodeOrZeroBy[Out](r.by, p)
}

// Cancel asks the run to end.
func (r Run[Out]) Cancel(ctx context.Context, reason string) error {
	return r.client.Cancel(ctx, r.WorkflowID, r.RunID, reason)
}

// ResetOptions says which task a reset goes back to, and what it leaves out.
type ResetOptions = client.ResetOptions

// Reset starts another run that continues from an earlier workflow task of this one, and returns
// it. It terminates this run if it is open. Both are durable when Reset returns. The new run gets
// the events after that task, unless the options leave them out; see client.Client.Reset. Only the
// latest run of a workflow id can be reset.
func (r Run[Out]) Reset(ctx context.Context, o ResetOptions) (Run[Out], error) {
	if o.RunID == "" {
		o.RunID = r.RunID
	}
	id, err := r.client.Reset(ctx, r.WorkflowID, o)
	return Run[Out]{WorkflowID: r.WorkflowID, RunID: string(id), client: r.client, by: r.by}, err
}

// MoveOptions says where a run is moved to. The zero value is the newest build, which serves the
// request.
type MoveOptions = client.MoveOptions

// Move assigns the run to another build from now on. That build replays its history first. If the
// replay fails, nothing changes; see client.Client.Move.
func (r Run[Out]) Move(ctx context.Context, o MoveOptions) error {
	if o.RunID == "" {
		o.RunID = r.RunID
	}
	_, err := r.client.Move(ctx, r.WorkflowID, o)
	return err
}

// Delete deletes the run with its history and result, if it closed at least two hours ago; see
// client.Client.Delete.
func (r Run[Out]) Delete(ctx context.Context) error {
	return r.client.Delete(ctx, r.WorkflowID, r.RunID)
}

// Terminate ends the run at once, without running its code.
func (r Run[Out]) Terminate(ctx context.Context, reason string) error {
	return r.client.Terminate(ctx, r.WorkflowID, r.RunID, reason)
}
