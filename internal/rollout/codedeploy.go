package rollout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/internal/awsform"
)

// The name of CodeDeploy's API in requests.
const (
	service   = "codedeploy"
	targetAPI = "CodeDeploy_20141006."
)

// allAtOnce is the configuration of CodeDeploy that moves all traffic in one step.
const allAtOnce = "CodeDeployDefault.LambdaAllAtOnce"

// The states of a deployment in which it may still change an alias.
var active = []string{"Created", "Queued", "InProgress", "Ready", "Baking"}

// refusal is an answer of CodeDeploy that refuses a request.
type refusal struct {
	operation, code, message string
	status                   int
}

// Error returns what was refused and why.
func (r *refusal) Error() string {
	text := fmt.Sprintf("codedeploy:%s: %s", r.operation, r.code)
	if r.message != "" {
		text += ": " + r.message
	}
	if strings.HasPrefix(r.code, "AccessDenied") {
		text += "; the credentials need codedeploy:" + r.operation
	}
	return text
}

// ErrorCode implements smithy.APIError, which the errors of the SDK are.
func (r *refusal) ErrorCode() string { return r.code }

// ErrorMessage implements smithy.APIError.
func (r *refusal) ErrorMessage() string { return r.message }

// ErrorFault implements smithy.APIError.
func (r *refusal) ErrorFault() smithy.ErrorFault { return smithy.FaultUnknown }

// refused reports whether an error is a refusal with one of these codes.
func refused(err error, codes ...string) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	for _, code := range codes {
		if r.code == code {
			return true
		}
	}
	return false
}

// final reports whether a request that failed with this error was not carried out, and will not be
// if it is repeated at once.
func final(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status < http.StatusInternalServerError && !strings.HasPrefix(r.code, "Throttl")
}

// ask sends a request to CodeDeploy, and reads the answer. If it returns an error that is not
// final, the request may have been carried out.
func (r *run) ask(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	c := r.Config
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	address := cmp.Or(r.Endpoint, aws.ToString(c.BaseEndpoint), awsform.Address(service, c.Region)) + "/"
	request, err := awsform.JSON(ctx, credentials, service, c.Region, address, targetAPI+operation, body)
	if err != nil {
		return err
	}
	resp, answer, err := awsform.Send(c.HTTPClient, request)
	if err != nil {
		return fmt.Errorf("codedeploy:%s: %w", operation, err)
	}
	if resp.StatusCode != http.StatusOK {
		code, message := awsform.Refusal(resp, answer)
		return &refusal{operation: operation, code: code, message: message, status: resp.StatusCode}
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("codedeploy:%s: the answer is not what it should be: %w", operation, err)
	}
	return nil
}

// revision is what a deployment moves, as CodeDeploy keeps it.
type revision struct {
	Type    string `json:"revisionType"`
	AppSpec struct {
		Content string `json:"content"`
		SHA256  string `json:"sha256"`
	} `json:"appSpecContent"`
}

// appSpec is the content of a revision.
type appSpec struct {
	Version   json.Number           `json:"version"`
	Resources []map[string]resource `json:"Resources"`
}

type resource struct {
	Type       string `json:"Type"`
	Properties move   `json:"Properties"`
}

// move says which alias moves from which version to which.
type move struct {
	Name           string
	Alias          string
	CurrentVersion string
	TargetVersion  string
}

// revisionOf returns the revision for a move.
func revisionOf(m move) (r revision, err error) {
	content, err := json.Marshal(appSpec{Version: "0.0", Resources: []map[string]resource{{"function": {"AWS::Lambda::Function", m}}}})
	sum := sha256.Sum256(content)
	r.Type, r.AppSpec.Content, r.AppSpec.SHA256 = "AppSpecContent", string(content), hex.EncodeToString(sum[:])
	return r, err
}

// described is how the description of a deployment says what it moves: CodeDeploy does not promise
// to return the content of a revision.
const described = "weft rollout %s -> %s"

// move returns what a deployment moves; the zero move if another program created it and it cannot
// be read.
func (d deployment) move() (m move) {
	var s appSpec
	if err := json.Unmarshal([]byte(d.Revision.AppSpec.Content), &s); err == nil && len(s.Resources) == 1 {
		for _, only := range s.Resources[0] {
			return only.Properties
		}
	}
	if _, err := fmt.Sscanf(d.Description, described, &m.CurrentVersion, &m.TargetVersion); err != nil {
		return move{}
	}
	return m
}

// groups returns the names of the deployment groups, which are those of the functions.
func (r *run) groups(ctx context.Context) (all []string, err error) {
	type request struct {
		Application string `json:"applicationName"`
		Token       string `json:"nextToken,omitempty"`
	}
	for in := (request{Application: r.Name}); ; {
		var page struct {
			Groups []string `json:"deploymentGroups"`
			Token  string   `json:"nextToken"`
		}
		if err := r.ask(ctx, "ListDeploymentGroups", in, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Groups...)
		if in.Token = page.Token; in.Token == "" {
			return all, nil
		}
	}
}

// Running returns the ids of the deployments of a function that may still change its alias. The
// name is that of [Options]. If there is no application or group of that name, none runs. If
// CodeDeploy refuses, the error is a smithy.APIError.
func Running(ctx context.Context, config aws.Config, name, function string) ([]string, error) {
	r := run{Options: Options{Config: config, Name: name}}
	ids, err := r.running(ctx, function)
	if refused(err, "ApplicationDoesNotExistException", "DeploymentGroupDoesNotExistException") {
		return nil, nil
	}
	return ids, err
}

// running returns the ids of the deployments of a function that may still change its alias.
func (r *run) running(ctx context.Context, function string) ([]string, error) {
	var out struct {
		IDs []string `json:"deployments"`
	}
	err := r.ask(ctx, "ListDeployments", map[string]any{"applicationName": r.Name, "deploymentGroupName": function, "includeOnlyStatuses": active}, &out)
	return out.IDs, err
}

// recorded is what CodeDeploy records of a function: its last deployment, and the last one that
// succeeded.
type recorded struct {
	Attempted known `json:"lastAttemptedDeployment"`
	Succeeded known `json:"lastSuccessfulDeployment"`
}

// known names a deployment. The ID is empty if there is none.
type known struct {
	ID string `json:"deploymentId"`
}

// last returns one of the recorded deployments of a function; zero if there is none.
func (r *run) last(ctx context.Context, function string, which func(recorded) known) (d deployment, err error) {
	var out struct {
		Info recorded `json:"deploymentGroupInfo"`
	}
	if err := r.ask(ctx, "GetDeploymentGroup", map[string]string{"applicationName": r.Name, "deploymentGroupName": function}, &out); err != nil {
		return d, err
	}
	if id := which(out.Info).ID; id != "" {
		return r.deployment(ctx, id)
	}
	return d, nil
}

// deployment is what CodeDeploy says of a deployment.
type deployment struct {
	Status      string          `json:"status"`
	Revision    revision        `json:"revision"`
	Description string          `json:"description"`
	Created     json.RawMessage `json:"createTime"` // see created
	Error       *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"errorInformation"`
}

// created returns when the deployment was created, in seconds since 1970; 0 if that is not known.
// JSON 1.1 of AWS has a number, and moto a text of RFC 3339. A moment that cannot be read must not
// keep a deployment from being followed.
func (d deployment) created() float64 {
	var number float64
	var at time.Time
	switch {
	case json.Unmarshal(d.Created, &number) == nil:
		return number
	case json.Unmarshal(d.Created, &at) == nil:
		return float64(at.Unix())
	}
	return 0
}

// why returns why a deployment did not succeed.
func (d deployment) why() string {
	text := d.Status
	if d.Error != nil {
		for _, more := range []string{d.Error.Code, d.Error.Message} {
			if more != "" {
				text += ": " + more
			}
		}
	}
	return text
}

func (r *run) deployment(ctx context.Context, id string) (deployment, error) {
	var out struct {
		Info deployment `json:"deploymentInfo"`
	}
	err := r.ask(ctx, "GetDeployment", map[string]string{"deploymentId": id}, &out)
	return out.Info, err
}

// create starts a deployment, and returns its id.
func (r *run) create(ctx context.Context, m move) (string, error) {
	what, err := revisionOf(m)
	if err != nil {
		return "", err
	}
	in := map[string]any{"applicationName": r.Name, "deploymentGroupName": m.Name, "revision": what, "description": fmt.Sprintf(described, m.CurrentVersion, m.TargetVersion)}
	if r.AllAtOnce {
		in["deploymentConfigName"], in["overrideAlarmConfiguration"] = allAtOnce, map[string]bool{"enabled": false}
	}
	var out struct {
		ID string `json:"deploymentId"`
	}
	err = r.ask(ctx, "CreateDeployment", in, &out)
	return out.ID, err
}

// stop stops a deployment, and CodeDeploy sends its alias back. It returns nil if the deployment
// has ended already.
func (r *run) stop(ctx context.Context, id string) error {
	err := r.ask(ctx, "StopDeployment", map[string]any{"deploymentId": id, "autoRollbackEnabled": true}, &struct{}{})
	if refused(err, "DeploymentAlreadyCompletedException") {
		return nil
	}
	return err
}
