package awsmeter

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// chunk is how much SQS bills as one request.
const chunk = 64 << 10

// countSQS is the cost of a request to SQS, and nothing for those to other services.
func countSQS(input, output any, f fate) Cost {
	switch in := input.(type) {
	case *sqs.SendMessageInput:
		return send(size(in.MessageBody, in.MessageAttributes), 1, f)
	case *sqs.SendMessageBatchInput:
		n, bytes := len(in.Entries), 0
		for _, e := range in.Entries {
			bytes += size(e.MessageBody, e.MessageAttributes)
		}
		if out, ok := output.(*sqs.SendMessageBatchOutput); ok && out != nil {
			n = len(out.Successful)
		}
		return send(bytes, n, f)
	case *sqs.ReceiveMessageInput:
		bytes := 0
		if out, ok := output.(*sqs.ReceiveMessageOutput); ok && out != nil {
			for _, m := range out.Messages {
				bytes += size(m.Body, m.MessageAttributes)
			}
		}
		return request(bytes)
	case *sqs.DeleteMessageInput, *sqs.DeleteMessageBatchInput, *sqs.ChangeMessageVisibilityInput,
		*sqs.ChangeMessageVisibilityBatchInput, *sqs.GetQueueAttributesInput, *sqs.GetQueueUrlInput:
		return request(0)
	}
	return Cost{}
}

func send(bytes, messages int, f fate) Cost {
	c := request(bytes)
	if f == done || f == open {
		c.Messages = int64(messages)
	}
	return c
}

func request(bytes int) Cost {
	return Cost{Requests: 1, Chunks: int64(max(1, (bytes+chunk-1)/chunk))}
}

// size is what a message counts for: its body, and its attributes with their names and types.
func size(body *string, attributes map[string]types.MessageAttributeValue) int {
	n := len(aws.ToString(body))
	for name, v := range attributes {
		n += len(name) + len(aws.ToString(v.DataType)) + len(aws.ToString(v.StringValue)) + len(v.BinaryValue)
	}
	return n
}
