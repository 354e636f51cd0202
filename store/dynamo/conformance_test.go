package dynamo_test

import (
	"crypto/rand"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// listed is a store with its list.
type listed struct {
	*dynamo.Store
	store.Lister
}

// harness describes this adapter to the suite: each test has a namespace of its own, and reopens it
// with a new client.
func harness(
	lists bool, open func(t *testing.T, namespace string) *dynamo.Store, raw func(namespace string) (client *dynamodb.Client, table string),
) storetest.Harness {
	var namespaces sync.Map // by open store
	damage := func(t *testing.T, s storetest.Store, d storetest.Damaged) {
		namespace, _ := namespaces.Load(s)
		client, table := raw(namespace.(string))
		damageItem(t, client, table, namespace.(string), d)
	}
	// A page of DynamoDB may exceed 1 MB by its last item.
	const body = 396 << 10
	const page = 1<<20 + body
	return storetest.Harness{
		New: func(t *testing.T) func() storetest.Store {
			namespace := rand.Text()
			return func() storetest.Store {
				var s storetest.Store = open(t, namespace)
				if lists {
					s = listed{s.(*dynamo.Store), s.(*dynamo.Store).Lister()}
				}
				namespaces.Store(s, namespace)
				return s
			}
		},
		MaxBody: body, PageBytes: page, Reopens: true, Lists: lists, Damage: damage,
	}
}

// The suite against the fake shows what the adapter does without a server, and that the fake is
// good enough for the tests of faults.
func TestConformance(t *testing.T) {
	t.Parallel()
	f := newFake()
	storetest.Run(t, harness(true, func(t *testing.T, namespace string) *dynamo.Store { return f.open(t, namespace) },
		func(string) (*dynamodb.Client, string) { return f.client(), "weft" }))
}

// damageItem changes one character of an item, bypassing the store.
func damageItem(t *testing.T, client *dynamodb.Client, table, namespace string, d storetest.Damaged) {
	t.Helper()
	a := readItem(t, client, table, namespace, d)
	if d.Row != nil {
		a["summary"].(*types.AttributeValueMemberM).Value["status"] = &types.AttributeValueMemberS{Value: "runninh"}
	} else {
		a["body"].(*types.AttributeValueMemberB).Value[1] ^= 4
	}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: a}); err != nil {
		t.Fatal(err)
	}
}

// readItem reads the item to be damaged, bypassing the store. A timer is in one of the shards.
func readItem(t *testing.T, client *dynamodb.Client, table, namespace string, d storetest.Damaged) map[string]types.AttributeValue {
	t.Helper()
	var partitions []string
	var at string
	switch {
	case d.Attempt != nil:
		partitions = []string{namespace + "/w/" + d.Attempt.Workflow}
		at = fmt.Sprintf("a/%08x/%016x", d.Attempt.Run, d.Attempt.Event)
	case d.Timer != nil:
		for shard := range dynamo.TimerShards {
			partitions = append(partitions, fmt.Sprintf("%s/t/%d", namespace, shard))
		}
		at = fmt.Sprintf("%016x/%s", uint64(d.Timer.Due.UnixMicro())^1<<63, d.Timer.ID)
	default:
		item := d.Item
		if item == nil {
			item = d.Row
		}
		partitions = []string{namespace + "/w/" + item.Workflow}
		at = fmt.Sprintf("c/%08x/%08x", item.Run, item.Slot)
	}
	for _, partition := range partitions {
		out, err := client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :p AND sk BETWEEN :a AND :z"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":p": &types.AttributeValueMemberS{Value: partition},
				":a": &types.AttributeValueMemberS{Value: at}, ":z": &types.AttributeValueMemberS{Value: at},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Items) == 1 {
			return out.Items[0]
		}
	}
	t.Fatalf("there is nothing at %s to damage", at)
	return nil
}
