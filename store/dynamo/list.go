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

// looked is the highest number of rows that one call reads. A filter that selects few runs gets a
// short page, and a token to continue.
const looked = 2000

// list is the list of a namespace.
type list struct{ store *Store }

// ListRuns implements store.Lister. A run has a row for the commit that opened it, one for each
// commit that changed its row and, once it is closed, one after them. ListRuns reads backward, so
// the first row of a run is the valid one. It does not use DynamoDB's filter: that saves no units,
// and would select a run by an outdated row.
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
	var seen string // the position of the last run that was read
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
			s.report(err) // an earlier row of the run would show an outdated state: the list omits the run
			continue
		}
		if expires := numberOf(row, attrExpires); expires != 0 && expires <= at {
			continue // its items may be deleted at any time
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

// queries returns the queries of the shards for the rows between two places, both included. The
// index follows the table: it has no consistent reads, and its reads cost half.
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

// bounds returns the places between which a filter's runs are, after a position; an empty position
// is the beginning.
func bounds(f store.Filter, after string) (first, last string) {
	first, last = "0", "g" // before and after all hexadecimal numbers
	if !f.StartedAfter.IsZero() {
		first = sortable(f.StartedAfter.UnixMicro() + 1)
	}
	if b := f.StartedBefore; !b.IsZero() {
		end := b.UnixMicro()
		if b.Nanosecond()%int(time.Microsecond) > 0 {
			end++ // rounded up: runs stored with this microsecond started before it
		}
		last = sortable(end) // before all places of that microsecond, which are longer
	}
	if after != "" {
		last = min(last, after) // sorts before the rows of that position, which are longer
	}
	return first, last
}

// newToken returns the token for the rows after a position. By its checksum, parseToken recognizes
// tokens of this package.
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
