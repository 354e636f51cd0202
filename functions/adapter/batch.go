package adapter

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed-41655fb1/weft/queue"
)

// Batch returns the event that passes messages of a program's own queue to a function: see
// Settings.Backend. The program's replacement for SQS's event source mapping receives messages,
// invokes the function with their Batch, and deletes those that [Failed] does not name. It must
// have the messages of one FIFO group in only one invocation at a time. url is the queue's URL in
// the function's environment; the URL of the workflow queue ends with .fifo.
func Batch(url string, deliveries []queue.Delivery) ([]byte, error) {
	var event events.SQSEvent
	for _, d := range deliveries {
		attributes := map[string]string{"ApproximateReceiveCount": strconv.Itoa(d.Received)}
		if d.Group != "" {
			attributes["MessageGroupId"] = d.Group
		}
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: d.Receipt, ReceiptHandle: d.Receipt, Body: base64.RawStdEncoding.EncodeToString(d.Body), Attributes: attributes,
			EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:::" + path.Base(url),
		})
	}
	return json.Marshal(event)
}

// Failed returns the receipts of the messages that stay in the queue according to a function's
// answer to a [Batch]. If the function returned an error, the whole batch stays.
func Failed(answer []byte) (receipts []string, err error) {
	var failed events.SQSEventResponse
	if err := json.Unmarshal(answer, &failed); err != nil {
		return nil, err
	}
	for _, f := range failed.BatchItemFailures {
		receipts = append(receipts, f.ItemIdentifier)
	}
	return receipts, nil
}
