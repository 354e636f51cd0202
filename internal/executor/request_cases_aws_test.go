//go:build aws

package executor_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
)

// TestUpdateCasesOnAWS plays the scripts of TestUpdateCases on the AWS path: through the handlers
// of the functions, with AWS's events, on each DynamoDB server. Each line has to give the same
// output, including costs.
func TestUpdateCasesOnAWS(t *testing.T) {
	t.Parallel()
	onAWS(t, "cases", slices.Sorted(maps.Keys(cases)))
}

// TestSpeculativeWorkflowTaskOnAWS does the same with the scripts of TestSpeculativeWorkflowTask.
func TestSpeculativeWorkflowTaskOnAWS(t *testing.T) {
	t.Parallel()
	onAWS(t, "seed", seedRows)
}

func TestFeaturesOnAWS(t *testing.T) {
	t.Parallel()
	onAWS(t, "features", features)
}

// onAWS plays the scripts of a folder on each DynamoDB server.
func onAWS(t *testing.T, folder string, scripts []string) {
	t.Helper()
	for _, server := range awstest.DynamoDB(t) {
		client := dynamodb.NewFromConfig(server.Config)
		for _, name := range scripts {
			t.Run(server.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				beds := awspath.Testbeds(awspath.DynamoDB(client, awspath.NewTable(t, client)))
				playAgain(t, filepath.Join("testdata", folder, name), beds)
			})
		}
	}
}
