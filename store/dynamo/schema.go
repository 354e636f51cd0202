package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The table's keys, its index and its attributes. infra declares them with the same names.
const (
	attrPartition = "pk" // string, the partition key
	attrSort      = "sk" // string, the sort key

	indexList = "list"  // the index of the list of runs
	attrList  = "list"  // string, its partition key
	attrPlace = "place" // string, its sort key

	attrExpires = "expires" // number: seconds since 1970, the TTL attribute
	attrSummary = "summary" // map
	attrCommit  = "commit"  // binary: the commit's id
	attrBody    = "body"    // binary; missing if it is empty
	attrNumber  = "number"  // number: of an attempt; the mark of a task queue, in microseconds since 1970
	attrRun     = "run"     // string: the run id of an attempt's run; missing in records of earlier versions
	attrCheck   = "c"       // binary: version and checksum of the item (check.go); a number in the mark of a task queue (rates.go)
	attrTimer   = "timer"   // string: a timer's id if it is too long for the sort key
)

// TTLAttribute is the attribute with the time from which DynamoDB may delete an item.
const TTLAttribute = attrExpires

// Schema returns the request that creates the table, except for its TTL attribute, which another
// request sets.
func Schema(table string) *dynamodb.CreateTableInput {
	key := func(partition, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: aws.String(partition), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
		}
	}
	var attributes []types.AttributeDefinition
	for _, name := range []string{attrPartition, attrSort, attrList, attrPlace} {
		attributes = append(attributes, types.AttributeDefinition{
			AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS,
		})
	}
	return &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: attributes, KeySchema: key(attrPartition, attrSort),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(indexList), KeySchema: key(attrList, attrPlace),
			Projection: &types.Projection{
				ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{attrSummary, attrExpires},
			},
		}},
	}
}

// CreateTable creates the table, waits until it exists, and turns on the deletion of expired items.
// It is for tests and local servers: a deployment declares the same table in its template.
func CreateTable(ctx context.Context, client *dynamodb.Client, table string) error {
	if _, err := client.CreateTable(ctx, Schema(table)); err != nil {
		return err
	}
	const patience = 2 * time.Minute
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Second })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, patience); err != nil {
		return err
	}
	_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(TTLAttribute), Enabled: aws.Bool(true),
		},
	})
	return err
}
