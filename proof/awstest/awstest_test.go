//go:build aws

package awstest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/proof/awstest"
)

// Every server of the run answers a client with the configuration that tests get.
func TestServersAnswer(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		if _, err := dynamodb.NewFromConfig(server.Config).ListTables(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", server.Name, err)
		}
	}
	for _, server := range awstest.SQS(t) {
		if _, err := sqs.NewFromConfig(server.Config).ListQueues(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", server.Name, err)
		}
	}
	all := awstest.LocalStack(t)
	if _, err := sqs.NewFromConfig(all.Config).ListQueues(t.Context(), nil); err != nil {
		t.Errorf("%s: %v", all.Name, err)
	}
}
