package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

// rateSort is the sort key of the mark of a task queue.
const rateSort = "rate"

// ratePartition is a partition for each task queue: a policy can allow it to the function alone that consumes the queue. The
// default one, whose name is empty, has one too.
func (s *Store) ratePartition(taskQueue string) string { return s.namespace + "/r/" + taskQueue }

// Reserve implements store.Rates, with one conditional update: one for a mark that stands at the floor or after it, and
// another for the rest. Which of them is tried first is where this process saw the mark last; a condition that does not
// hold tells where it is, and costs a write. A crash after it leaves a slot that nobody uses.
func (s *Store) Reserve(ctx context.Context, slot store.Slot) (time.Time, error) {
	const moves = 3 // a mark that was before the floor has been moved past it, at the worst, and does not come back
	for n := range moves {
		seen, _ := s.marks.Load(slot.TaskQueue)
		mark, _ := seen.(int64)
		next, err := slot.Next(mark)
		if err != nil && (n > 0 || mark < slot.Floor.UnixMicro()) {
			return time.Time{}, err // that it stood too late before is not enough: an operator may have taken it away
		}
		at, moved, err := s.move(ctx, slot, mark, next)
		if err != nil {
			return time.Time{}, err
		}
		if s.marks.Store(slot.TaskQueue, at); moved {
			return fromMicros(at), nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: the mark of the task queue %q moves too fast", store.ErrThrottled, slot.TaskQueue)
}

// move moves the mark of a task queue that is taken to stand somewhere, and returns where it stands. moved is false where it
// stood elsewhere, and does so still.
func (s *Store) move(ctx context.Context, slot store.Slot, mark, next int64) (at int64, moved bool, err error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: attributes{attrPartition: str(s.ratePartition(slot.TaskQueue)), attrSort: str(rateSort)},
		ExpressionAttributeNames:            map[string]string{"#n": attrNumber},
		ReturnValues:                        types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	floor := slot.Floor.UnixMicro()
	if mark < floor {
		in.ConditionExpression, in.UpdateExpression = aws.String("attribute_not_exists(#n) OR #n < :floor"), aws.String("SET #n = :next")
		in.ExpressionAttributeValues = attributes{":floor": num(floor), ":next": num(next)}
	} else {
		in.ConditionExpression, in.UpdateExpression = aws.String("#n BETWEEN :floor AND :last"), aws.String("SET #n = #n + :by")
		in.ExpressionAttributeValues = attributes{":floor": num(floor), ":last": num(lastMark(slot)), ":by": num(slot.By.Microseconds())}
	}
	var out *dynamodb.UpdateItemOutput
	err = write(ctx, func(ctx context.Context, o option) (err error) {
		out, err = s.client.UpdateItem(ctx, in, o)
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return numberOf(failed.Item, attrNumber), false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return numberOf(out.Attributes, attrNumber), true, nil
}

// lastMark is the latest mark that may be moved: one that then comes to stand at the slot's latest.
func lastMark(slot store.Slot) int64 {
	const never = 1 << 60 // in some 36,000 years
	if slot.Latest.IsZero() {
		return never
	}
	return slot.Latest.UnixMicro() - slot.By.Microseconds()
}
