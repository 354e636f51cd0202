package dynamo

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/store"
)

// looked is how many rows one call looks at, at most: a filter that selects few returns a short
// page, and the token to go on from.
const looked = 2000

// list is the list of a namespace.
type list struct{ store *Store }

// ListRuns implements store.Lister. A run has a row of its item that opened it, one of each that
// changed what the list has of it and, once it is closed, one just after them: read from the end,
// the first row of a run is the one that counts. The filter is not DynamoDB's: that saves no units,
// and would select a run by a row that no longer counts.
func (l *list) ListRuns(ctx context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	after, err := parseToken(token)
	if err != nil {
		return nil, "", err
	}
	first, last := bounds(f, after)
	if first >= last || limit <= 0 {
		return nil, "", nil
	}
	s, at := l.store, l.store.clock().Unix()
	rows := s.merge(attrPlace, true, 2*limit, l.queries(first, last))
	var seen string // the place, without its state, of the last run that was looked at
	for range looked {
		if len(runs) == limit {
			return runs, newToken(seen), nil
		}
		row, err := rows.next(ctx)
		if err != nil {
			return nil, "", err
		}
		if row == nil {
			return runs, "", nil
		}
		place := positionOf(stringOf(row, attrPlace))
		if place == seen {
			continue
		}
		seen = place
		if err := verifyRow(row); err != nil {
			s.report(err) // an earlier row of the run would show a state that is past: the list leaves the run out
			continue
		}
		if expires := numberOf(row, attrExpires); expires != 0 && expires <= at {
			continue // it may be deleted at any time
		}
		k, err := parseCommitSort(stringOf(row, attrSort))
		if err != nil {
			s.report(corrupt(row, err.Error()))
			continue
		}
		k.Workflow = s.workflowOf(stringOf(row, attrPartition))
		if sum := decodeSummary(row, k); sum != nil && f.Selects(sum) {
			runs = append(runs, *sum)
		}
	}
	return runs, newToken(seen), nil
}

// queries are the queries of the shards for the rows between two places, both included. The index
// follows the table: it has no consistent reads, and these cost half.
func (l *list) queries(first, last string) []*dynamodb.QueryInput {
	var queries []*dynamodb.QueryInput
	for shard := range listShards {
		queries = append(queries, &dynamodb.QueryInput{
			TableName: &l.store.table, IndexName: aws.String(indexList),
			KeyConditionExpression:    aws.String("#l = :l AND #p BETWEEN :a AND :z"),
			ExpressionAttributeNames:  map[string]string{"#l": attrList, "#p": attrPlace},
			ExpressionAttributeValues: attributes{":l": str(l.store.listPartition(shard)), ":a": str(first), ":z": str(last)},
		})
	}
	return queries
}

// bounds are the places between which a filter's runs are, of those that come after a position
// (empty is the beginning).
func bounds(f store.Filter, after string) (first, last string) {
	first, last = "0", "g" // before and after all hexadecimal numbers
	if !f.StartedAfter.IsZero() {
		first = sortable(f.StartedAfter.UnixMicro() + 1)
	}
	if b := f.StartedBefore; !b.IsZero() {
		end := b.UnixMicro()
		if b.Nanosecond()%int(time.Microsecond) > 0 {
			end++ // rounded up: what started in this microsecond, as it was kept, started before it
		}
		last = sortable(end) // before all places of that microsecond, which are longer
	}
	if after != "" {
		last = min(last, after) // before the rows of that position, which are longer
	}
	return first, last
}

// newToken is the token for what comes after a position. Its checksum tells it from what this
// package did not make.
func newToken(position string) string {
	b := binary.BigEndian.AppendUint32([]byte(position), crc32.ChecksumIEEE([]byte(position)))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseToken(token string) (position string, err error) {
	if token == "" {
		return "", nil
	}
	const sum = 4
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	end := len(b) - sum
	if err != nil || end <= 0 || crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return "", fmt.Errorf("%w: %q", store.ErrBadToken, token)
	}
	return string(b[:end]), nil
}
