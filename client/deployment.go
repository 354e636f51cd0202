package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Deployment describes a deployment.
type Deployment = schema.DeploymentResponse

// Types are the types of workflows and activities that a program has registered.
type Types = schema.TypeListResponse

// Contract is the contract of a program. Its method Text returns it as a file keeps it.
type Contract = contract.Document

// What a Contract consists of.
type (
	// WorkflowContract is a workflow type of a Contract.
	WorkflowContract = contract.Workflow
	// UpdateContract is an update of a WorkflowContract.
	UpdateContract = contract.Update
	// QueryContract is a query of a WorkflowContract.
	QueryContract = contract.Query
	// SignalContract is a signal of a WorkflowContract.
	SignalContract = contract.Signal
	// TopicContract is a topic of a WorkflowContract.
	TopicContract = contract.Topic
	// ErrorContract is an error that an UpdateContract declares.
	ErrorContract = contract.ErrorType
	// ActivityContract is an activity type of a Contract.
	ActivityContract = contract.Activity
	// Schema is a JSON Schema of a Contract.
	Schema = contract.Schema
)

// Builds are the builds of a deployment, with a part of its open runs.
type Builds = schema.BuildListResponse

// What the answers about a deployment consist of.
type (
	// DeploymentFeatures are what a deployment can do, and another cannot.
	DeploymentFeatures = schema.DeploymentFeatures
	// DeploymentLimits are the limits of a deployment.
	DeploymentLimits = schema.DeploymentLimits
	// WorkflowType is a workflow type of Types.
	WorkflowType = schema.WorkflowType
	// ActivityType is an activity type of Types.
	ActivityType = schema.ActivityType
	// BuildVersion is a version on AWS, of Builds.
	BuildVersion = schema.BuildVersion
	// BuildRuns counts the open runs of a build, of Builds.
	BuildRuns = schema.BuildRuns
	// QueueDepth counts the messages of a Queue.
	QueueDepth = schema.QueueDepth
	// QueueRate is how many attempts of a Queue may begin.
	QueueRate = schema.QueueRate
	// DeadLetter is a message of a Queue that was received too often.
	DeadLetter = schema.DeadLetter
)

// Queue is a queue of a deployment, with what it holds.
type Queue = schema.QueueSummary

// Deployment describes the deployment: the versions of Weft and of the program, what it can do, its
// limits, and its time. It costs nothing besides the request.
func (c *Client) Deployment(ctx context.Context) (*Deployment, error) {
	var answer Deployment
	if err := c.about(ctx, "deployment", "/v1/deployment", nil, &answer); err != nil {
		return nil, err
	}
	if answer.Version == "" {
		return nil, errForm("request for the deployment")
	}
	return &answer, nil
}

// Types returns the types of workflows and activities of the program that answers, without Weft's
// own, with the names that each workflow type handles. It returns ErrOtherBuild if a build is asked
// for that is not deployed. It costs nothing besides the request.
func (c *Client) Types(ctx context.Context, sets ...ContractOptions) (*Types, error) {
	var answer Types
	if err := c.about(ctx, "types", "/v1/types", options.Of(sets).query(), &answer); err != nil {
		return nil, err
	}
	if answer.Workflows == nil {
		return nil, errForm("request for the types")
	}
	return &answer, nil
}

// ContractOptions says which contract is asked for. The zero value is that of the newest build.
type ContractOptions struct {
	// Build is the build whose contract is asked for. A run that is pinned to a build keeps to the
	// contract of that build. Empty is the build that answers.
	Build string
}

// Contract returns the contract of the program: its workflow types with all that they take and
// return, and its activity types. It returns ErrOtherBuild if the build is not deployed. It costs
// nothing besides the request.
func (c *Client) Contract(ctx context.Context, sets ...ContractOptions) (*Contract, error) {
	q := options.Of(sets).query()
	q.Set("schemas", "true")
	var all Types
	if err := c.about(ctx, "types", "/v1/types", q, &all); err != nil {
		return nil, err
	}
	return checked(all.Contract)
}

// TypeContract returns the contract of a workflow type or an activity type: a Contract that has
// that type alone, with the schemas that it refers to. It returns ErrNotFound if there is no such
// type, and ErrOtherBuild if the build is not deployed. It costs nothing besides the request.
func (c *Client) TypeContract(ctx context.Context, name string, sets ...ContractOptions) (*Contract, error) {
	var one Contract
	_, err := c.do(ctx, request{
		Request: Request{"type", "", name}, method: http.MethodGet, path: "/v1/types/" + url.PathEscape(name), query: options.Of(sets).query(), answer: &one,
	})
	if err != nil {
		return nil, err
	}
	return checked(&one)
}

func (o ContractOptions) query() url.Values {
	q := url.Values{}
	if o.Build != "" {
		q.Set("build", o.Build)
	}
	return q
}

// checked returns a contract, or an error if it has a form that this client does not know.
func checked(d *Contract) (*Contract, error) {
	if d == nil || d.Version == 0 {
		return nil, errForm("request for the contract")
	}
	return d, d.Check()
}

// Builds returns the build that answers, the versions that it keeps on AWS, and a page of the open
// runs, counted by the build that they are pinned to. An empty token is the beginning. A page
// counts runs for about 5 s: add up the pages until NextPageToken is empty. It costs what listing
// the open runs costs: see docs/list.md.
func (c *Client) Builds(ctx context.Context, token string) (*Builds, error) {
	q := url.Values{}
	if token != "" {
		q.Set("pageToken", token)
	}
	var answer Builds
	if err := c.about(ctx, "builds", "/v1/builds", q, &answer); err != nil {
		return nil, err
	}
	if answer.Here == "" {
		return nil, errForm("request for the builds")
	}
	return &answer, nil
}

// Queues returns the queues of the deployment, with how many messages and dead letters each has. It
// receives none. On AWS the counts are approximate and up to a minute behind, and two requests to
// SQS are billed for each queue.
func (c *Client) Queues(ctx context.Context) ([]Queue, error) {
	var answer schema.QueueListResponse
	if err := c.about(ctx, "queues", "/v1/queues", nil, &answer); err != nil {
		return nil, err
	}
	if answer.Queues == nil {
		return nil, errForm("request for the queues")
	}
	return answer.Queues, nil
}

// Redrive moves the dead letters of a queue back to it. On AWS it returns when SQS has begun to,
// and started is false if SQS moves them already. It returns ErrNotFound if there is no such queue,
// or if the deployment does not do it: on AWS it needs the parameter Redrive. A repeated Redrive is
// harmless.
func (c *Client) Redrive(ctx context.Context, queue string) (started bool, err error) {
	var answer struct {
		Started *bool `json:"started"`
	}
	_, err = c.do(ctx, request{
		Request: Request{"redrive", "", queue}, method: http.MethodPost, path: "/v1/queues/" + url.PathEscape(queue) + "/redrive", answer: &answer,
	})
	if err != nil {
		return false, err
	}
	if answer.Started == nil {
		return false, errForm("redrive")
	}
	return *answer.Started, nil
}

// about sends a request that reads something of the deployment.
func (c *Client) about(ctx context.Context, operation, path string, query url.Values, answer any) error {
	_, err := c.do(ctx, request{Request: Request{operation, "", ""}, method: http.MethodGet, path: path, query: query, answer: answer})
	return err
}
