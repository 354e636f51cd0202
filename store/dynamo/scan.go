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

// scanSegments is how many parts a scan of the table has. They are walked one after the other: a walk that is never in a
// hurry loads one partition at a time, and a part whose cursor is lost is all that has to be walked again.
const scanSegments = 4

// scanPlace is where a scan goes on: behind a key of a segment, or at its beginning. Segments says what its number means.
type scanPlace struct {
	Segment, Segments int
	PK, SK            string `json:",omitempty"`
}

// Scan implements store.Scanner, with one request: a page of a segment. It is not consistent, because what it finds is
// only a hint, and costs half of what a consistent one does: half a unit for each 4 KB that it passes, whosever they are
// (timers, other namespaces), and half a unit for nothing at all. The filter only keeps them from being sent. A scan can
// not be held to a namespace by dynamodb:LeadingKeys; this filter is what does it.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) (items []store.Item, next string, err error) {
	at, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	in := &dynamodb.ScanInput{
		TableName: &s.table, Segment: aws.Int32(int32(at.Segment)), TotalSegments: aws.Int32(scanSegments),
		Limit:                     aws.Int32(int32(min(max(limit, 1), 1<<20))),
		FilterExpression:          aws.String("begins_with(" + attrPartition + ", :p) AND begins_with(" + attrSort + ", :c)"),
		ExpressionAttributeValues: attributes{":p": str(s.logPrefix()), ":c": str("c/")},
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
		item, err := s.decodeItem(a)
		if err != nil {
			s.report(err)
			continue
		}
		items = append(items, item)
	}
	return items, at.after(out.LastEvaluatedKey), nil
}

// after is the cursor behind a page of a segment that ended with this key, or of which there is no more.
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

// WriteMark implements store.Scanner, with one conditional put. Where its answer is lost, the same call returns ErrStale
// then: a caller reads the mark again, and goes on from it. To replace a damaged mark takes a query and another put.
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

// putMark puts a mark in the place of an old one, which is empty if there is none, or of a damaged one.
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

// unchanged is the condition that body and check of an item are what they were.
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
		values = nil // DynamoDB takes no empty ones
	}
	return aws.String(strings.Join(parts, " AND ")), names, values
}
