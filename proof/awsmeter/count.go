package awsmeter

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// costOf returns the cost of a request. output is nil, or of the operation's type.
func costOf(input, output any, f fate) Cost {
	c := countOf(input, output, f)
	if f == throttled {
		c.Throttled = 1
	}
	for _, u := range consumed(output) {
		n, index := aws.ToFloat64(u.CapacityUnits), 0.0
		for _, i := range u.GlobalSecondaryIndexes {
			index += aws.ToFloat64(i.CapacityUnits)
		}
		if c.StrongReads+c.EventualReads > 0 {
			c.ReadUnits += n
		} else {
			c.WriteUnits, c.IndexUnits = c.WriteUnits+n-index, c.IndexUnits+index
		}
	}
	return c
}

// countOf returns the cost of a request without its units.
func countOf(input, output any, f fate) Cost {
	switch in := input.(type) {
	case *dynamodb.PutItemInput, *dynamodb.UpdateItemInput, *dynamodb.DeleteItemInput:
		return writes(1, f)
	case *dynamodb.TransactWriteItemsInput:
		return writes(len(in.TransactItems), f)
	case *dynamodb.BatchWriteItemInput:
		n := sizes(in.RequestItems)
		if out, ok := output.(*dynamodb.BatchWriteItemOutput); ok && out != nil {
			n -= sizes(out.UnprocessedItems)
		}
		return writes(n, f)
	case *dynamodb.QueryInput:
		return read(in.ConsistentRead, f)
	case *dynamodb.ScanInput:
		return read(in.ConsistentRead, f)
	case *dynamodb.GetItemInput:
		return read(in.ConsistentRead, f)
	}
	if c, ok := countPayloads(input, f); ok {
		return c
	}
	return countSQS(input, output, f)
}

func sizes(requests map[string][]types.WriteRequest) (n int) {
	for _, r := range requests {
		n += len(r)
	}
	return n
}

func writes(n int, f fate) Cost {
	switch f {
	case done, open:
		return Cost{Writes: int64(n)}
	case failed:
		return Cost{Lost: int64(n)}
	}
	return Cost{}
}

func read(consistent *bool, f fate) Cost {
	switch {
	case f != done && f != open:
		return Cost{}
	case aws.ToBool(consistent):
		return Cost{StrongReads: 1}
	}
	return Cost{EventualReads: 1}
}

// asking returns a copy of a DynamoDB request's input that also requests the consumed units, of the
// table and of each index. The caller's input does not change. The operations have no common type
// for that, only field names.
func asking(input any) any {
	const name = "ReturnConsumedCapacity"
	v := reflect.ValueOf(input)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || !v.Elem().FieldByName(name).IsValid() {
		return input
	}
	copied := reflect.New(v.Elem().Type())
	copied.Elem().Set(v.Elem())
	copied.Elem().FieldByName(name).SetString(string(types.ReturnConsumedCapacityIndexes))
	return copied.Interface()
}

// consumed returns the consumption that the output of a DynamoDB request reports.
func consumed(output any) []types.ConsumedCapacity {
	v := reflect.ValueOf(output)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := v.Elem().FieldByName("ConsumedCapacity")
	if !field.IsValid() {
		return nil
	}
	switch c := field.Interface().(type) {
	case []types.ConsumedCapacity:
		return c
	case *types.ConsumedCapacity:
		if c != nil {
			return []types.ConsumedCapacity{*c}
		}
	}
	return nil
}
