package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
)

// queueUnreadable looks at the messages that no version of Weft can read.
type queueUnreadable struct {
	Name       string `required:"" aliases:"stack" placeholder:"NAME" help:"What the names of the queues begin with: the name of the stack, or of the Terraform module."`
	Resend     bool   `help:"Send each message back to its queue, and delete it here: after a deployment that can read it."`
	Region     string `placeholder:"REGION" help:"Region of the deployment. Without it, that of the AWS configuration."`
	AWSProfile string `name:"aws-profile" placeholder:"NAME" help:"Profile of the AWS configuration. Without it, $$AWS_PROFILE."`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (queueUnreadable) Help() string {
	return "The dead function keeps such messages in the queue NAME-unreadable for 14 days. The command receives them with your credentials, which hides them for 30 seconds: it says how many are hidden because somebody has just looked. " +
		"A message that was sent back is handled again, and is kept again if it still cannot be read. To throw all of them away, purge the queue with the AWS CLI."
}

// unreadable is a message that cannot be read.
type unreadable struct {
	ID     string `json:"id"`
	Queue  string `json:"queue,omitempty"`
	Group  string `json:"group,omitempty"`
	Reason string `json:"reason,omitempty"`
	Kept   string `json:"kept,omitempty"`
	Body   string `json:"body"`
	// Resent says that the message was sent back to its queue.
	Resent bool `json:"resent,omitempty"`
}

// keptQueue is the queue of messages that cannot be read.
type keptQueue struct {
	client *awssqs.Client
	name   string // of the deployment
	url    string
}

// Run prints the messages, and sends them back.
func (c queueUnreadable) Run(ctx context.Context, s *cli.Session) error {
	config, err := s.LoadAWS(ctx, c.Region, c.AWSProfile)
	if err != nil {
		return err
	}
	q := keptQueue{client: awssqs.NewFromConfig(config), name: c.Name}
	if q.url, err = q.urlOf(ctx, queue.Unreadable); err != nil {
		return err
	}
	hidden := q.hidden(ctx)
	found, err := q.all(ctx)
	if err != nil {
		return err
	}
	var all []unreadable
	var wrong []error
	for _, m := range found {
		one := unreadableOf(m)
		if c.Resend {
			if err := q.resend(ctx, m, one); err != nil {
				wrong = append(wrong, fmt.Errorf("the message %s stays: %w", one.ID, err))
			} else {
				one.Resent = true
			}
		}
		all = append(all, one)
	}
	printed := unreadables.Print(s, c.Output, cli.Pages(all))
	switch {
	case hidden != "":
		s.Note(hidden)
	case len(all) == 0 && s.Width > 0:
		s.Note("There are no messages that cannot be read, or somebody has looked in the last 30 seconds and SQS has not counted that yet.")
	}
	return errors.Join(append([]error{printed}, wrong...)...)
}

// hiding is for how many seconds a look hides the messages from the next one.
const hiding = 30

// hidden returns how many messages of the queue are hidden, and until when, or why that is not
// known; empty if none is hidden. It is called before messages are received, which hides them.
func (q *keptQueue) hidden(ctx context.Context) string {
	const name = sqstypes.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := q.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []sqstypes.QueueAttributeName{name}})
	if err != nil {
		return fmt.Sprintf("How many messages are hidden is not known (sqs:GetQueueAttributes): %v", err)
	}
	n, err := strconv.ParseInt(out.Attributes[string(name)], 10, 64)
	switch {
	case err != nil:
		return fmt.Sprintf("How many messages are hidden is not known: SQS says %q", out.Attributes[string(name)])
	case n == 0:
		return ""
	}
	return fmt.Sprintf("About %s %s hidden and not looked at, because somebody has just looked: try again in %d seconds.", counted(n, "message"), verb(n, "is", "are"), hiding)
}

// all receives the messages of the queue, each once: until nothing more is visible, or until the
// first ones are visible again.
func (q *keptQueue) all(ctx context.Context) ([]sqstypes.Message, error) {
	found := map[string]sqstypes.Message{}
	for {
		out, err := q.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: queue.MaxBatch, WaitTimeSeconds: 1, VisibilityTimeout: hiding, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			return nil, fmt.Errorf("the messages of %s-%s cannot be received: %w", q.name, queue.Unreadable, err)
		}
		more := false
		for _, m := range out.Messages {
			_, known := found[aws.ToString(m.MessageId)]
			found[aws.ToString(m.MessageId)], more = m, more || !known
		}
		if !more {
			byTime := func(a, b sqstypes.Message) int {
				x, y := unreadableOf(a), unreadableOf(b)
				return cmp.Or(strings.Compare(x.Kept, y.Kept), strings.Compare(x.ID, y.ID))
			}
			return slices.SortedFunc(maps.Values(found), byTime), nil
		}
	}
}

func unreadableOf(m sqstypes.Message) unreadable {
	attribute := func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) }
	return unreadable{
		ID: aws.ToString(m.MessageId), Queue: attribute(sqs.KeptQueue), Group: attribute(sqs.KeptGroup), Reason: attribute(sqs.KeptReason), Kept: attribute(sqs.KeptAt),
		Body: aws.ToString(m.Body),
	}
}

// resend sends a message back to its queue, unchanged, and deletes it here when SQS has accepted
// it. A crash in between leaves it in both: sent again within five minutes, it has the same
// deduplication id in a FIFO queue, and later it is one message more, which does no harm.
func (q *keptQueue) resend(ctx context.Context, m sqstypes.Message, one unreadable) error {
	if one.Queue == "" {
		return errors.New("it does not say which queue it was in")
	}
	to, err := q.urlOf(ctx, one.Queue)
	if err != nil {
		return err
	}
	in := &awssqs.SendMessageInput{QueueUrl: &to, MessageBody: m.Body}
	if sqs.IsFIFO(to) {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String(cmp.Or(one.Group, "unreadable")), m.MessageId
	}
	if _, err := q.client.SendMessage(ctx, in); err != nil {
		return fmt.Errorf("it cannot be sent to %s: %w", one.Queue, err)
	}
	if _, err := q.client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
		return fmt.Errorf("it was sent to %s, and cannot be deleted here: %w", one.Queue, err)
	}
	return nil
}

// urlOf returns the URL of a queue of the deployment.
func (q *keptQueue) urlOf(ctx context.Context, name string) (string, error) {
	full := q.name + "-" + name
	if name == queue.Workflow {
		full += ".fifo"
	}
	out, err := q.client.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: &full})
	var missing *sqstypes.QueueDoesNotExist
	switch {
	case errors.As(err, &missing):
		return "", fmt.Errorf("there is no queue %s: give the name of the deployment, and its region", full)
	case err != nil:
		return "", fmt.Errorf("the queue %s cannot be found: %w", full, err)
	}
	return aws.ToString(out.QueueUrl), nil
}

// unreadables is how such messages are printed.
var unreadables = cli.List[unreadable]{
	Columns: []cli.Column{{Name: "KEPT"}, {Name: "QUEUE", Least: 10}, {Name: "GROUP", Least: 10}, {Name: "SENT BACK"}, {Name: "REASON", Least: 20}, {Name: "BODY", Least: 20, First: true}},
	Row: func(u unreadable) []cli.Cell {
		return []cli.Cell{
			{Text: u.Kept}, {Text: u.Queue, Style: cli.Bold}, {Text: u.Group}, {Text: map[bool]string{true: "yes"}[u.Resent]}, {Text: u.Reason, Style: cli.Bad}, {Text: u.Body},
		}
	},
	ID: func(u unreadable) string { return u.ID },
}
