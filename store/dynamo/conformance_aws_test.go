//go:build aws

package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/awstest"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// The whole suite, against each server: with the list and without it.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			client := dynamodb.NewFromConfig(server.Config)
			table := newTable(t, client)
			for name, lists := range map[string]bool{"listed": true, "unlisted": false} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					storetest.Run(t, harness(lists, func(t *testing.T, namespace string) *dynamo.Store {
						s, err := dynamo.New(dynamodb.NewFromConfig(server.Config), dynamo.Options{Table: table, Namespace: namespace, NoList: !lists})
						if err != nil {
							t.Fatal(err)
						}
						return s
					}))
				})
			}
		})
	}
}
