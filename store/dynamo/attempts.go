package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

// RecordAttempt implements store.Attempts. One put replaces the record of the earlier attempt. If
// the process crashes before the put arrives, that record stays, and the attempt's message is
// redelivered.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) error {
	pk, err := s.logPartition(a.Workflow)
	if err != nil {
		return err
	}
	item := attributes{attrPartition: str(pk), attrSort: str(attemptSort(a.Run, a.Event)), attrNumber: num(int64(a.Number))}
	setBody(item, a.Body, a.Expires)
	condition, values := free+" OR #n < :n OR attribute_exists(#r)", attributes{":n": num(int64(a.Number))}
	if a.RunID != "" {
		item[attrRun] = str(a.RunID)
		condition, values[":r"] = free+" OR #n < :n OR attribute_not_exists(#r) OR #r <> :r", str(a.RunID)
	}
	addCheck(item)
	if err := fits(item); err != nil {
		return err
	}
	err = write(ctx, func(ctx context.Context, o option) error {
		_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.table, Item: item,
			ConditionExpression:                 aws.String(condition),
			ExpressionAttributeNames:            map[string]string{"#n": attrNumber, "#r": attrRun},
			ExpressionAttributeValues:           values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}, o)
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		if len(failed.Item) > 0 {
			if err := verify(failed.Item, attrNumber); err != nil {
				return err // the compared number is not reliable
			}
		}
		return fmt.Errorf("%w: attempt %d of event %d", store.ErrStale, a.Number, a.Event)
	}
	return err
}

// ReadAttempts implements store.Attempts. The query ends before the commits, and reads none of
// them.
func (s *Store) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	pk, err := s.logPartition(workflow)
	if err != nil {
		return nil, err
	}
	var attempts []store.Attempt
	for query := s.query(pk, attemptSort(run, 0), attemptSort(run, -1)); ; {
		out, err := s.read(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, a := range out.Items {
			if err := verify(a, attrSort, attrNumber); err != nil {
				return nil, err
			}
			event, err := strconv.ParseUint(strings.TrimPrefix(stringOf(a, attrSort), attemptsOf(run)), 16, 64)
			if err != nil {
				return nil, corrupt(a, "its sort key is not that of an attempt")
			}
			attempts = append(attempts, store.Attempt{
				Workflow: workflow, Run: run, RunID: stringOf(a, attrRun), Event: int64(event), Number: int(numberOf(a, attrNumber)),
				Body: bytesOf(a, attrBody), Expires: expiryOf(a),
			})
		}
		if query.ExclusiveStartKey = out.LastEvaluatedKey; len(query.ExclusiveStartKey) == 0 {
			return attempts, nil
		}
	}
}
