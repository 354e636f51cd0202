package awspath

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// Store is where a testbed keeps its runs.
type Store struct {
	// Ports are all ports except the queue.
	Ports executor.Ports
	// Workflows returns the sorted ids of the workflows that have runs.
	Workflows func(ctx context.Context) ([]string, error)
	// Dump returns everything in the store, for comparison with another dump.
	Dump func(ctx context.Context) (string, error)
	// Sends is called for each sending to a queue, if it is not nil. The queues do not belong to
	// the store, and have no client whose requests could be watched.
	Sends func(ctx context.Context, queue string)
}

// portsOf returns the ports over a store, without a queue. It leaves out the check over all runs,
// which would change costs.
func portsOf(s assembly.Store, list store.Lister) executor.Ports {
	ports := assembly.PortsOf(s, list, nil)
	ports.Scanner = nil
	return ports
}

// DynamoDB returns a function that opens stores in a table, each in a namespace of its own. The
// table has the keys and the index of [dynamo.Schema]. It has no TTL, because for a server's clock
// the times of a testbed are long past.
func DynamoDB(client *dynamodb.Client, table string) func(t testing.TB, clock func() time.Time) Store {
	beds := 0
	return func(t testing.TB, clock func() time.Time) Store {
		t.Helper()
		beds++
		kept := &namespace{client: client, table: table, name: fmt.Sprintf("testbed-%d", beds)}
		s, err := dynamo.New(client, dynamo.Options{Table: table, Namespace: kept.name, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return Store{Ports: portsOf(s, s.Lister()), Workflows: kept.workflows, Dump: kept.dump}
	}
}

// NewTable creates a table for DynamoDB, and deletes it when the test ends.
func NewTable(t testing.TB, client *dynamodb.Client) string {
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

// namespace is a testbed's part of a table.
type namespace struct {
	client      *dynamodb.Client
	table, name string
}

// rows returns all items, by key.
func (n *namespace) rows(ctx context.Context) (map[string]map[string]types.AttributeValue, error) {
	rows := map[string]map[string]types.AttributeValue{}
	pages := dynamodb.NewScanPaginator(n.client, &dynamodb.ScanInput{
		TableName: &n.table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("begins_with(pk, :n)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberS{Value: n.name + "/"}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			rows[value(item["pk"])+" "+value(item["sk"])] = item
		}
	}
	return rows, nil
}

func (n *namespace) dump(ctx context.Context) (string, error) {
	rows, err := n.rows(ctx)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintln(&b, key, value(&types.AttributeValueMemberM{Value: rows[key]}))
	}
	return b.String(), err
}

func (n *namespace) workflows(ctx context.Context) ([]string, error) {
	rows, err := n.rows(ctx)
	ids := map[string]bool{}
	for _, item := range rows {
		if id, found := strings.CutPrefix(value(item["pk"]), n.name+"/w/"); found {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), err
}

// value returns an attribute as text.
func value(a types.AttributeValue) string {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		return a.Value
	case *types.AttributeValueMemberN:
		return a.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("%x", a.Value)
	case *types.AttributeValueMemberM:
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(a.Value)) {
			b.WriteString(name + "=" + value(a.Value[name]) + " ")
		}
		return "{" + b.String() + "}"
	}
	return fmt.Sprintf("%T", a)
}
