//go:build aws

package client_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
)

// TestCallsOnDynamoDB plays the cases through the function of the API, over DynamoDB servers.
func TestCallsOnDynamoDB(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		db := dynamodb.NewFromConfig(server.Config)
		for _, gateway := range gateways {
			for name, c := range calls {
				t.Run(server.Name+"/"+gateway+"/"+name, func(t *testing.T) {
					t.Parallel()
					beds := awspath.Testbeds(awspath.DynamoDB(db, awspath.NewTable(t, db)))
					playCall(t, beds, through(gateway, c.args), c.play)
				})
			}
		}
	}
}
