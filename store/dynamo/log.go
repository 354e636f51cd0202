package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

// free is the condition of a put that no item exists at its key.
const free = "attribute_not_exists(" + attrPartition + ")"

// Append implements store.Log. A crash before the request arrives leaves nothing; a crash after it
// leaves all items. A caller without an answer recognizes its items by the commit id: in a read, or
// in the Conflict of the same Append. Nothing besides the items is written, so there is nothing to
// repair.
func (s *Store) Append(ctx context.Context, items ...store.Item) error {
	if len(items) == 0 {
		return errors.New("store/dynamo: an Append of no items")
	}
	puts := make([]*types.Put, len(items))
	for i, item := range items {
		encoded, err := s.encodeItem(item)
		if err != nil {
			return err
		}
		puts[i] = &types.Put{
			TableName: &s.table, Item: encoded, ConditionExpression: aws.String(free),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
		if item.Over != ([16]byte{}) {
			puts[i].ConditionExpression = aws.String(free + " OR #v = :v")
			puts[i].ExpressionAttributeNames = map[string]string{"#v": attrCommit}
			puts[i].ExpressionAttributeValues = attributes{":v": bin(bytes.Clone(item.Over[:]))}
		}
	}
	if len(items) == 1 {
		return s.appendOne(ctx, puts[0])
	}
	return s.appendAll(ctx, puts)
}

// appendOne is the write of the hot path: one conditional put is the lock, the version check and
// the write.
func (s *Store) appendOne(ctx context.Context, put *types.Put) error {
	err := write(ctx, func(ctx context.Context, o option) error {
		_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
		}, o)
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return s.conflict(failed.Item)
	}
	return err
}

// appendAll puts several items, all or none, for twice the units. The SDK gives each call a token
// of its own, so a call that is repeated after it was applied fails by its condition, as a single
// put does.
func (s *Store) appendAll(ctx context.Context, puts []*types.Put) error {
	var items []types.TransactWriteItem
	for _, put := range puts {
		items = append(items, types.TransactWriteItem{Put: put})
	}
	err := write(ctx, func(ctx context.Context, o option) error {
		_, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items}, o)
		return err
	})
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) {
		for _, reason := range canceled.CancellationReasons {
			if len(reason.Item) > 0 {
				return s.conflict(reason.Item)
			}
		}
	}
	return s.conflict(nil)
}

// conflict returns the Conflict with the existing item. If DynamoDB did not return that item, it is
// unknown whether it is the caller's own.
func (s *Store) conflict(standing attributes) error {
	if len(standing) == 0 {
		return fmt.Errorf("%w: the answer to the failed condition lacks the existing item", store.ErrUnknown)
	}
	existing, err := s.decodeItem(standing)
	if err != nil {
		return err // the damage is permanent: the same Append would not find out more
	}
	return &store.Conflict{Existing: existing}
}

// Backward implements store.Log.
func (s *Store) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	last := lastCommit
	if before.Run != 0 || before.Slot != 0 {
		if !until.Before(before) {
			return store.Page{}, nil
		}
		last = commitSort(previous(before))
	}
	return s.page(ctx, workflow, commitSort(until), last, limit, true)
}

// Forward implements store.Log.
func (s *Store) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	end := store.Key{Run: from.Run, Slot: ^uint32(0)}
	return s.page(ctx, from.Workflow, commitSort(from), commitSort(end), limit, false)
}

// page reads the commits of a workflow between two sort keys, both included, with one consistent
// query.
func (s *Store) page(ctx context.Context, workflow, first, last string, limit int, backward bool) (page store.Page, err error) {
	pk, err := s.logPartition(workflow)
	if err != nil {
		return page, err
	}
	query := s.query(pk, first, last)
	query.ScanIndexForward = aws.Bool(!backward)
	if limit > 0 {
		query.Limit = aws.Int32(int32(min(limit, 1<<20)))
	}
	for {
		out, err := s.read(ctx, query)
		if err != nil {
			return store.Page{}, err
		}
		for _, a := range out.Items {
			item, err := s.decodeItem(a)
			if err != nil && len(page.Items) > 0 {
				page.More = true // the caller may need only the earlier items; the next read returns the error
				return page, nil
			}
			if err != nil {
				return store.Page{}, err
			}
			page.Items = append(page.Items, item)
		}
		page.More = len(out.LastEvaluatedKey) > 0
		if !page.More || len(page.Items) > 0 {
			return page, nil
		}
		query.ExclusiveStartKey = out.LastEvaluatedKey // More needs at least one item
	}
}

// query returns a consistent query of a partition for the items between two sort keys, both
// included.
func (s *Store) query(pk, first, last string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(attrPartition + " = :p AND " + attrSort + " BETWEEN :a AND :z"),
		ExpressionAttributeValues: attributes{":p": str(pk), ":a": str(first), ":z": str(last)},
	}
}

// read sends a query.
func (s *Store) read(ctx context.Context, query *dynamodb.QueryInput) (out *dynamodb.QueryOutput, err error) {
	err = read(ctx, func(ctx context.Context, o option) error {
		out, err = s.client.Query(ctx, query, o)
		return err
	})
	return out, err
}
