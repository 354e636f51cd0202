//go:build aws

package dynamo_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/store/dynamo"
)

// newTable creates a table, and deletes it when the test ends.
func newTable(t testing.TB, client *dynamodb.Client) string {
	t.Helper()
	table := "weft-" + rand.Text()
	if err := dynamo.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	})
	return table
}
