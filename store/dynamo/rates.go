package dynamo

import (
	"context"
	"encoding/binary"
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

// ratePartition returns the partition of a task queue, including the default one, whose name is
// empty. Each queue has its own, so that a policy can allow it to the function that consumes the
// queue.
func (s *Store) ratePartition(taskQueue string) string { return s.namespace + "/r/" + taskQueue }

// Reserve implements store.Rates with one conditional update: one for a mark at or after the floor,
// and another for the rest. It first tries the one that fits the mark that this process saw last. A
// failed condition shows where the mark is, and costs a write. A crash after the update leaves an
// unused reservation.
//
// An update that adds to the mark cannot compute a CRC, so the mark has an arithmetic check. The
// sum of mark and check is always the same number (markSum), and each update moves both. A mark of
// an earlier version has no check. It gets one when it is first moved, for one more write.
func (s *Store) Reserve(ctx context.Context, reservation store.Reservation) (time.Time, error) {
	const moves = 3 // in the worst case another process moves the mark past the floor; it does not move back
	bare := false
	for n := range moves {
		seen, _ := s.marks.Load(reservation.TaskQueue)
		mark, _ := seen.(int64)
		next, err := reservation.Next(mark)
		if err != nil && (n > 0 || mark < reservation.Floor.UnixMicro()) {
			return time.Time{}, err // a late mark seen earlier is not enough: an operator may have deleted it
		}
		there, moved, err := s.move(ctx, reservation, mark, next, bare)
		if err != nil {
			return time.Time{}, err
		}
		at, err := s.decodeMark(reservation.TaskQueue, there)
		if err != nil {
			return time.Time{}, err
		}
		if s.marks.Store(reservation.TaskQueue, at); moved {
			return fromMicros(at), nil
		}
		bare = there[attrCheck] == nil && there[attrNumber] != nil
	}
	return time.Time{}, fmt.Errorf("%w: other processes move the mark of the task queue %q too fast", store.ErrThrottled, reservation.TaskQueue)
}

// decodeMark returns the place of a mark, or 0 if it is missing. It returns an error that wraps
// store.ErrCorrupt if the mark is damaged.
func (s *Store) decodeMark(taskQueue string, there attributes) (int64, error) {
	number, check := there[attrNumber], there[attrCheck]
	damaged := number == nil && check != nil || number != nil && kindOf(number) != 'N' || check != nil && kindOf(check) != 'N'
	at := numberOf(there, attrNumber)
	if damaged || check != nil && at+numberOf(there, attrCheck) != s.markSum(taskQueue) {
		return 0, fmt.Errorf("%w: the mark of the task queue %q (%q %q): delete it, and its rate begins anew",
			store.ErrCorrupt, taskQueue, s.ratePartition(taskQueue), rateSort)
	}
	return at, nil
}

// markSum returns the sum of a mark and its check. It depends on the key and on the version.
func (s *Store) markSum(taskQueue string) int64 {
	key := attributes{attrPartition: str(s.ratePartition(taskQueue)), attrSort: str(rateSort)}
	return int64(binary.BigEndian.Uint32(checkOf(key)[1:])) << 20
}

// move moves the mark of a task queue, which it assumes to be at mark, and returns the stored
// attributes. moved is false if the assumption was wrong, and then the mark is unchanged. bare is
// set if the mark was seen without a check: move then adds one, if the mark is still at the same
// place.
func (s *Store) move(ctx context.Context, reservation store.Reservation, mark, next int64, bare bool) (there attributes, moved bool, err error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: attributes{attrPartition: str(s.ratePartition(reservation.TaskQueue)), attrSort: str(rateSort)},
		ExpressionAttributeNames:            map[string]string{"#n": attrNumber, "#c": attrCheck},
		ReturnValues:                        types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		UpdateExpression:                    aws.String("SET #n = :next, #c = :check"),
	}
	floor, check := reservation.Floor.UnixMicro(), s.markSum(reservation.TaskQueue)-next
	switch {
	case bare:
		in.ConditionExpression = aws.String("#n = :mark AND attribute_not_exists(#c)")
		in.ExpressionAttributeValues = attributes{":mark": num(mark), ":next": num(next), ":check": num(check)}
	case mark < floor:
		in.ConditionExpression = aws.String("attribute_not_exists(#n) OR #n < :floor")
		in.ExpressionAttributeValues = attributes{":floor": num(floor), ":next": num(next), ":check": num(check)}
	default:
		in.ConditionExpression = aws.String("#n BETWEEN :floor AND :last AND attribute_exists(#c)")
		in.UpdateExpression = aws.String("SET #n = #n + :by, #c = #c - :by")
		in.ExpressionAttributeValues = attributes{":floor": num(floor), ":last": num(lastMark(reservation)), ":by": num(reservation.By.Microseconds())}
	}
	var out *dynamodb.UpdateItemOutput
	err = write(ctx, func(ctx context.Context, o option) (err error) {
		out, err = s.client.UpdateItem(ctx, in, o)
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return out.Attributes, true, nil
}

// lastMark returns the latest mark that may be moved: its new place is the reservation's latest.
func lastMark(reservation store.Reservation) int64 {
	const never = 1 << 60 // in about 36,000 years
	if reservation.Latest.IsZero() {
		return never
	}
	return reservation.Latest.UnixMicro() - reservation.By.Microseconds()
}
