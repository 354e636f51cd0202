//go:build aws

package sqs_test

import (
	"cmp"
	"crypto/rand"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/internal/awstest"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/queuetest"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/queue/sqs/sqstest"
)

// waiting is the clock of a server that has its own time: it waits.
type waiting struct{}

func (waiting) Now() time.Time { return time.Now() }

func (waiting) Advance(d time.Duration) { <-time.After(d) }

// limits are those of a server that takes less than SQS, which takes 1 MiB, by the server's name.
var limits = map[string]int{"elasticmq": 256 << 10}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.SQS(t) {
		client := awssqs.NewFromConfig(server.Config)
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			queuetest.Run(t, queuetest.Harness{
				New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
					urls, err := sqstest.Create(t.Context(), client, "weft-"+rand.Text()[:10]+"-", settings)
					if err != nil {
						t.Fatal(err)
					}
					return func() queuetest.Queue {
						return sqs.New(client, sqs.Options{URLs: urls, MaxMessage: limits[server.Name]})
					}, waiting{}
				},
				Visibility: 4 * time.Second, Reopens: true,
				MaxBody: cmp.Or(limits[server.Name], 1<<20) / 4 * 3,
				// SQS promises no more; and a poll that is broken off may take a message all the same.
				Duplicates: true,
			})
		})
	}
}
