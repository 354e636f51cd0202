package lambdahost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// record is a message in an event. https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
type record struct {
	MessageID         string            `json:"messageId"`
	ReceiptHandle     string            `json:"receiptHandle"`
	Body              string            `json:"body"`
	Attributes        map[string]string `json:"attributes"`
	MessageAttributes map[string]any    `json:"messageAttributes"`
	MD5OfBody         string            `json:"md5OfBody"`
	EventSource       string            `json:"eventSource"`
	EventSourceARN    string            `json:"eventSourceARN"`
	Region            string            `json:"awsRegion"`
}

// batchEvent returns the event of a batch of messages. It leaves out message attributes, because
// Weft sends none.
func batchEvent(url string, batch []types.Message) ([]byte, error) {
	records := make([]record, len(batch))
	for i, m := range batch {
		records[i] = record{
			MessageID: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
			Attributes: m.Attributes, MessageAttributes: map[string]any{}, MD5OfBody: aws.ToString(m.MD5OfBody),
			EventSource: "aws:sqs", EventSourceARN: ARN("sqs", path.Base(url)), Region: Region,
		}
	}
	return json.Marshal(map[string]any{"Records": records})
}

// failures returns the ids of the messages that an answer to a batch lists as failed. On AWS an
// answer without a list means that no message failed. An answer that lists a message outside the
// batch means on AWS that all failed, and is an error here, because it is a defect.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
func failures(answer []byte, batch []types.Message) (map[string]bool, error) {
	failed := map[string]bool{}
	if len(bytes.TrimSpace(answer)) == 0 {
		return failed, nil
	}
	var a struct {
		Failures []struct {
			ID *string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("the answer to a batch cannot be read: %w", err)
	}
	known := map[string]bool{}
	for _, m := range batch {
		known[aws.ToString(m.MessageId)] = true
	}
	for _, f := range a.Failures {
		if f.ID == nil || !known[*f.ID] {
			return nil, fmt.Errorf("the answer to a batch lists %q, which is not in it", aws.ToString(f.ID))
		}
		failed[*f.ID] = true
	}
	return failed, nil
}

// inOrder returns an error if a message succeeded after a message of the same group failed. A
// mapping would delete it, and the group would continue without its failed message.
func inOrder(batch []types.Message, failed map[string]bool) error {
	stopped := map[string]bool{}
	for _, m := range batch {
		group, id := m.Attributes["MessageGroupId"], aws.ToString(m.MessageId)
		if group == "" {
			continue
		}
		if stopped[group] && !failed[id] {
			return fmt.Errorf("group %s: message %s succeeded after an earlier one failed", group, id)
		}
		stopped[group] = stopped[group] || failed[id]
	}
	return nil
}

func isFIFO(url string) bool { return strings.HasSuffix(url, ".fifo") }
