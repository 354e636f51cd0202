package workflow

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Query is a request to a workflow that reads its state. It changes nothing and is not recorded. It
// has a name and the types of its input and its answer.
type Query[In, Out any] struct {
	name, where string
	by          Converter
}

// NewQuery declares a query. Declare each once, as a package variable. Several sets of options are
// merged.
//
//go:noinline
func NewQuery[In, Out any](name string, sets ...DeclareOptions) Query[In, Out] {
	return Query[In, Out]{name, where.Caller(), converterOf("query", name, sets)}
}

// Name returns the query's name.
func (q Query[In, Out]) Name() string { return q.name }

// Handle sets the handler of the query. The handler gets no Context: it can only read the
// workflow's state. Set it before the workflow first waits, so that the query is answered from the
// start. Setting it twice fails the task with an error that names both places.
func (q Query[In, Out]) Handle(ctx Context, fn func(In) (Out, error)) {
	ctx.instance().HandleQuery(q.name, &engine.QueryHandler{
		Where: where.Caller(),
		Answer: func(input history.Payload) (history.Payload, error) {
			in, err := payload.DecodeBy[In](q.by, input)
			if err != nil {
				return nil, fmt.Errorf("%w: the input of query %q: %w", engine.ErrBadInput, q.name, err)
			}
			out, err := fn(in)
			if err != nil {
				return nil, err
			}
			return payload.EncodeBy(q.by, out)
		},
	})
}

// Ask sends the query to the latest run of a workflow, which may be closed, and returns its answer.
// Nothing is written. A paused run answers as [client.Client.Query] says.
func (q Query[In, Out]) Ask(ctx context.Context, c *client.Client, workflowID string, in In) (out Out, err error) {
	input, err := payload.EncodeBy(q.by, in)
	if err != nil {
		return out, err
	}
	p, err := c.Query(ctx, workflowID, "", q.name, input)
	if err != nil {
		return out, err
	}
	return payload.DecodeOrZeroBy[Out](q.by, p)
}
