package privilege

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/internal/codec/awskms"
)

// item is an item of a table, or the key of one.
type item = map[string]types.AttributeValue

// need is what a request, or a part of one, accesses.
type need struct {
	part string // the part of the operation, after a slash
	// queue is the URL or the name of a queue. table and index belong to DynamoDB.
	queue, table, index string
	function            string // includes the version, if the request names one
	key                 string // the ARN of a KMS key
	bucket, object      string // belong to S3; no object means the bucket itself
	keys                []string
}

// usesOf returns the rights that a request needs.
//
// dynamodb:LeadingKeys are the partition keys: of all items of a batch, of one part of a
// transaction, and of the index if a query reads one (Amazon DynamoDB Developer Guide, "Using IAM
// policy conditions for fine-grained access control"). A scan has none.
func usesOf(operation string, input any, arn ARN) (uses []Use, err error) {
	needs, err := needsOf(input)
	if err != nil {
		return nil, fmt.Errorf("privilege: %s: %w", operation, err)
	}
	for _, n := range needs {
		name, all := operation+n.part, Actions()
		i := slices.IndexFunc(all, func(a Action) bool { return a.Operation == name })
		if i < 0 {
			return nil, fmt.Errorf("privilege: the action that %s needs is unknown: add it to actions.go, with the page of AWS's documentation that says so", name)
		}
		slices.Sort(n.keys)
		uses = append(uses, Use{Operation: name, Action: all[i].Action, Resource: n.arn(arn), Keys: slices.Compact(n.keys)})
	}
	return uses, nil
}

func (n need) arn(arn ARN) string {
	switch {
	case n.queue != "":
		return arn("sqs", path.Base(n.queue)) // the URL ends with the queue's name
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
		function := aws.ToString(in.FunctionName)
		if in.Qualifier != nil {
			function += ":" + *in.Qualifier
		}
		return []need{{function: function}}, nil
	case *lambda.GetAliasInput:
		return []need{{function: aws.ToString(in.FunctionName)}}, nil
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
	case *sqs.GetQueueAttributesInput:
		return []need{{queue: aws.ToString(in.QueueUrl)}}, nil
	case *sqs.StartMessageMoveTaskInput:
		return moveNeeds(aws.ToString(in.SourceArn)), nil
	case *sqs.ChangeMessageVisibilityInput:
		return []need{{queue: aws.ToString(in.QueueUrl)}}, nil
	}
	return nil, fmt.Errorf("what a %T accesses is unknown: add it to needs.go", input)
}

// moveNeeds returns the needs of a task that moves dead letters back to their queue. SQS receives,
// deletes and sends the messages with the rights of the task's caller. The name of a deployment's
// queue is that of its dead letters without -dead.
func moveNeeds(deadARN string) []need {
	dead := deadARN[strings.LastIndex(deadARN, ":")+1:]
	return []need{
		{queue: dead},
		{queue: dead, part: "/Receive"},
		{queue: dead, part: "/Delete"},
		{queue: strings.Replace(dead, "-dead", "", 1), part: "/Send"},
	}
}

// deletedNeeds returns the needs of the objects of a batch. IAM checks each object.
func deletedNeeds(in *s3.DeleteObjectsInput) (needs []need) {
	for _, o := range in.Delete.Objects {
		needs = append(needs, need{bucket: aws.ToString(in.Bucket), object: aws.ToString(o.Key)})
	}
	return needs
}
