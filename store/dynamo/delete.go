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

// deletesAtOnce is the number of concurrent deletions.
const deletesAtOnce = 8

// Delete implements store.Scanner, with a request for each item, because a batch takes no
// conditions. Each request costs the units of a write of the item, and those of the index if the
// item was listed. After a crash or an error some items are left, and the same call may be
// repeated.
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

// deleteOne deletes one item. It repeats the request after every error that may be temporary,
// because a repeated deletion is harmless.
func (s *Store) deleteOne(ctx context.Context, in *dynamodb.DeleteItemInput) error {
	err := wrap(try(ctx, func(v verdict) bool { return v == throttled || v == unknown }, func(ctx context.Context, o option) error {
		_, err := s.client.DeleteItem(ctx, in, o)
		return err
	}), store.ErrUnknown)
	return stale(err, "there is another item at "+stringOf(in.Key, attrSort))
}

// stale returns ErrStale for a write whose condition does not hold, and other errors unchanged.
func stale(err error, why string) error {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return fmt.Errorf("%w: %s", store.ErrStale, why)
	}
	return err
}
