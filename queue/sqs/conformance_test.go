//go:build aws

package sqs_test

import (
	"cmp"
	"crypto/rand"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/queuetest"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/queue/sqs/sqstest"
)

// server describes a server that differs from SQS. The zero value is SQS.
type server struct {
	// maxMessage is the largest message; 0 is 1 MiB.
	maxMessage int
	// late is the longest delay after which a message becomes visible again.
	late time.Duration
	// visibility is the unit of time in the tests; 0 means 4 seconds. It is several times late.
	visibility time.Duration
	// groupLeaks and redriveDrops are the harness's GroupLeaks and RedriveDrops.
	groupLeaks, redriveDrops bool
	// movesNothing says that the task which moves dead letters back does nothing.
	movesNothing bool
}

// servers has the known servers, by name.
var servers = map[string]server{
	"elasticmq":  {maxMessage: 256 << 10, redriveDrops: true},
	"localstack": {late: 1500 * time.Millisecond, visibility: 8 * time.Second, groupLeaks: true, movesNothing: true}, // it polls its queues once a second
}

// waiting is the clock of a server that has its own time: it waits until the server has noticed.
type waiting struct{ late time.Duration }

func (waiting) Now() time.Time { return time.Now() }

func (w waiting) Advance(d time.Duration) { <-time.After(d + w.late) }

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, running := range awstest.SQS(t) {
		client, like := awssqs.NewFromConfig(running.Config), servers[running.Name]
		t.Run(running.Name, func(t *testing.T) {
			t.Parallel()
			queuetest.Run(t, queuetest.Harness{
				New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
					urls, err := sqstest.Create(t.Context(), client, "weft-"+rand.Text()[:10]+"-", settings)
					if err != nil {
						t.Fatal(err)
					}
					return func() queuetest.Queue {
						return sqs.New(client, sqs.Options{URLs: urls, MaxMessage: like.maxMessage})
					}, waiting{like.late}
				},
				Visibility: cmp.Or(like.visibility, 4*time.Second), Reopens: true,
				MaxBody: cmp.Or(like.maxMessage, 1<<20) / 4 * 3,
				// SQS does not promise more, and a poll that is aborted may still take a message.
				Duplicates: true,
				GroupLeaks: like.groupLeaks,
				Inspects:   true, Redrives: !like.movesNothing, DepthBehind: true, RedriveDrops: like.redriveDrops,
			})
		})
	}
}
