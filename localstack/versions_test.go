//go:build aws

package localstack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/pinned"
	"github.com/seed-41655fb1/weft/workflow"
)

// TestVersions deploys build one, and then build two over it. A run that build one started ends
// with build one, through the versions of all three functions. A run that is moved ends with build
// two.
//
// Build two is published through Lambda's API, and not by deploying the template again: LocalStack's CloudFormation deletes a
// version that another replaces, whatever its UpdateReplacePolicy says.
func TestVersions(t *testing.T) {
	t.Parallel()
	d, err := deployStack("Pinning=on", "Build=one")
	if err != nil {
		t.Fatal(err)
	}
	ctx, d := d.within(t)
	for _, id := range []string{"ada", "bob"} {
		if _, err := pinned.Workflow.Start(ctx, d.client, id, id); err != nil {
			t.Fatal(err)
		}
	}
	functions := lambda.NewFromConfig(d.server.Config)
	for _, role := range []string{"api", "workflow", "activity"} {
		d.publish(t, functions, role, "two")
	}
	ends := func(id, build string) {
		t.Helper()
		if err := pinned.Sign.Send(ctx, d.client, id, "eve"); err != nil {
			t.Fatal(err)
		}
		if _, err := pinned.Workflow.Get(d.client, id).Result(ctx); err != nil {
			t.Error(err)
		}
		if last := d.builds(t, id); last[len(last)-1] != build {
			t.Errorf("the tasks of %s were run by %q, and the last one is to be %s's", id, last, build)
		}
	}
	ends("ada", "one")
	if all := d.builds(t, "ada"); slices.Contains(all, "two") {
		t.Errorf("tasks of a run that is pinned to one were run by %q", all)
	}
	if err := pinned.Workflow.Get(d.client, "bob").Move(ctx, workflow.MoveOptions{}); err != nil {
		t.Fatal(err)
	}
	ends("bob", "two")
}

// publish gives a function another build, and publishes it as a version.
func (d *deployment) publish(t *testing.T, functions *lambda.Client, role, build string) {
	t.Helper()
	ctx, name := t.Context(), aws.String(d.stack+"-"+role)
	was, err := functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: name})
	if err != nil {
		t.Fatal(err)
	}
	was.Environment.Variables["WEFT_BUILD"] = build
	_, err = functions.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
		FunctionName: name, Environment: &types.Environment{Variables: was.Environment.Variables},
	})
	if err == nil {
		const patience = time.Minute // in which LocalStack changes a function
		err = lambda.NewFunctionUpdatedV2Waiter(functions).Wait(ctx, &lambda.GetFunctionInput{FunctionName: name}, patience)
	}
	if err == nil {
		_, err = functions.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: name})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// builds returns the builds that ran the tasks of the latest run of a workflow, in their order.
func (d *deployment) builds(t *testing.T, id string) (all []string) {
	t.Helper()
	told, err := d.client.History(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range told.Events {
		if done, ok := e.Attributes.(*history.WorkflowTaskCompleted); ok {
			all = append(all, done.Build)
		}
	}
	return all
}
