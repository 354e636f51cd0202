package privilege

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
	moves                 = `Amazon SQS Developer Guide, "Learn how to configure a dead-letter queue redrive"`
	batches               = `Amazon SQS API Reference, "AddPermission": an action covers its batch version`
)

// Action is the action that an operation needs, with the page of AWS's documentation that says so.
// DynamoDB.TransactWriteItems/Put is a part of an operation.
type Action struct{ Operation, Action, Source string }

// Actions returns the actions of all known operations. Most actions are named like their operation.
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
		{"Lambda.GetAlias", "lambda:GetAlias", authorizationLambda},
		{"Lambda.Invoke", "lambda:InvokeFunction", authorizationLambda},
		{"Lambda.ListVersionsByFunction", "lambda:ListVersionsByFunction", authorizationLambda},
		{"S3.DeleteObjects", "s3:DeleteObject", deletions},
		{"S3.GetObject", "s3:GetObject", authorizationS3},
		{"S3.ListObjectsV2", "s3:ListBucket", lists},
		{"S3.PutObject", "s3:PutObject", authorizationS3},
		{"SQS.ChangeMessageVisibility", "sqs:ChangeMessageVisibility", authorizationSQS},
		{"SQS.GetQueueAttributes", "sqs:GetQueueAttributes", authorizationSQS},
		{"SQS.SendMessageBatch", "sqs:SendMessage", batches},
		{"SQS.StartMessageMoveTask", "sqs:StartMessageMoveTask", moves},
		{"SQS.StartMessageMoveTask/Delete", "sqs:DeleteMessage", moves},
		{"SQS.StartMessageMoveTask/Receive", "sqs:ReceiveMessage", moves},
		{"SQS.StartMessageMoveTask/Send", "sqs:SendMessage", moves},
	}
}
