//go:build aws

package eventbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/internal/awsform"
	"github.com/seed-41655fb1/weft/internal/notify/eventbridge"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

// An event on a bus goes to the target of a rule that selects its source, with its detail.
func TestEventArrives(t *testing.T) {
	t.Parallel()
	server := awstest.LocalStack(t)
	unique := fmt.Sprintf("weft-bus-%d", time.Now().UnixNano())
	queues := sqs.NewFromConfig(server.Config)
	created, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &unique})
	if err != nil {
		t.Fatal(err)
	}
	found, err := queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: created.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"QueueArn"}})
	if err != nil {
		t.Fatal(err)
	}
	bus := events(t, server.Config, "CreateEventBus", map[string]any{"Name": unique})["EventBusArn"].(string)
	events(t, server.Config, "PutRule", map[string]any{"Name": "all", "EventBusName": unique, "EventPattern": `{"source":["weft.shop"],"detail-type":["workflow.completed"]}`})
	events(t, server.Config, "PutTargets", map[string]any{"Rule": "all", "EventBusName": unique, "Targets": []any{map[string]any{"Id": "queue", "Arn": found.Attributes["QueueArn"]}}})

	for i, o := range []eventbridge.Options{{Name: unique, Source: "weft.other"}, {Name: unique, Source: "weft.shop"}, {Name: bus, Source: "weft.shop"}} {
		if err := eventbridge.New(server.Config, o).Put(t.Context(), "workflow.completed", at, fmt.Appendf(nil, `{"id":"weft_1_%d"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	ids := map[string]bool{}
	for ctx := t.Context(); len(ids) < 2; {
		got, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: created.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Messages {
			var event struct {
				Source     string
				DetailType string `json:"detail-type"`
				Time       time.Time
				Detail     struct{ ID string }
			}
			if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &event); err != nil || event.Source != "weft.shop" || event.DetailType != "workflow.completed" || !event.Time.Equal(at.Truncate(time.Second)) {
				t.Errorf("%s, %v", aws.ToString(m.Body), err)
			}
			ids[event.Detail.ID] = true
		}
	}
	if len(ids) != 2 || !ids["weft_1_1"] || !ids["weft_1_2"] {
		t.Errorf("the events %v arrived", ids)
	}
}

// events asks EventBridge for an operation.
func events(t *testing.T, c aws.Config, operation string, of map[string]any) (answer map[string]any) {
	t.Helper()
	body, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := c.Credentials.Retrieve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	request, err := awsform.JSON(t.Context(), credentials, "events", c.Region, *c.BaseEndpoint+"/", "AWSEvents."+operation, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, said, err := awsform.Send(c.HTTPClient, request)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", operation, said, err)
	}
	if err := json.Unmarshal(said, &answer); err != nil {
		t.Fatalf("%s: %s, %v", operation, said, err)
	}
	return answer
}
