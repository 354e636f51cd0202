//go:build aws

package dynamo_test

import (
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// The whole suite, against each server, with and without the list.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			client := dynamodb.NewFromConfig(server.Config)
			tableOf := tables(t, client, server.Name == "dynoxide")
			for name, lists := range map[string]bool{"listed": true, "unlisted": false} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					storetest.Run(t, harness(lists, func(t *testing.T, namespace string) *dynamo.Store {
						s, err := dynamo.New(dynamodb.NewFromConfig(server.Config), dynamo.Options{Table: tableOf(namespace), Namespace: namespace, NoList: !lists})
						if err != nil {
							t.Fatal(err)
						}
						return s
					}, func(namespace string) (*dynamodb.Client, string) { return client, tableOf(namespace) }))
				})
			}
		})
	}
}

// tables returns a function that returns the table of a namespace: one for all, or one for each.
// Dynoxide ends a segment of a scan if the item of the ExclusiveStartKey has been deleted, as items
// of other namespaces constantly are. On AWS that item need not exist.
func tables(t *testing.T, client *dynamodb.Client, each bool) func(namespace string) string {
	t.Helper()
	if !each {
		table := newTable(t, client)
		return func(string) string { return table }
	}
	var mu sync.Mutex
	made := map[string]string{}
	return func(namespace string) string {
		mu.Lock()
		defer mu.Unlock()
		if made[namespace] == "" {
			made[namespace] = newTable(t, client)
		}
		return made[namespace]
	}
}
