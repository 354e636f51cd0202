package client

import (
	"context"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Notification is a receiver of the notification that a workflow has ended. It gets a signed
// request (Standard Webhooks 1.0), at least once, with the same id each time; VerifyWebhook
// verifies it. Weft tries for three days. URL must be one that the deployment allows. Result sends
// the result too, or the text of the failure, in plain text.
type Notification = schema.Notification

// NotificationState says where a notification of a described run stands.
type NotificationState = schema.NotificationState

// The states of notifications.
const (
	// NotificationPending is one of an open run.
	NotificationPending = schema.NotificationPending
	// NotificationPassedOn is one that the run which follows delivers.
	NotificationPassedOn = schema.NotificationPassedOn
	// NotificationDelivering is one that the receiver does not have yet.
	NotificationDelivering = schema.NotificationDelivering
	// NotificationDelivered is one that the receiver has.
	NotificationDelivered = schema.NotificationDelivered
	// NotificationFailed is one that the receiver did not take.
	NotificationFailed = schema.NotificationFailed
)

// WebhookSecret returns the secrets that sign notifications to a receiver: the current one, and
// then the one before it, if the deployment has changed it and signs with both. All URLs with the
// same scheme, host and port have the same secrets. It costs one read.
func (c *Client) WebhookSecret(ctx context.Context, receiver string) ([]string, error) {
	var answer schema.WebhookSecretResponse
	_, err := c.do(ctx, request{
		Request: Request{"webhookSecret", "", ""}, method: http.MethodPost, path: "/v1/webhooks/secret", body: schema.WebhookSecretRequest{URL: receiver}, answer: &answer,
	})
	if err != nil {
		return nil, err
	}
	if len(answer.Secrets) == 0 {
		return nil, errForm("request for the secret of a receiver")
	}
	return answer.Secrets, nil
}

// VerifyWebhook returns an error unless one of these secrets has signed a request, within five
// minutes of now. body is the whole body, as it came. A request may come more than once: its header
// webhook-id says which notification it is.
func VerifyWebhook(secrets []string, header http.Header, body []byte, now time.Time) error {
	parsed := make([]sign.Secret, len(secrets))
	for i, text := range secrets {
		var err error
		if parsed[i], err = sign.ParseSecret(text); err != nil {
			return err
		}
	}
	return sign.Verify(parsed, header, body, now)
}
