// Package sqstest creates the queues of a deployment on a server that speaks SQS, with the settings
// of a deployment.
package sqstest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/queue"
)

// retention is how long SQS keeps a message: the longest possible.
const retention = 14 * 24 * time.Hour

// Create creates queues with these settings, and returns their URLs by the port's names. Their
// names on the server begin with prefix. If a queue has a limit of receives, settings has to
// include the queue of its dead letters.
func Create(ctx context.Context, client *sqs.Client, prefix string, settings map[string]queue.Settings) (map[string]string, error) {
	urls := map[string]string{}
	// The queues of dead letters come first: the other queues refer to them.
	names := slices.SortedFunc(maps.Keys(settings), func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		s := settings[name]
		attributes := attributesOf(s)
		if s.MaxReceives > 0 {
			dead := urls[queue.DeadLetters(name)]
			policy, err := redrive(ctx, client, dead, s.MaxReceives)
			if err != nil {
				return nil, fmt.Errorf("redrive policy of %s: %w", name, err)
			}
			attributes[string(types.QueueAttributeNameRedrivePolicy)] = policy
		}
		full := prefix + name
		if s.FIFO {
			full += ".fifo"
		}
		out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &full, Attributes: attributes})
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", full, err)
		}
		urls[name] = aws.ToString(out.QueueUrl)
	}
	return urls, nil
}

func attributesOf(s queue.Settings) map[string]string {
	attributes := map[string]string{
		string(types.QueueAttributeNameVisibilityTimeout):      wholeSeconds(s.Visibility),
		string(types.QueueAttributeNameMessageRetentionPeriod): wholeSeconds(retention),
		string(types.QueueAttributeNameMaximumMessageSize):     strconv.Itoa(1 << 20),
	}
	if s.FIFO {
		attributes[string(types.QueueAttributeNameFifoQueue)] = "true"
		attributes[string(types.QueueAttributeNameDeduplicationScope)] = "messageGroup"
		attributes[string(types.QueueAttributeNameFifoThroughputLimit)] = "perMessageGroupId"
	}
	return attributes
}

func wholeSeconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

// redrive returns the policy that moves messages that were received too often to another queue.
func redrive(ctx context.Context, client *sqs.Client, url string, receives int) (string, error) {
	const arn = types.QueueAttributeNameQueueArn
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{arn}})
	if err != nil {
		return "", err
	}
	policy, err := json.Marshal(map[string]string{"deadLetterTargetArn": out.Attributes[string(arn)], "maxReceiveCount": strconv.Itoa(receives)})
	return string(policy), err
}

// Delete deletes queues that Create created.
func Delete(ctx context.Context, client *sqs.Client, urls map[string]string) error {
	var wrong []string
	for name, url := range urls {
		if _, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("delete queues: %s", strings.Join(wrong, "; "))
	}
	return nil
}
