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
// commit that changed its row and, once it is closed, one after them; the last one is valid. It
// does not use DynamoDB's filter: that saves no units, and would select a run by an outdated row.
func (l *list) ListRuns(ctx context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	after, err := parseToken(token)
	if err != nil {
		return nil, "", err
	}
	first, last := bounds(f, after)
	if first >= last || limit <= 0 {
		return nil, "", nil
	}
	rows := l.store.merge(attrPlace, !f.Oldest, 2*limit, l.queries(first, last))
	if f.Oldest {
		return l.oldest(ctx, f, rows, limit)
	}
	return l.latest(ctx, f, rows, limit)
}

// latest reads a page backward: the first row of a run is the valid one.
func (l *list) latest(ctx context.Context, f store.Filter, rows *merged, limit int) (runs []store.Summary, next string, err error) {
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
		if sum := l.summaryOf(row); sum != nil && f.Selects(sum) {
			runs = append(runs, *sum)
		}
	}
	return runs, newToken(seen), nil
}

// oldest reads a page forward: the last row of a run is the valid one. It is known to be the last
// one when that of another run follows.
func (l *list) oldest(ctx context.Context, f store.Filter, rows *merged, limit int) (runs []store.Summary, next string, err error) {
	var row attributes // the last one that was read
	seen := ""         // the position of the last run whose rows were all read
	take := func() {
		if row != nil {
			seen = positionOf(stringOf(row, attrPlace))
			if sum := l.summaryOf(row); sum != nil && f.Selects(sum) {
				runs = append(runs, *sum)
			}
		}
	}
	for range looked {
		following, err := rows.next(ctx)
		if err != nil {
			return nil, "", err
		}
		if following == nil {
			take()
			return runs, "", nil
		}
		if row != nil && positionOf(stringOf(row, attrPlace)) != positionOf(stringOf(following, attrPlace)) {
			if take(); len(runs) == limit {
				return runs, newToken(seen), nil
			}
		}
		row = following
	}
	if seen == "" { // a run with more rows than one call reads
		if row, err = l.lastRow(ctx, row); err != nil {
			return nil, "", err
		}
		take()
	}
	return runs, newToken(seen), nil
}

// lastRow returns the last row of a run that has this row.
func (l *list) lastRow(ctx context.Context, row attributes) (attributes, error) {
	position := positionOf(stringOf(row, attrPlace))
	q := l.query(stringOf(row, attrList), position, position+afterRows)
	q.Limit, q.ScanIndexForward = aws.Int32(1), aws.Bool(false)
	out, err := l.store.read(ctx, q)
	if err != nil || len(out.Items) == 0 { // without one, the run was deleted meanwhile
		return row, err
	}
	return out.Items[0], nil
}

// summaryOf returns the summary in the valid row of a run. It returns nil, and reports what is
// wrong, if the list omits the run.
func (l *list) summaryOf(row attributes) *store.Summary {
	s := l.store
	if err := verifyRow(row); err != nil {
		s.report(err) // an earlier row of the run would show an outdated state
		return nil
	}
	if expires := numberOf(row, attrExpires); expires != 0 && expires <= s.clock().Unix() {
		return nil // its items may be deleted at any time
	}
	k, err := parseCommitSort(stringOf(row, attrSort))
	if err != nil {
		s.report(corrupt(row, err.Error()))
		return nil
	}
	k.Workflow = s.workflowOf(stringOf(row, attrPartition))
	return decodeSummary(row, k)
}

// queries returns the queries of the shards for the rows between two places, both included. The
// index follows the table: it has no consistent reads, and its reads cost half.
func (l *list) queries(first, last string) []*dynamodb.QueryInput {
	var queries []*dynamodb.QueryInput
	for shard := range listShards {
		queries = append(queries, l.query(l.store.listPartition(shard), first, last))
	}
	return queries
}

// query returns the query of one shard for the rows between two places.
func (l *list) query(partition, first, last string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &l.store.table, IndexName: aws.String(indexList),
		KeyConditionExpression:    aws.String("#l = :l AND #p BETWEEN :a AND :z"),
		ExpressionAttributeNames:  map[string]string{"#l": attrList, "#p": attrPlace},
		ExpressionAttributeValues: attributes{":l": str(partition), ":a": str(first), ":z": str(last)},
	}
}

// afterRows follows a position in a place that sorts after all rows of its run.
const afterRows = "0"

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
	switch {
	case after == "":
	case f.Oldest:
		first = max(first, after+afterRows)
	default:
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
