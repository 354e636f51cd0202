package awsuse

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/internal/seal/awskms"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// Pages of AWS's documentation.
const (
	authorizationDynamoDB = `Service Authorization Reference, "Actions, resources, and condition keys for Amazon DynamoDB"`
	authorizationLambda   = `Service Authorization Reference, "Actions, resources, and condition keys for AWS Lambda"`
	authorizationKMS      = `Service Authorization Reference, "Actions, resources, and condition keys for AWS Key Management Service"`
	authorizationS3       = `Service Authorization Reference, "Actions, resources, and condition keys for Amazon S3"`
	lists                 = `Amazon S3 API Reference, "ListObjectsV2"`
	deletions             = `Amazon S3 API Reference, "DeleteObjects"`
	authorizationSQS      = `Service Authorization Reference, "Actions, resources, and condition keys for Amazon SQS"`
	transactions          = `Amazon DynamoDB Developer Guide, "Using IAM with DynamoDB transactions"`
	batches               = `Amazon SQS API Reference, "AddPermission": an action covers its batch version`
)

// Action is the action that an operation needs, with the page of AWS's documentation that says so. DynamoDB.TransactWriteItems/Put
// is a part of an operation.
type Action struct{ Operation, Action, Source string }

// Actions are the actions of all operations that are known here. Most have their operation's name.
func Actions() []Action {
	return []Action{
		{"DynamoDB.BatchWriteItem", "dynamodb:BatchWriteItem", authorizationDynamoDB},
		{"DynamoDB.DeleteItem", "dynamodb:DeleteItem", authorizationDynamoDB},
		{"DynamoDB.PutItem", "dynamodb:PutItem", authorizationDynamoDB},
		{"DynamoDB.Query", "dynamodb:Query", authorizationDynamoDB},
		{"DynamoDB.Scan", "dynamodb:Scan", authorizationDynamoDB},
		{"DynamoDB.TransactWriteItems/Put", "dynamodb:PutItem", transactions},
		{"DynamoDB.UpdateItem", "dynamodb:UpdateItem", authorizationDynamoDB},
		{"KMS.Decrypt", "kms:Decrypt", authorizationKMS},
		{"KMS.GenerateDataKey", "kms:GenerateDataKey", authorizationKMS},
		{"Lambda.Invoke", "lambda:InvokeFunction", authorizationLambda},
		{"Lambda.ListVersionsByFunction", "lambda:ListVersionsByFunction", authorizationLambda},
		{"S3.DeleteObjects", "s3:DeleteObject", deletions},
		{"S3.GetObject", "s3:GetObject", authorizationS3},
		{"S3.ListObjectsV2", "s3:ListBucket", lists},
		{"S3.PutObject", "s3:PutObject", authorizationS3},
		{"SQS.ChangeMessageVisibility", "sqs:ChangeMessageVisibility", authorizationSQS},
		{"SQS.SendMessageBatch", "sqs:SendMessage", batches},
	}
}

// item is an item of a table, or its key.
type item = map[string]types.AttributeValue

// need is what a request, or a part of one, is about.
type need struct {
	part string // of the operation, behind a slash
	// queue is the URL of a queue; table and index are of DynamoDB.
	queue, table, index string
	function            string // with the version, where it is about one
	key                 string // the ARN of a key of KMS
	bucket, object      string // of S3; no object is the bucket itself
	keys                []string
}

// usesOf are the rights that a request needs.
//
// dynamodb:LeadingKeys are the partition keys: of all items of a batch, of one part of a transaction, and of the index where a query
// asks one (Amazon DynamoDB Developer Guide, "Using IAM policy conditions for fine-grained access control"). A scan has none.
func usesOf(operation string, input any, arn ARN) (uses []Use, err error) {
	needs, err := needsOf(input)
	if err != nil {
		return nil, fmt.Errorf("awsuse: %s: %w", operation, err)
	}
	for _, n := range needs {
		name, all := operation+n.part, Actions()
		i := slices.IndexFunc(all, func(a Action) bool { return a.Operation == name })
		if i < 0 {
			return nil, fmt.Errorf("awsuse: nobody has said which action %s needs: add it to rights.go, with the page of AWS's documentation that says so", name)
		}
		slices.Sort(n.keys)
		uses = append(uses, Use{Operation: name, Action: all[i].Action, Resource: n.arn(arn), Keys: slices.Compact(n.keys)})
	}
	return uses, nil
}

func (n need) arn(arn ARN) string {
	switch {
	case n.queue != "":
		return arn("sqs", path.Base(n.queue)) // a URL ends with the name
	case n.key != "":
		return n.key
	case n.object != "":
		return "arn:aws:s3:::" + n.bucket + "/" + n.object
	case n.bucket != "":
		return "arn:aws:s3:::" + n.bucket
	case n.function != "":
		return arn("lambda", "function:"+n.function)
	case n.index != "":
		return arn("dynamodb", "table/"+n.table+"/index/"+n.index)
	}
	return arn("dynamodb", "table/"+n.table)
}

func needsOf(input any) ([]need, error) {
	switch in := input.(type) {
	case *dynamodb.PutItemInput:
		return itemNeeds("", in.TableName, in.Item)
	case *dynamodb.DeleteItemInput:
		return itemNeeds("", in.TableName, in.Key)
	case *dynamodb.UpdateItemInput:
		return itemNeeds("", in.TableName, in.Key)
	case *dynamodb.BatchWriteItemInput:
		return batchNeeds(in)
	case *dynamodb.TransactWriteItemsInput:
		return transactionNeeds(in)
	case *dynamodb.QueryInput:
		key, err := queriedKey(in)
		return []need{{table: aws.ToString(in.TableName), index: aws.ToString(in.IndexName), keys: []string{key}}}, err
	case *dynamodb.ScanInput:
		return []need{{table: aws.ToString(in.TableName), index: aws.ToString(in.IndexName)}}, nil
	case *lambda.InvokeInput:
		return []need{{function: aws.ToString(in.FunctionName) + ":" + aws.ToString(in.Qualifier)}}, nil
	case *lambda.ListVersionsByFunctionInput:
		return []need{{function: aws.ToString(in.FunctionName)}}, nil
	case *kms.GenerateDataKeyInput:
		return []need{{key: aws.ToString(in.KeyId), keys: []string{in.EncryptionContext[awskms.Context]}}}, nil
	case *kms.DecryptInput:
		return []need{{key: aws.ToString(in.KeyId), keys: []string{in.EncryptionContext[awskms.Context]}}}, nil
	case *s3.PutObjectInput:
		return []need{{bucket: aws.ToString(in.Bucket), object: aws.ToString(in.Key)}}, nil
	case *s3.GetObjectInput:
		return []need{{bucket: aws.ToString(in.Bucket), object: aws.ToString(in.Key)}}, nil
	case *s3.ListObjectsV2Input:
		return []need{{bucket: aws.ToString(in.Bucket), keys: []string{aws.ToString(in.Prefix)}}}, nil
	case *s3.DeleteObjectsInput:
		return deletedNeeds(in), nil
	case *sqs.SendMessageBatchInput:
		return []need{{queue: aws.ToString(in.QueueUrl)}}, nil
	case *sqs.ChangeMessageVisibilityInput:
		return []need{{queue: aws.ToString(in.QueueUrl)}}, nil
	}
	return nil, fmt.Errorf("nobody has said what a %T is about: add it to rights.go", input)
}

// deletedNeeds are those of the objects of a batch: IAM is asked about each.
func deletedNeeds(in *s3.DeleteObjectsInput) (needs []need) {
	for _, o := range in.Delete.Objects {
		needs = append(needs, need{bucket: aws.ToString(in.Bucket), object: aws.ToString(o.Key)})
	}
	return needs
}

func itemNeeds(part string, table *string, items ...item) ([]need, error) {
	n := need{part: part, table: aws.ToString(table)}
	for _, i := range items {
		key, ok := i[partitionKey("")].(*types.AttributeValueMemberS)
		if !ok {
			return nil, fmt.Errorf("an item has no partition key %s", partitionKey(""))
		}
		n.keys = append(n.keys, key.Value)
	}
	return []need{n}, nil
}

func batchNeeds(in *dynamodb.BatchWriteItemInput) (needs []need, err error) {
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		var items []item
		for _, w := range in.RequestItems[table] {
			if w.PutRequest != nil {
				items = append(items, w.PutRequest.Item)
			}
			if w.DeleteRequest != nil {
				items = append(items, w.DeleteRequest.Key)
			}
		}
		more, err := itemNeeds("", &table, items...)
		if err != nil {
			return nil, err
		}
		needs = append(needs, more...)
	}
	return needs, nil
}

// transactionNeeds are those of the parts of a transaction: IAM is asked about each as if it stood alone.
func transactionNeeds(in *dynamodb.TransactWriteItemsInput) (needs []need, err error) {
	for _, part := range in.TransactItems {
		if part.Put == nil {
			return nil, fmt.Errorf("only a Put is known in a transaction, and not %+v: add it to rights.go", part)
		}
		more, err := itemNeeds("/Put", part.Put.TableName, part.Put.Item)
		if err != nil {
			return nil, err
		}
		needs = append(needs, more...)
	}
	return needs, nil
}

// equality is where an expression asks for an attribute's value.
var equality = regexp.MustCompile(`(#?\w+)\s*=\s*(:\w+)`)

// queriedKey is the partition key that a query asks for. There has to be one: DynamoDB takes no query without.
func queriedKey(in *dynamodb.QueryInput) (string, error) {
	want := partitionKey(aws.ToString(in.IndexName))
	for _, found := range equality.FindAllStringSubmatch(aws.ToString(in.KeyConditionExpression), -1) {
		name := found[1]
		if strings.HasPrefix(name, "#") {
			name = in.ExpressionAttributeNames[name]
		}
		if value, ok := in.ExpressionAttributeValues[found[2]].(*types.AttributeValueMemberS); ok && name == want {
			return value.Value, nil
		}
	}
	return "", fmt.Errorf("the query %q asks for no %s", aws.ToString(in.KeyConditionExpression), want)
}

// partitionKey is the name of the partition key of the store's table, or of an index of it.
func partitionKey(index string) string {
	schema := dynamo.Schema("any")
	keys := schema.KeySchema
	for _, i := range schema.GlobalSecondaryIndexes {
		if aws.ToString(i.IndexName) == index {
			keys = i.KeySchema
		}
	}
	i := slices.IndexFunc(keys, func(k types.KeySchemaElement) bool { return k.KeyType == types.KeyTypeHash })
	return aws.ToString(keys[i].AttributeName)
}
