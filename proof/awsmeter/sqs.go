package awsmeter

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// chunk is how much SQS bills as one request.
const chunk = 64 << 10

// countSQS returns the cost of a request to SQS, and zero for requests to other services.
func countSQS(input, output any, f fate) Cost {
	switch in := input.(type) {
	case *sqs.SendMessageInput:
		return send(in.QueueUrl, size(in.MessageBody, in.MessageAttributes), 1, f)
	case *sqs.SendMessageBatchInput:
		n, bytes := len(in.Entries), 0
		for _, e := range in.Entries {
			bytes += size(e.MessageBody, e.MessageAttributes)
		}
		if out, ok := output.(*sqs.SendMessageBatchOutput); ok && out != nil {
			n = len(out.Successful)
		}
		return send(in.QueueUrl, bytes, n, f)
	case *sqs.ReceiveMessageInput:
		bytes := 0
		if out, ok := output.(*sqs.ReceiveMessageOutput); ok && out != nil {
			for _, m := range out.Messages {
				bytes += size(m.Body, m.MessageAttributes)
			}
		}
		return request(in.QueueUrl, bytes)
	case *sqs.DeleteMessageInput:
		return request(in.QueueUrl, 0)
	case *sqs.DeleteMessageBatchInput:
		return request(in.QueueUrl, 0)
	case *sqs.ChangeMessageVisibilityInput:
		return request(in.QueueUrl, 0)
	case *sqs.ChangeMessageVisibilityBatchInput:
		return request(in.QueueUrl, 0)
	case *sqs.GetQueueAttributesInput:
		return request(in.QueueUrl, 0)
	case *sqs.GetQueueUrlInput:
		return request(in.QueueName, 0)
	}
	return Cost{}
}

func send(queue *string, bytes, messages int, f fate) Cost {
	c := request(queue, bytes)
	if f == done || f == open {
		c.Messages = int64(messages)
	}
	return c
}

// request returns the cost of a request about a queue. The URL or name of a FIFO queue ends in
// .fifo.
func request(queue *string, bytes int) Cost {
	c := Cost{Requests: 1, Chunks: int64(max(1, (bytes+chunk-1)/chunk))}
	if strings.HasSuffix(aws.ToString(queue), ".fifo") {
		c.FIFOChunks = c.Chunks
	}
	return c
}

// size returns the number of bytes that a message counts for: its body, and its attributes with
// their names and types.
func size(body *string, attributes map[string]types.MessageAttributeValue) int {
	n := len(aws.ToString(body))
	for name, v := range attributes {
		n += len(name) + len(aws.ToString(v.DataType)) + len(aws.ToString(v.StringValue)) + len(v.BinaryValue)
	}
	return n
}
