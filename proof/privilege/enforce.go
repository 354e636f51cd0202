package privilege

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Enforcer decides which requests a role may make, as IAM does on AWS: local servers store policies
// and let everybody do everything. It knows requests to DynamoDB and SQS as they are sent.
type Enforcer struct {
	// ARN returns the ARNs of the resources that requests name.
	ARN ARN
	// Statements returns the statements that the role has now.
	Statements func() ([]Statement, error)
}

// Denied returns the action of a request that the role does not allow, or nothing if it allows all.
// The service is DynamoDB or SQS, and the body is the request's JSON. It returns an error for a
// request that it does not know, and for a policy that it cannot decide.
func (e *Enforcer) Denied(service, operation string, body []byte) (action string, err error) {
	input, err := decode(service+"."+operation, body)
	if err != nil {
		return "", err
	}
	uses, err := usesOf(service+"."+operation, input, e.ARN)
	if err != nil {
		return "", err
	}
	statements, err := e.Statements()
	if err != nil {
		return "", fmt.Errorf("privilege: the role's statements: %w", err)
	}
	for _, u := range uses {
		allowed, err := Allowed(statements, u.Request())
		if err != nil {
			return "", err
		}
		if !allowed {
			return u.Action, nil
		}
	}
	return "", nil
}

// attributes are the attributes of an item as they are sent.
type attributes map[string]struct{ S *string }

// item returns the attributes that are strings. Keys are, and policies ask about no others.
func (a attributes) item() item {
	i := item{}
	for name, value := range a {
		if value.S != nil {
			i[name] = &types.AttributeValueMemberS{Value: *value.S}
		}
	}
	return i
}

// sent is the part of a request that says what it accesses.
type sent struct {
	TableName, IndexName      string
	Queue                     string `json:"QueueUrl"`
	Source                    string `json:"SourceArn"`
	Item, Key                 attributes
	KeyConditionExpression    string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues attributes
	RequestItems              map[string][]struct {
		PutRequest    *struct{ Item attributes }
		DeleteRequest *struct{ Key attributes }
	}
	TransactItems []struct {
		Put *struct {
			TableName string
			Item      attributes
		}
	}
}

// decode returns the input of an operation, with what says what it accesses.
func decode(operation string, body []byte) (any, error) {
	var s sent
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("privilege: %s: %w", operation, err)
	}
	switch operation {
	case "DynamoDB.PutItem":
		return &dynamodb.PutItemInput{TableName: &s.TableName, Item: s.Item.item()}, nil
	case "DynamoDB.DeleteItem":
		return &dynamodb.DeleteItemInput{TableName: &s.TableName, Key: s.Key.item()}, nil
	case "DynamoDB.UpdateItem":
		return &dynamodb.UpdateItemInput{TableName: &s.TableName, Key: s.Key.item()}, nil
	case "DynamoDB.Scan":
		return &dynamodb.ScanInput{TableName: &s.TableName, IndexName: optional(s.IndexName)}, nil
	case "DynamoDB.Query":
		return &dynamodb.QueryInput{
			TableName: &s.TableName, IndexName: optional(s.IndexName), KeyConditionExpression: &s.KeyConditionExpression,
			ExpressionAttributeNames: s.ExpressionAttributeNames, ExpressionAttributeValues: s.ExpressionAttributeValues.item(),
		}, nil
	case "DynamoDB.BatchWriteItem":
		return s.batch(), nil
	case "DynamoDB.TransactWriteItems":
		return s.transaction()
	case "SQS.SendMessageBatch":
		return &sqs.SendMessageBatchInput{QueueUrl: &s.Queue}, nil
	case "SQS.GetQueueAttributes":
		return &sqs.GetQueueAttributesInput{QueueUrl: &s.Queue}, nil
	case "SQS.ChangeMessageVisibility":
		return &sqs.ChangeMessageVisibilityInput{QueueUrl: &s.Queue}, nil
	case "SQS.StartMessageMoveTask":
		return &sqs.StartMessageMoveTaskInput{SourceArn: &s.Source}, nil
	}
	return nil, fmt.Errorf("privilege: what a request %s accesses is unknown: add it to enforce.go", operation)
}

func (s sent) batch() *dynamodb.BatchWriteItemInput {
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}}
	for table, writes := range s.RequestItems {
		for _, w := range writes {
			var one types.WriteRequest
			if w.PutRequest != nil {
				one.PutRequest = &types.PutRequest{Item: w.PutRequest.Item.item()}
			}
			if w.DeleteRequest != nil {
				one.DeleteRequest = &types.DeleteRequest{Key: w.DeleteRequest.Key.item()}
			}
			in.RequestItems[table] = append(in.RequestItems[table], one)
		}
	}
	return in
}

func (s sent) transaction() (*dynamodb.TransactWriteItemsInput, error) {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, part := range s.TransactItems {
		if part.Put == nil {
			return nil, fmt.Errorf("privilege: only a Put is known in a transaction: add the other to enforce.go")
		}
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{
			Put: &types.Put{TableName: &part.Put.TableName, Item: part.Put.Item.item()},
		})
	}
	return in, nil
}

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return aws.String(text)
}
