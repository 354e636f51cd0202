package dynamo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

// attributes is an item in DynamoDB's form.
type attributes = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func bin(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// encodeItem returns a commit in its stored form.
func (s *Store) encodeItem(item store.Item) (attributes, error) {
	pk, err := s.logPartition(item.Workflow)
	if err != nil {
		return nil, err
	}
	a := attributes{attrPartition: str(pk), attrSort: str(commitSort(item.Key)), attrCommit: bin(item.Commit[:])}
	setBody(a, item.Body, item.Expires)
	if sum := item.Summary; sum != nil {
		a[attrSummary] = encodeSummary(sum)
		if s.lists {
			place, shard := position(sum)
			state := rowOpen
			switch {
			case !sum.Closed.IsZero():
				state = rowClosed
			case item.Slot > 0:
				state = rowChanged(item.Slot)
			}
			a[attrList], a[attrPlace] = str(s.listPartition(shard)), str(place+state)
			addRowCheck(a)
		}
	}
	addCheck(a)
	return a, fits(a)
}

// decodeItem reads the result of encodeItem. It returns an error that wraps store.ErrCorrupt if it
// cannot. Its result belongs to the caller.
func (s *Store) decodeItem(a attributes) (item store.Item, err error) {
	if err := verify(a, attrPartition, attrSort, attrCommit); err != nil {
		return item, err
	}
	if item.Key, err = parseCommitSort(stringOf(a, attrSort)); err != nil {
		return item, corrupt(a, err.Error())
	}
	item.Workflow = s.workflowOf(stringOf(a, attrPartition))
	if n := copy(item.Commit[:], bytesOf(a, attrCommit)); n != len(item.Commit) {
		return item, corrupt(a, fmt.Sprintf("its commit id has %d bytes", n))
	}
	item.Body, item.Expires = bytesOf(a, attrBody), expiryOf(a)
	item.Summary = decodeSummary(a, item.Key)
	return item, nil
}

// setBody adds a body and its expiry.
func setBody(a attributes, body []byte, expires time.Time) {
	if len(body) > 0 {
		a[attrBody] = bin(body)
	}
	if !expires.IsZero() {
		a[attrExpires] = num(seconds(expires))
	}
}

// The names within a summary. Workflow and run are in the keys.
const (
	sumRunID   = "id"
	sumType    = "type"
	sumStatus  = "status"
	sumStarted = "started" // microseconds since 1970
	sumClosed  = "closed"  // the same; missing while the run is open
	sumBuild   = "build"   // missing if the run is not pinned

	sumAttributes = "attributes" // binary; these two are missing if they are empty
	sumMemo       = "memo"       // binary
	sumFacts      = "facts"      // binary; missing if there are none
)

func encodeSummary(sum *store.Summary) types.AttributeValue {
	m := attributes{
		sumRunID: str(sum.RunID), sumType: str(sum.Type), sumStatus: str(sum.Status), sumStarted: num(sum.Started.UnixMicro()),
	}
	if sum.Build != "" {
		m[sumBuild] = str(sum.Build)
	}
	if sum.Attributes != "" {
		m[sumAttributes] = bin([]byte(sum.Attributes))
	}
	if sum.Memo != "" {
		m[sumMemo] = bin([]byte(sum.Memo))
	}
	if sum.Facts != "" {
		m[sumFacts] = bin([]byte(sum.Facts))
	}
	if !sum.Closed.IsZero() {
		m[sumClosed] = num(sum.Closed.UnixMicro())
	}
	return &types.AttributeValueMemberM{Value: m}
}

// decodeSummary reads the summary of an item, or nil if it has none.
func decodeSummary(a attributes, k store.Key) *store.Summary {
	m, ok := a[attrSummary].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	sum := &store.Summary{
		Workflow: k.Workflow, Run: k.Run, RunID: stringOf(m.Value, sumRunID), Type: stringOf(m.Value, sumType),
		Status: stringOf(m.Value, sumStatus), Started: fromMicros(numberOf(m.Value, sumStarted)),
		Build: stringOf(m.Value, sumBuild), Attributes: string(bytesOf(m.Value, sumAttributes)), Memo: string(bytesOf(m.Value, sumMemo)),
		Facts: string(bytesOf(m.Value, sumFacts)),
	}
	if _, closed := m.Value[sumClosed]; closed {
		sum.Closed = fromMicros(numberOf(m.Value, sumClosed))
	}
	return sum
}

// The three readers return a zero value for a missing attribute, or one of another type.
func stringOf(a attributes, name string) string {
	if v, ok := a[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func bytesOf(a attributes, name string) []byte {
	if v, ok := a[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func numberOf(a attributes, name string) int64 {
	if v, ok := a[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64) // ours are whole numbers
		return n
	}
	return 0
}

func expiryOf(a attributes) time.Time {
	if _, ok := a[attrExpires]; !ok {
		return time.Time{}
	}
	return time.Unix(numberOf(a, attrExpires), 0).UTC()
}

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// seconds returns an expiry in seconds, rounded up, so that nothing expires early.
func seconds(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}

// maxItem is the largest item that DynamoDB takes, counted as it counts: names and values.
const maxItem = 400 << 10

// fits returns an error, before the request, for an item that DynamoDB would refuse as too large.
// It never refuses one that DynamoDB would take.
func fits(a attributes) error {
	if n := sizeOf(a); n > maxItem {
		return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, n, maxItem)
	}
	return nil
}

func sizeOf(a attributes) int {
	const mapOverhead, elementOverhead = 3, 1
	n := 0
	for name, v := range a {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += len(v.Value) / 2 // at least
		case *types.AttributeValueMemberM:
			n += mapOverhead + len(v.Value)*elementOverhead + sizeOf(v.Value)
		}
	}
	return n
}
