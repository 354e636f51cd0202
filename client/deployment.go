package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// Deployment describes a deployment.
type Deployment = schema.DeploymentResponse

// Types are the types of workflows and activities that a program has registered.
type Types = schema.TypeListResponse

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
// own. It costs nothing besides the request.
func (c *Client) Types(ctx context.Context) (*Types, error) {
	var answer Types
	if err := c.about(ctx, "types", "/v1/types", nil, &answer); err != nil {
		return nil, err
	}
	if answer.Workflows == nil {
		return nil, errForm("request for the types")
	}
	return &answer, nil
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
