package dynamo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

// maxBatch is how many writes a BatchWriteItem takes.
const maxBatch = 25

// place is a key of the table.
type place struct{ pk, sk string }

// PutTimers implements store.Timers. It puts a timer without a condition: putting it again changes
// nothing. A crash or an error leaves some of the timers. The caller, who got no answer, then puts
// all of them again.
func (s *Store) PutTimers(ctx context.Context, timers []store.Timer) error {
	return s.batch(ctx, timers, func(t store.Timer, key attributes, long bool) (types.WriteRequest, error) {
		setBody(key, t.Body, time.Time{})
		if long {
			key[attrTimer] = str(t.ID)
		}
		addCheck(key)
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: key}}, fits(key)
	})
}

// DeleteTimers implements store.Timers. A crash before it leaves timers whose messages were sent.
// They are sent again, and their receivers recognize that.
func (s *Store) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	return s.batch(ctx, timers, func(_ store.Timer, key attributes, _ bool) (types.WriteRequest, error) {
		return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}}, nil
	})
}

// batch sends the writes of all timers, each key once. If one timer cannot be encoded, it sends
// none.
func (s *Store) batch(
	ctx context.Context, timers []store.Timer, make func(t store.Timer, key attributes, long bool) (types.WriteRequest, error),
) error {
	var writes []types.WriteRequest
	seen := map[place]bool{}
	for _, t := range timers {
		pk, sk, long, err := s.timerKey(t)
		if err != nil {
			return err
		}
		if seen[place{pk, sk}] {
			continue // a batch may not name an item twice
		}
		seen[place{pk, sk}] = true
		w, err := make(t, attributes{attrPartition: str(pk), attrSort: str(sk)}, long)
		if err != nil {
			return err
		}
		writes = append(writes, w)
	}
	for chunk := range slices.Chunk(writes, maxBatch) {
		if err := s.writeAll(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// writeAll sends writes until none is left. DynamoDB leaves writes unprocessed for which it had no
// capacity.
func (s *Store) writeAll(ctx context.Context, writes []types.WriteRequest) error {
	for n := 1; ; n++ {
		var out *dynamodb.BatchWriteItemOutput
		err := write(ctx, func(ctx context.Context, o option) (err error) {
			out, err = s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{s.table: writes},
			}, o)
			return err
		})
		if err != nil {
			return err
		}
		left := out.UnprocessedItems[s.table]
		if len(left) == 0 {
			return nil
		}
		if len(left) < len(writes) {
			n = 1 // it makes progress
		}
		if writes = left; n == tries || !wait(ctx, n) {
			return fmt.Errorf("%w: DynamoDB left %d writes of timers unprocessed", store.ErrThrottled, len(left))
		}
	}
}

// DueTimers implements store.Timers. It reads the beginning of each shard, and no timer that is not
// due. It reports damaged timers and skips them.
func (s *Store) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	if limit <= 0 {
		return nil, nil
	}
	var queries []*dynamodb.QueryInput
	for shard := range uint32(timerShards) {
		// No sort key is equal to the moment's: those of its timers are longer, and sort after it.
		queries = append(queries, s.query(s.timerPartition(shard), "0", dueSort(before)))
	}
	var timers []store.Timer
	for due := s.merge(attrSort, false, limit, queries); len(timers) < limit; {
		row, err := due.next(ctx)
		if row == nil || err != nil {
			return timers, err
		}
		t, err := decodeTimer(row)
		if err != nil {
			s.report(err) // the others fire; this one stays, and the slow check rebuilds its message from the run's history
			continue
		}
		timers = append(timers, t)
	}
	return timers, nil
}

// decodeTimer reads what PutTimers wrote. It returns an error that wraps store.ErrCorrupt if it
// cannot.
func decodeTimer(row attributes) (t store.Timer, err error) {
	if err := verify(row, attrSort); err != nil {
		return t, err
	}
	t.Body = bytesOf(row, attrBody)
	if t.Due, t.ID, err = parseTimerSort(stringOf(row, attrSort)); err != nil {
		return t, corrupt(row, "its sort key is not that of a timer")
	}
	if _, long := row[attrTimer]; long {
		t.ID = stringOf(row, attrTimer)
	}
	return t, nil
}
