package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/store"
)

// scanSegments is the number of segments of a scan. A walk reads them one after the other: it is
// never in a hurry, and so it loads one partition at a time. If a cursor is lost, only its segment
// is read again.
const scanSegments = 4

// scanPlace is the position of a scan: behind a key of a segment, or at its beginning. Segments is
// the number of segments that the segment's number refers to.
type scanPlace struct {
	Segment, Segments int
	PK, SK            string `json:",omitempty"`
}

// Scan implements store.Scanner with one request: a page of a segment. The scan is not consistent,
// because its findings are only hints, and so it costs half of a consistent one: half a unit for
// each 4 KB of any items that it passes (timers and other namespaces included), and at least half a
// unit. The filter only reduces what DynamoDB sends. dynamodb:LeadingKeys cannot limit a scan to a
// namespace; this filter does, except for the first commits of other namespaces: they show that
// there are some.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) (items []store.Item, next string, err error) {
	at, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	in := &dynamodb.ScanInput{
		TableName: &s.table, Segment: aws.Int32(int32(at.Segment)), TotalSegments: aws.Int32(scanSegments),
		Limit:                     aws.Int32(int32(min(max(limit, 1), 1<<20))),
		FilterExpression:          aws.String("begins_with(" + attrSort + ", :c) AND (begins_with(" + attrPartition + ", :p) OR " + attrSort + " = :f)"),
		ExpressionAttributeValues: attributes{":p": str(s.logPrefix()), ":c": str("c/"), ":f": str(commitSort(store.Key{Run: 1}))},
	}
	if at.PK != "" {
		in.ExclusiveStartKey = attributes{attrPartition: str(at.PK), attrSort: str(at.SK)}
	}
	var out *dynamodb.ScanOutput
	err = read(ctx, func(ctx context.Context, o option) error {
		out, err = s.client.Scan(ctx, in, o)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	for _, a := range out.Items {
		if pk := stringOf(a, attrPartition); !strings.HasPrefix(pk, s.logPrefix()) {
			namespace, _, _ := strings.Cut(pk, "/")
			s.others(errors.New(namespace))
			continue
		}
		item, err := s.decodeItem(a)
		if err != nil {
			s.report(err)
			continue
		}
		items = append(items, item)
	}
	return items, at.after(out.LastEvaluatedKey), nil
}

// after returns the cursor after a page of a segment that ended at this key, or the cursor of the
// next segment if there is no key. It returns "" at the end of the last segment.
func (p scanPlace) after(last attributes) string {
	switch {
	case len(last) > 0:
		p.PK, p.SK = stringOf(last, attrPartition), stringOf(last, attrSort)
	case p.Segment+1 < scanSegments:
		p.Segment, p.PK, p.SK = p.Segment+1, "", ""
	default:
		return ""
	}
	p.Segments = scanSegments
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return newToken(string(text))
}

func parseCursor(cursor string) (p scanPlace, err error) {
	text, err := parseToken(cursor)
	if err != nil || text == "" {
		return p, err
	}
	if json.Unmarshal([]byte(text), &p) != nil || p.Segments != scanSegments || p.Segment >= scanSegments || p.Segment < 0 {
		return p, fmt.Errorf("%w: %q", store.ErrBadToken, cursor)
	}
	return p, nil
}

// markSort is the sort key of the mark.
const markSort = "scan"

func (s *Store) markPartition() string { return s.namespace + "/m" }

// ReadMark implements store.Scanner, with one consistent query.
func (s *Store) ReadMark(ctx context.Context) ([]byte, error) {
	out, err := s.read(ctx, s.query(s.markPartition(), markSort, markSort))
	if err != nil || len(out.Items) == 0 {
		return nil, err
	}
	if err := verify(out.Items[0], attrBody); err != nil {
		s.report(err) // WriteMark replaces it
		return nil, nil
	}
	return bytesOf(out.Items[0], attrBody), nil
}

// WriteMark implements store.Scanner with one conditional put. If its answer is lost, the same call
// then returns ErrStale: the caller reads the mark again, and continues from it. Replacing a
// damaged mark takes a query and another put.
func (s *Store) WriteMark(ctx context.Context, old, mark []byte) error {
	err := s.putMark(ctx, old, mark, nil)
	if len(old) > 0 || !errors.Is(err, store.ErrStale) {
		return err
	}
	out, readErr := s.read(ctx, s.query(s.markPartition(), markSort, markSort))
	if readErr != nil || len(out.Items) == 0 || verify(out.Items[0], attrBody) == nil {
		return cmp.Or(readErr, err)
	}
	return s.putMark(ctx, nil, mark, out.Items[0])
}

// putMark replaces an old mark, which is empty if there is none, or a damaged one.
func (s *Store) putMark(ctx context.Context, old, mark []byte, damaged attributes) error {
	in := &dynamodb.PutItemInput{
		TableName: &s.table, ConditionExpression: aws.String(free),
		Item: attributes{attrPartition: str(s.markPartition()), attrSort: str(markSort), attrBody: bin(mark)},
	}
	addCheck(in.Item)
	if len(old) > 0 {
		in.ConditionExpression = aws.String("#v = :v")
		in.ExpressionAttributeNames = map[string]string{"#v": attrBody}
		in.ExpressionAttributeValues = attributes{":v": bin(old)}
	}
	if damaged != nil {
		in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = unchanged(damaged)
	}
	err := write(ctx, func(ctx context.Context, o option) error {
		_, err := s.client.PutItem(ctx, in, o)
		return err
	})
	return stale(err, "the mark was moved")
}

// unchanged returns the condition that body and check of an item have not changed.
func unchanged(was attributes) (condition *string, names map[string]string, values attributes) {
	names, values = map[string]string{"#v": attrBody, "#c": attrCheck}, attributes{}
	var parts []string
	for _, of := range []struct{ name, value string }{{"#v", ":v"}, {"#c", ":c"}} {
		if v, is := was[names[of.name]]; is {
			parts, values[of.value] = append(parts, of.name+" = "+of.value), v
		} else {
			parts = append(parts, "attribute_not_exists("+of.name+")")
		}
	}
	if len(values) == 0 {
		values = nil // DynamoDB refuses empty values
	}
	return aws.String(strings.Join(parts, " AND ")), names, values
}
