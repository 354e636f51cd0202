//go:build deploycheck

package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/localstack/check/parcels"
	"github.com/seed-41655fb1/weft/workflow"
)

// side is what is true of the runs of one version of the parcels, and of its contract.
type side struct {
	build               string
	most                int // things that the update takes
	signal, otherSignal workflow.Signal[string]
	query, otherQuery   workflow.Query[workflow.None, int]
	weight, otherWeight string // results of the activity
	weightAt            string // what is missing in the other one
}

// The names that both versions have are those of their contracts in package parcels.
var (
	before = side{"one", 99, parcels.Hurry, parcels.Ship, parcels.Count, parcels.Total, `{"grams":500}`, `{"pounds":1}`, "result.grams"}
	after  = side{"two", 9, parcels.Ship, parcels.Hurry, parcels.Total, parcels.Count, `{"pounds":1}`, `{"grams":500}`, "result.pounds"}
)

// TestVersions deploys another version of a pinned workflow, whose contract differs, over an open
// run. The run keeps to the contract of its own build, and a new run to that of the new one. The
// contract of each can be asked for.
func TestVersions(t *testing.T) {
	ctx, c := shop(t)
	old := pack(ctx, t, c, "old")
	deploySecond(ctx, t)
	fresh := pack(ctx, t, c, "fresh")
	before.judges(ctx, t, c, "old", old)
	after.judges(ctx, t, c, "fresh", fresh)
	before.isPublished(ctx, t, c, client.ContractOptions{Build: before.build})
	after.isPublished(ctx, t, c, client.ContractOptions{Build: after.build})
	after.isPublished(ctx, t, c, client.ContractOptions{})
	if _, err := c.Contract(ctx, client.ContractOptions{Build: "three"}); !errors.Is(err, client.ErrOtherBuild) {
		t.Errorf("the contract of a build that is not deployed: %v", err)
	}
}

// pack starts a parcel, and returns the token of the attempt that weighs it.
func pack(ctx context.Context, t *testing.T, c *client.Client, id string) string {
	t.Helper()
	if _, err := parcels.Workflow.Start(ctx, c, id, "ada"); err != nil {
		t.Fatal(err)
	}
	for item, err := range parcels.Tokens.Read(ctx, c, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		return item.Value
	}
	t.Fatalf("%s has ended before it was weighed", id)
	return ""
}

// judges fails unless each kind of request to an open run is judged by this side's contract. It
// ends the run.
func (s side) judges(ctx context.Context, t *testing.T, c *client.Client, id, token string) {
	t.Helper()
	var rejected *client.Rejected
	if _, err := parcels.Add.Call(ctx, c, id, parcels.Things{Quantity: s.most + 1}); !errors.As(err, &rejected) || rejected.Failure.Type != "BadInput" {
		t.Errorf("%s: an update of %d things: %v; want that its input is refused", id, s.most+1, err)
	}
	if n, err := parcels.Add.Call(ctx, c, id, parcels.Things{Quantity: s.most}); err != nil || n != s.most {
		t.Errorf("%s: an update of %d things: %d, %v", id, s.most, n, err)
	}
	if n, err := s.query.Ask(ctx, c, id, workflow.None{}); err != nil || n != s.most {
		t.Errorf("%s: its query: %d, %v; want %d", id, n, err, s.most)
	}
	_, err := s.otherQuery.Ask(ctx, c, id, workflow.None{})
	refused(t, id, err, client.ErrNotFound, "", s.query.Name())
	refused(t, id, c.CompleteActivity(ctx, token, history.Payload(s.otherWeight)), client.ErrInvalid, s.weightAt)
	if err := c.CompleteActivity(ctx, token, history.Payload(s.weight)); err != nil {
		t.Fatalf("%s: the result %s: %v", id, s.weight, err)
	}
	refused(t, id, s.otherSignal.Send(ctx, c, id, "now"), client.ErrInvalid, "", s.signal.Name())
	if err := s.signal.Send(ctx, c, id, "now"); err != nil {
		t.Fatalf("%s: its signal: %v", id, err)
	}
	if n, err := parcels.Workflow.Get(c, id).Result(ctx); err != nil || n != s.most {
		t.Errorf("%s: %d, %v; want %d", id, n, err, s.most)
	}
}

// refused fails unless a request was refused with this error, at this place, with these names.
func refused(t *testing.T, id string, err, want error, at string, known ...string) {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) || !errors.Is(err, want) || p.At != at || !slices.Equal(p.Known, known) {
		t.Errorf("%s: %+v; want %v at %q with the names %q", id, err, want, at, known)
	}
}

// isPublished fails unless both requests for a contract return this side's.
func (s side) isPublished(ctx context.Context, t *testing.T, c *client.Client, o client.ContractOptions) {
	t.Helper()
	whole, err := c.Contract(ctx, o)
	if err != nil {
		t.Errorf("the contract of %q: %v", o.Build, err)
		return
	}
	one, err := c.TypeContract(ctx, parcels.Workflow.Name(), o)
	if err != nil {
		t.Errorf("the type's contract of %q: %v", o.Build, err)
		return
	}
	for _, got := range []*client.Contract{whole, one} {
		w := got.Workflows[parcels.Workflow.Name()]
		if w == nil || !w.Pinned || w.Signals[s.signal.Name()] == nil || w.Signals[s.otherSignal.Name()] != nil ||
			w.Queries[s.query.Name()] == nil || w.Queries[s.otherQuery.Name()] != nil || w.Updates["add"] == nil {
			t.Errorf("the contract of %q has %+v", o.Build, w)
		}
	}
}

// deploySecond deploys the shop with the second version of the parcels: by DEPLOY_SECOND, or
// through Lambda's API. LocalStack's CloudFormation deletes a version that another replaces,
// whatever its UpdateReplacePolicy says.
func deploySecond(ctx context.Context, t *testing.T) {
	t.Helper()
	if command := os.Getenv("DEPLOY_SECOND"); command != "" {
		shell(ctx, t, command)
		return
	}
	s := source{t, filepath.Join(variable(t, "SHOP"), "main.go")}
	s.replace("parcels.First()", "parcels.Second()")
	shell(ctx, t, "make --silent build")
	code, err := os.ReadFile(filepath.Join(variable(t, "SHOP"), "build", "shop.zip"))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	functions := lambda.NewFromConfig(settings)
	for _, role := range []string{"api", "workflow", "activity"} {
		if err := publish(ctx, functions, variable(t, "STACK")+"-"+role, after.build, code); err != nil {
			t.Fatal(err)
		}
	}
}

// publish gives a function other code and another build, and publishes it as a version.
func publish(ctx context.Context, functions *lambda.Client, name, build string, code []byte) error {
	const patience = time.Minute // in which LocalStack changes a function
	updated := func(err error) error {
		if err != nil {
			return err
		}
		return lambda.NewFunctionUpdatedV2Waiter(functions).Wait(ctx, &lambda.GetFunctionInput{FunctionName: &name}, patience)
	}
	was, err := functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		return err
	}
	was.Environment.Variables["WEFT_BUILD"] = build
	_, err = functions.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
		FunctionName: &name, Environment: &types.Environment{Variables: was.Environment.Variables},
	})
	if err = updated(err); err != nil {
		return err
	}
	_, err = functions.UpdateFunctionCode(ctx, &lambda.UpdateFunctionCodeInput{FunctionName: &name, ZipFile: code})
	if err = updated(err); err != nil {
		return err
	}
	_, err = functions.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: aws.String(name)})
	return err
}
