//go:build aws

package turn_test

import (
	"context"
	"crypto/rand"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/awstest"
	"github.com/seed-41655fb1/weft/internal/turntest/awspath"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// TestUpdateCasesOnAWS plays the scripts of TestUpdateCases on the AWS path: through the handlers of the functions, with
// the events that AWS would hand over, on each DynamoDB server. It expects the same of each line, costs included.
func TestUpdateCasesOnAWS(t *testing.T) {
	t.Parallel()
	onAWS(t, "cases", slices.Sorted(maps.Keys(cases)))
}

// TestSpeculativeWorkflowTaskOnAWS does that with the scripts of TestSpeculativeWorkflowTask.
func TestSpeculativeWorkflowTaskOnAWS(t *testing.T) {
	t.Parallel()
	onAWS(t, "seed", seedRows)
}

// onAWS plays the scripts of a folder on each DynamoDB server. LocalStack hands requests on to the DynamoDB Local that is
// another of the servers, and takes ten times as long: it gets the first script.
func onAWS(t *testing.T, folder string, scripts []string) {
	t.Helper()
	for _, server := range awstest.DynamoDB(t) {
		client := dynamodb.NewFromConfig(server.Config)
		played := scripts
		if server.Name == "localstack" {
			played = scripts[:1]
		}
		for _, name := range played {
			t.Run(server.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				scenes := awspath.Scenes(awspath.DynamoDB(client, newTable(t, client)))
				playAgain(t, filepath.Join("testdata", folder, name), scenes)
			})
		}
	}
}

// newTable makes a table, and deletes it when the test ends.
func newTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	table := "weft-" + rand.Text()
	if _, err := client.CreateTable(t.Context(), dynamo.Schema(table)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	})
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Second })
	if err := waiter.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &table}, time.Minute); err != nil {
		t.Fatal(err)
	}
	return table
}
