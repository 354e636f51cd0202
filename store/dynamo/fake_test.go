package dynamo_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/seed-41655fb1/weft/store/dynamo"
)

// fake is a DynamoDB instead of the network. It knows only the operations and expressions that the
// store uses. The store is also tested against servers that others wrote (conformance_aws_test.go).
// This one does what they never do: it refuses requests, breaks connections and loses answers.
type fake struct {
	mu     sync.Mutex
	items  map[string]map[string]record // by partition key and sort key
	tokens map[string]bool              // of applied transactions
	// fault is called before a request is carried out, and returns its fault, or nil.
	fault func(op string, in *request) *fault
	// requests are the operations in order.
	requests []string
}

// record is an item in the protocol's JSON.
type record map[string]value

type value struct {
	S *string          `json:",omitempty"`
	N *string          `json:",omitempty"`
	B *string          `json:",omitempty"`
	M map[string]value `json:",omitempty"`
}

// fault describes how a request fails.
type fault struct {
	// applied is set if the request is carried out nevertheless.
	applied bool
	// status and body are the answer; status 0 means a broken connection.
	status int
	body   string
}

type request struct {
	Item, Key                           record
	ConditionExpression                 string
	UpdateExpression                    string
	ExpressionAttributeValues           map[string]value
	ReturnValuesOnConditionCheckFailure string
	TransactItems                       []struct{ Put *request }
	ClientRequestToken                  string
	RequestItems                        map[string][]batchWrite
	IndexName                           string
	ScanIndexForward                    *bool
	Limit                               int
	ExclusiveStartKey                   record
	ExpressionAttributeNames            map[string]string
	Segment, TotalSegments              int
}

type batchWrite struct {
	PutRequest    *struct{ Item record } `json:",omitempty"`
	DeleteRequest *struct{ Key record }  `json:",omitempty"`
}

func (v value) text() string {
	if v.S == nil {
		return ""
	}
	return *v.S
}

func (r record) key() (pk, sk string) { return r["pk"].text(), r["sk"].text() }

func (r record) size() (n int) {
	for name, v := range r {
		n += len(name)
		for _, s := range []*string{v.S, v.N} {
			if s != nil {
				n += len(*s)
			}
		}
		if v.B != nil {
			n += base64.StdEncoding.DecodedLen(len(*v.B))
		}
		n += record(v.M).size()
	}
	return n
}

func newFake() *fake { return &fake{items: map[string]map[string]record{}, tokens: map[string]bool{}} }

// client is a client of the fake.
func (f *fake) client(options ...func(*middleware.Stack) error) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: f, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		BaseEndpoint: aws.String("http://fake"), APIOptions: options,
	})
}

func (f *fake) open(t testing.TB, namespace string) *dynamo.Store {
	t.Helper()
	s, err := dynamo.New(f.client(), dynamo.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var errBroken = errors.New("read tcp 127.0.0.1:1->127.0.0.1:2: connection reset by peer")

// Do implements aws.HTTPClient.
func (f *fake) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	in := &request{}
	if err := json.Unmarshal(body, in); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, op)
	var wrong *fault
	if f.fault != nil {
		wrong = f.fault(op, in)
	}
	if wrong == nil || wrong.applied {
		status, answer := f.handle(op, in)
		if wrong == nil {
			return response(status, answer), nil
		}
	}
	if wrong.status == 0 {
		return nil, errBroken
	}
	return response(wrong.status, wrong.body), nil
}

func response(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}
}

func failure(code, message, more string) (int, string) {
	return http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q%s}`, code, message, more)
}

func (f *fake) handle(op string, in *request) (int, string) {
	switch op {
	case "PutItem":
		if standing, ok := f.check(in); !ok {
			return failure("ConditionalCheckFailedException", "The conditional request failed", `,"Item":`+encode(standing))
		}
		f.put(in.Item)
		return http.StatusOK, "{}"
	case "TransactWriteItems":
		return f.transact(in)
	case "BatchWriteItem":
		for _, writes := range in.RequestItems {
			if !distinct(writes) {
				return failure("ValidationException", "Provided list of item keys contains duplicates, or too many", "")
			}
			for _, w := range writes {
				if w.PutRequest != nil {
					f.put(w.PutRequest.Item)
				} else {
					pk, sk := w.DeleteRequest.Key.key()
					delete(f.items[pk], sk)
				}
			}
		}
		return http.StatusOK, "{}"
	case "DeleteItem":
		in.Item = in.Key
		if standing, ok := f.check(in); !ok {
			return failure("ConditionalCheckFailedException", "The conditional request failed", `,"Item":`+encode(standing))
		}
		pk, sk := in.Key.key()
		delete(f.items[pk], sk)
		return http.StatusOK, "{}"
	case "UpdateItem":
		return f.update(in)
	case "Query":
		return http.StatusOK, f.query(in)
	case "Scan":
		return http.StatusOK, f.scan(in)
	}
	return failure("UnknownOperationException", op, "")
}

// distinct reports whether a batch is one that DynamoDB takes.
func distinct(writes []batchWrite) bool {
	keys := map[string]bool{}
	for _, w := range writes {
		if w.PutRequest != nil {
			keys[w.PutRequest.Item["pk"].text()+" "+w.PutRequest.Item["sk"].text()] = true
		} else {
			keys[w.DeleteRequest.Key["pk"].text()+" "+w.DeleteRequest.Key["sk"].text()] = true
		}
	}
	return len(keys) == len(writes) && len(writes) <= 25
}

// check reports whether the condition of a put holds, and returns the existing item.
func (f *fake) check(in *request) (standing record, ok bool) {
	pk, sk := in.Item.key()
	standing = f.items[pk][sk]
	sameRun := standing[in.ExpressionAttributeNames["#r"]].text() == in.ExpressionAttributeValues[":r"].text()
	switch in.ConditionExpression {
	case "":
		return nil, true
	case "attribute_not_exists(pk)":
		return standing, standing == nil
	case "attribute_not_exists(pk) OR #n < :n OR attribute_exists(#r)",
		"attribute_not_exists(pk) OR #n < :n OR attribute_not_exists(#r) OR #r <> :r":
		if standing == nil {
			return nil, true
		}
		old, _ := strconv.Atoi(*standing["number"].N)
		n, _ := strconv.Atoi(*in.ExpressionAttributeValues[":n"].N)
		return standing, old < n || !sameRun
	}
	same := standing != nil && encode(standing[in.ExpressionAttributeNames["#v"]]) == encode(in.ExpressionAttributeValues[":v"])
	switch in.ConditionExpression {
	case "attribute_not_exists(pk) OR #v = :v":
		return standing, standing == nil || same
	case "attribute_not_exists(pk) OR #v = :v AND attribute_not_exists(#r)", "attribute_not_exists(pk) OR #v = :v AND #r = :r":
		return standing, standing == nil || same && sameRun
	case "#v = :v":
		return standing, same
	case "#v = :v AND #c = :c":
		return standing, same && encode(standing["c"]) == encode(in.ExpressionAttributeValues[":c"])
	case "attribute_not_exists(#v) AND #c = :c":
		_, is := standing["body"]
		return standing, standing != nil && !is && encode(standing["c"]) == encode(in.ExpressionAttributeValues[":c"])
	}
	panic("a condition that the fake does not know: " + in.ConditionExpression)
}

// update moves a number, as the store's updates do.
func (f *fake) update(in *request) (int, string) {
	pk, sk := in.Key.key()
	standing, name, check := f.items[pk][sk], in.ExpressionAttributeNames["#n"], in.ExpressionAttributeNames["#c"]
	number := func(v value) int64 {
		if v.N == nil {
			return 0
		}
		n, _ := strconv.ParseInt(*v.N, 10, 64)
		return n
	}
	of := func(name string) int64 { return number(in.ExpressionAttributeValues[name]) }
	at, ok := number(standing[name]), false
	switch in.ConditionExpression {
	case "attribute_not_exists(#n) OR #n < :floor":
		ok = standing == nil || at < of(":floor")
	case "#n BETWEEN :floor AND :last AND attribute_exists(#c)":
		ok = standing != nil && at >= of(":floor") && at <= of(":last") && standing[check].N != nil
	case "#n = :mark AND attribute_not_exists(#c)":
		ok = standing != nil && at == of(":mark") && standing[check].N == nil
	default:
		panic("a condition that the fake does not know: " + in.ConditionExpression)
	}
	if !ok {
		return failure("ConditionalCheckFailedException", "The conditional request failed", `,"Item":`+encode(standing))
	}
	checked := number(standing[check]) - of(":by")
	if at += of(":by"); in.UpdateExpression == "SET #n = :next, #c = :check" {
		at, checked = of(":next"), of(":check")
	}
	text := func(n int64) value { return value{N: aws.String(strconv.FormatInt(n, 10))} }
	moved := record{name: text(at), check: text(checked)}
	f.put(record{"pk": in.Key["pk"], "sk": in.Key["sk"], name: moved[name], check: moved[check]})
	return http.StatusOK, `{"Attributes":` + encode(moved) + `}`
}

func (f *fake) put(item record) {
	pk, sk := item.key()
	if f.items[pk] == nil {
		f.items[pk] = map[string]record{}
	}
	f.items[pk][sk] = item
}

func (f *fake) transact(in *request) (int, string) {
	if f.tokens[in.ClientRequestToken] {
		return http.StatusOK, "{}"
	}
	var reasons []string
	failed := false
	for _, t := range in.TransactItems {
		standing, ok := f.check(t.Put)
		if ok {
			reasons = append(reasons, `{"Code":"None"}`)
			continue
		}
		failed = true
		reasons = append(reasons, `{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":`+encode(standing)+`}`)
	}
	if failed {
		return failure("TransactionCanceledException", "Transaction cancelled", `,"CancellationReasons":[`+strings.Join(reasons, ",")+`]`)
	}
	for _, t := range in.TransactItems {
		f.put(t.Put.Item)
	}
	f.tokens[in.ClientRequestToken] = true
	return http.StatusOK, "{}"
}

func (f *fake) query(in *request) string {
	const pageBytes = 1 << 20
	v := in.ExpressionAttributeValues
	sort, partitions := "sk", []map[string]record{f.items[v[":p"].text()]}
	if in.IndexName != "" {
		sort, partitions = "place", slices.Collect(maps.Values(f.items))
	}
	var found []record
	for _, items := range partitions {
		for _, item := range items {
			s := item[sort].text()
			if s >= v[":a"].text() && s <= v[":z"].text() && (in.IndexName == "" || item["list"].text() == v[":l"].text()) {
				found = append(found, item)
			}
		}
	}
	slices.SortFunc(found, func(a, b record) int { return strings.Compare(a[sort].text(), b[sort].text()) })
	if in.ScanIndexForward != nil && !*in.ScanIndexForward {
		slices.Reverse(found)
	}
	if in.ExclusiveStartKey != nil {
		pk, sk := in.ExclusiveStartKey.key()
		i := slices.IndexFunc(found, func(r record) bool { p, s := r.key(); return p == pk && s == sk })
		found = found[i+1:]
	}
	size, last := 0, ""
	for i, item := range found {
		if size += item.size(); size > pageBytes || i+1 == in.Limit {
			last = `,"LastEvaluatedKey":` + encode(record{"pk": item["pk"], "sk": item["sk"]})
			found = found[:i+1]
			break
		}
	}
	return `{"Items":` + encode(found) + last + `}`
}

// scan reads a page of a segment: partitions in the order of a hash, and items in the order of
// their keys. It filters them last.
func (f *fake) scan(in *request) string {
	hash := func(r record) uint32 { return crc32.ChecksumIEEE([]byte(r["pk"].text())) }
	order := func(a, b record) int {
		return cmp.Or(cmp.Compare(hash(a), hash(b)), strings.Compare(a["pk"].text(), b["pk"].text()), strings.Compare(a["sk"].text(), b["sk"].text()))
	}
	var found []record
	for _, items := range f.items {
		for _, item := range items {
			if int(hash(item))%in.TotalSegments == in.Segment && (in.ExclusiveStartKey == nil || order(item, in.ExclusiveStartKey) > 0) {
				found = append(found, item)
			}
		}
	}
	slices.SortFunc(found, order)
	last := ""
	if len(found) > in.Limit {
		found = found[:in.Limit]
		end := found[in.Limit-1]
		last = `,"LastEvaluatedKey":` + encode(record{"pk": end["pk"], "sk": end["sk"]})
	}
	found = slices.DeleteFunc(found, func(r record) bool {
		pk, sk := r.key()
		v := in.ExpressionAttributeValues
		return !strings.HasPrefix(sk, v[":c"].text()) || !strings.HasPrefix(pk, v[":p"].text()) && sk != v[":f"].text()
	})
	return `{"Items":` + encode(found) + last + `}`
}

func encode(v any) string {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		panic(err)
	}
	if s := b.String(); s != "null\n" {
		return s
	}
	if _, ok := v.([]record); ok {
		return "[]"
	}
	return "{}"
}
