package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

// deletesAtOnce is how many deletions are under way together.
const deletesAtOnce = 8

// Delete implements store.Scanner, with a request for each: a batch takes no conditions. Each costs
// the units of a write of what it deletes, and those of the index where that was listed. A crash
// leaves some; so does an error, and the same call may then be made again.
func (s *Store) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	var all []*dynamodb.DeleteItemInput
	add := func(workflow, sk, name string, value types.AttributeValue) (*dynamodb.DeleteItemInput, error) {
		pk, err := s.logPartition(workflow)
		in := &dynamodb.DeleteItemInput{
			TableName: &s.table, Key: attributes{attrPartition: str(pk), attrSort: str(sk)},
			ConditionExpression:       aws.String(free + " OR #v = :v"),
			ExpressionAttributeNames:  map[string]string{"#v": name},
			ExpressionAttributeValues: attributes{":v": value},
		}
		all = append(all, in)
		return in, err
	}
	for _, item := range items {
		if _, err := add(item.Workflow, commitSort(item.Key), attrCommit, bin(bytes.Clone(item.Commit[:]))); err != nil {
			return err
		}
	}
	for _, a := range attempts {
		in, err := add(a.Workflow, attemptSort(a.Run, a.Event), attrNumber, num(int64(a.Number)))
		if err != nil {
			return err
		}
		in.ExpressionAttributeNames["#r"] = attrRun
		if a.RunID == "" {
			in.ConditionExpression = aws.String(free + " OR #v = :v AND attribute_not_exists(#r)")
		} else {
			in.ConditionExpression = aws.String(free + " OR #v = :v AND #r = :r")
			in.ExpressionAttributeValues[":r"] = str(a.RunID)
		}
	}
	errs := make([]error, len(all))
	var deleting sync.WaitGroup
	room := make(chan struct{}, deletesAtOnce)
	for i, in := range all {
		room <- struct{}{}
		deleting.Go(func() {
			defer func() { <-room }()
			errs[i] = s.deleteOne(ctx, in)
		})
	}
	deleting.Wait()
	return errors.Join(errs...)
}

// deleteOne makes a deletion, again after every error that may pass: it cannot do anything twice.
func (s *Store) deleteOne(ctx context.Context, in *dynamodb.DeleteItemInput) error {
	err := wrap(try(ctx, func(v verdict) bool { return v == throttled || v == unknown }, func(ctx context.Context, o option) error {
		_, err := s.client.DeleteItem(ctx, in, o)
		return err
	}), store.ErrUnknown)
	return stale(err, "another item stands at "+stringOf(in.Key, attrSort))
}

// stale is what a write returns whose condition does not hold.
func stale(err error, why string) error {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return fmt.Errorf("%w: %s", store.ErrStale, why)
	}
	return err
}
