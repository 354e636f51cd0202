package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// kind is what a run handles.
type kind string

const (
	kindUpdate kind = "update"
	kindSignal kind = "signal"
	kindQuery  kind = "query"
)

// target names the run that handles a request.
type target struct {
	workflowID, runID string
	// start is the type of the run that the request starts if none is open, or empty.
	start string
}

// fill returns the input with the types of the contract. It asks for the contract only if the input
// is given as fields.
func fill(ctx context.Context, api *client.Client, in cli.Input, read json.RawMessage, find func(context.Context, *client.Client) (*cli.Shape, error)) (history.Payload, error) {
	if len(in.Fields) == 0 {
		return history.Payload(read), nil
	}
	shape, err := find(ctx, api)
	if err != nil {
		return nil, err
	}
	text, err := in.Typed(shape)
	return history.Payload(text), err
}

// unknown returns nil for the error of a deployment that refuses to say more: it has no such type
// or run, no contract, or does not show it. The request itself says what is wrong.
func unknown(err error) error {
	var p *client.Problem
	if errors.As(err, &p) && p.Status < http.StatusInternalServerError {
		return nil
	}
	return err
}

// shapeOfStart returns the shape of the input of a workflow type, or nil if there is no contract.
func shapeOfStart(typ string) func(context.Context, *client.Client) (*cli.Shape, error) {
	return func(ctx context.Context, api *client.Client) (*cli.Shape, error) {
		d, w, err := typeContract(ctx, api, typ)
		if err != nil || w == nil {
			return nil, err
		}
		return &cli.Shape{What: typ, Contract: d, Schema: w.Input}, nil
	}
}

// shape returns the shape of the input of an update, a signal or a query, or nil if the contract
// does not have it.
func (t target) shape(of kind, name string) func(context.Context, *client.Client) (*cli.Shape, error) {
	return func(ctx context.Context, api *client.Client) (*cli.Shape, error) {
		d, w, err := t.contract(ctx, api)
		if err != nil || w == nil {
			return nil, err
		}
		shape := &cli.Shape{What: string(of) + " " + name, Contract: d}
		switch {
		case of == kindUpdate && w.Updates[name] != nil:
			shape.Schema = w.Updates[name].Input
		case of == kindSignal && w.Signals[name] != nil:
			shape.Schema = w.Signals[name].Input
		case of == kindQuery && w.Queries[name] != nil:
			shape.Schema = w.Queries[name].Input
		default:
			return nil, nil
		}
		return shape, nil
	}
}

// contract returns the contract of the run, which is that of its build if it is pinned. Without a
// contract, the workflow is nil.
func (t target) contract(ctx context.Context, api *client.Client) (*client.Contract, *client.WorkflowContract, error) {
	var o client.ContractOptions
	run, err := api.Describe(ctx, t.workflowID, t.runID)
	typ := ""
	switch {
	case err == nil:
		typ, o.Build = run.Type, run.Build
	case unknown(err) != nil:
		return nil, nil, err
	}
	if t.start != "" && (run == nil || run.State == "") { // none is open
		typ, o.Build = t.start, ""
	}
	if typ == "" {
		return nil, nil, nil
	}
	return typeContract(ctx, api, typ, o)
}

// typeContract returns the contract of a workflow type, and what it says about the type. Both are
// nil if the deployment does not say.
func typeContract(ctx context.Context, api *client.Client, typ string, o ...client.ContractOptions) (*client.Contract, *client.WorkflowContract, error) {
	d, err := api.TypeContract(ctx, typ, o...)
	if err != nil {
		return nil, nil, unknown(err)
	}
	return d, d.Workflows[typ], nil
}

// shapeOfResult returns the shape of the result of an activity that has not ended, or nil if there
// is no contract.
func (a oneActivity) shapeOfResult(ctx context.Context, api *client.Client) (*cli.Shape, error) {
	if a.Event == 0 { // the attempt is named by its token
		return nil, nil
	}
	run, err := api.Describe(ctx, a.WorkflowID, a.RunID)
	if err != nil {
		return nil, unknown(err)
	}
	for i := range run.PendingActivities {
		one := &run.PendingActivities[i]
		if one.EventID != a.Event {
			continue
		}
		d, err := api.TypeContract(ctx, one.Type, client.ContractOptions{Build: run.Build})
		if err != nil {
			return nil, unknown(err)
		}
		if known := d.Activities[one.Type]; known != nil {
			return &cli.Shape{What: "the result of " + one.Type, Contract: d, Schema: known.Result}, nil
		}
	}
	return nil, nil
}
