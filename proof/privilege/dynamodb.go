package privilege

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

func itemNeeds(part string, table *string, items ...item) ([]need, error) {
	n := need{part: part, table: aws.ToString(table)}
	for _, i := range items {
		key, ok := i[partitionKey("")].(*types.AttributeValueMemberS)
		if !ok {
			return nil, fmt.Errorf("an item has no partition key %s", partitionKey(""))
		}
		n.keys = append(n.keys, key.Value)
	}
	return []need{n}, nil
}

func batchNeeds(in *dynamodb.BatchWriteItemInput) (needs []need, err error) {
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		var items []item
		for _, w := range in.RequestItems[table] {
			if w.PutRequest != nil {
				items = append(items, w.PutRequest.Item)
			}
			if w.DeleteRequest != nil {
				items = append(items, w.DeleteRequest.Key)
			}
		}
		more, err := itemNeeds("", &table, items...)
		if err != nil {
			return nil, err
		}
		needs = append(needs, more...)
	}
	return needs, nil
}

// transactionNeeds returns the needs of a transaction. IAM checks each part separately.
func transactionNeeds(in *dynamodb.TransactWriteItemsInput) (needs []need, err error) {
	for _, part := range in.TransactItems {
		if part.Put == nil {
			return nil, fmt.Errorf("only a Put is known in a transaction, and not %+v: add it to rights.go", part)
		}
		more, err := itemNeeds("/Put", part.Put.TableName, part.Put.Item)
		if err != nil {
			return nil, err
		}
		needs = append(needs, more...)
	}
	return needs, nil
}

// equality matches a comparison of an attribute with a value.
var equality = regexp.MustCompile(`(#?\w+)\s*=\s*(:\w+)`)

// queriedKey returns the partition key that a query selects. It returns an error if there is none,
// because DynamoDB accepts no query without one.
func queriedKey(in *dynamodb.QueryInput) (string, error) {
	want := partitionKey(aws.ToString(in.IndexName))
	for _, found := range equality.FindAllStringSubmatch(aws.ToString(in.KeyConditionExpression), -1) {
		name := found[1]
		if strings.HasPrefix(name, "#") {
			name = in.ExpressionAttributeNames[name]
		}
		if value, ok := in.ExpressionAttributeValues[found[2]].(*types.AttributeValueMemberS); ok && name == want {
			return value.Value, nil
		}
	}
	return "", fmt.Errorf("the query %q does not select a %s", aws.ToString(in.KeyConditionExpression), want)
}

// partitionKey returns the name of the partition key of the store's table, or of one of its
// indexes.
func partitionKey(index string) string {
	schema := dynamo.Schema("any")
	keys := schema.KeySchema
	for _, i := range schema.GlobalSecondaryIndexes {
		if aws.ToString(i.IndexName) == index {
			keys = i.KeySchema
		}
	}
	i := slices.IndexFunc(keys, func(k types.KeySchemaElement) bool { return k.KeyType == types.KeyTypeHash })
	return aws.ToString(keys[i].AttributeName)
}
