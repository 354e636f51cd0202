//go:build aws

package infra_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/privilege"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// In no script of package executor does a function ask for more than its role allows.
// (TestUpdateCasesOnAWS checks their results.)
func TestScriptsNeedNoOtherRights(t *testing.T) {
	t.Parallel()
	const beds = "testbed-*" // each testbed of a script has a namespace of its own
	functions := samFunctions(t, "weft", map[string]string{"Namespace": beds}, testbed.TaskQueues...)
	recorders := map[string]*privilege.Recorder{}
	for name := range functions {
		recorders[name] = &privilege.Recorder{}
	}
	t.Run("scripts", func(t *testing.T) {
		for _, path := range testbed.Scripts(t, filepath.Join("..", "internal", "executor", "testdata")) {
			t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				playRecorded(t, path, functions, recorders)
			})
		}
	})
	ofQueues := usesOfTaskQueues(recorders)
	for name, f := range functions {
		uses := append(recorders[name].Uses(), ofQueues[name]...)
		if name == string(adapter.Activity) {
			uses = slices.DeleteFunc(uses, func(u privilege.Use) bool { return paces(u) != "" })
		}
		quiet := name == string(adapter.Dead) || strings.HasPrefix(name, "tasks-") // no message of a script dies, and a testbed has one function for all task queues
		if len(uses) == 0 && !quiet {
			t.Errorf("%s has made no request", name)
		}
		missing, err := privilege.Missing(f.Role, uses)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range missing {
			t.Errorf("%s makes a request that its role does not allow: %v", name, u)
		}
		for _, err := range recorders[name].Errs() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// usesOfTaskQueues returns the requests that the function of each task queue would have made
// instead of the one function of a testbed: those for the rate of its queue.
func usesOfTaskQueues(recorders map[string]*privilege.Recorder) map[string][]privilege.Use {
	all := map[string][]privilege.Use{}
	for _, u := range recorders[string(adapter.Activity)].Uses() {
		if name := paces(u); name != "" {
			all["tasks-"+name] = append(all["tasks-"+name], u)
		}
	}
	return all
}

// paces returns the task queue whose rate a request is about, except for the default queue.
func paces(u privilege.Use) string {
	if u.Action != "dynamodb:UpdateItem" {
		return ""
	}
	_, name, _ := strings.Cut(u.Keys[0], "/r/")
	return name
}

// playRecorded runs the scripts of a file on a table of its own. The recorded requests name the
// table and the queues of the template instead.
func playRecorded(t *testing.T, path string, functions map[string]function, recorders map[string]*privilege.Recorder) {
	t.Helper()
	of := func(ctx context.Context) *privilege.Recorder { return recorders[string(awspath.Role(ctx))] }
	table := "weft-" + rand.Text()
	arn := func(service, resource string) string {
		return lambdahost.ARN(service, strings.Replace(resource, table, functions["api"].variables["WEFT_TABLE"], 1))
	}
	c := awstest.DynamoDB(t)[0].Config.Copy()
	c.APIOptions = append(c.APIOptions, privilege.Install(arn, of))
	client := dynamodb.NewFromConfig(c)
	if err := dynamo.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	})
	opened := awspath.DynamoDB(client, table)
	script := testbed.NewScript(t, awspath.Testbeds(func(t testing.TB, clock func() time.Time) awspath.Store {
		s := opened(t, clock)
		s.Sends = func(ctx context.Context, queue string) {
			url := functions["api"].urlOf(queue)
			if url == "" {
				t.Errorf("no function knows the queue %s", queue)
			}
			of(ctx).Record("SQS.SendMessageBatch", &sqs.SendMessageBatchInput{QueueUrl: aws.String(url)}, arn)
		}
		return s
	}))
	defer script.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	datadriven.RunTestFromString(t, string(text), func(_ *testing.T, d *datadriven.TestData) string {
		script.Play(d.Cmd, testbed.ArgsOf(d.CmdArgs), d.Input)
		return d.Expected
	})
}
