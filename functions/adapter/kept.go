package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/blob"
	blobs3 "github.com/seed-41655fb1/weft/blob/s3"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/sqs"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// kept has the places where a function stores everything: the program's own, and AWS's services for
// the rest.
type kept struct {
	ports  executor.Ports
	extend func(ctx context.Context, queue, receipt string, d time.Duration) error
	blobs  blob.Blobs // nil if there are none
	close  func() error
}

// optional returns the fields of the environment that a function with these settings does not need.
func (s Settings) optional() []string {
	if s.Backend == nil {
		return nil
	}
	return []string{"Table"}
}

// kept opens the program's backend, if it has one, and uses AWS's services for what that omits.
// It logs which optional ports the backend lacks.
func (s Settings) kept(ctx context.Context, e *environment, c aws.Config, log *slog.Logger) (*kept, error) {
	given := &backend.Backend{}
	if s.Backend != nil {
		var err error
		if given, err = s.Backend(ctx, e.taskQueues); err != nil {
			return nil, fmt.Errorf("the backend cannot be opened: %w", err)
		}
		if given == nil {
			return nil, errors.New("the backend is nil")
		}
	}
	k := &kept{close: func() error { return nil }, blobs: given.Blobs}
	if given.Close != nil {
		k.close = given.Close
	}
	if err := k.setStore(given.Store, e, c); err != nil {
		return nil, errors.Join(err, k.close())
	}
	k.setQueue(given.Queue, e, c)
	if k.blobs == nil && e.Bucket != "" {
		k.blobs = blobs3.New(s3.NewFromConfig(c, pathStyle), e.Bucket)
	}
	assembly.Optional{Store: given.Store, Queue: given.Queue, NoBlobs: s.Backend != nil && k.blobs == nil}.LogMissing(log)
	return k, nil
}

// setStore sets the ports of a store; nil is DynamoDB.
func (k *kept) setStore(s store.Store, e *environment, c aws.Config) error {
	var lister store.Lister
	if s != nil {
		lister, _ = s.(store.Lister)
	} else {
		if e.Table == "" {
			return fmt.Errorf("%s is not set, and the backend has no store", settings.Variable("Table"))
		}
		table, err := dynamo.New(dynamodb.NewFromConfig(c), dynamo.Options{Table: e.Table, Namespace: e.Namespace, NoList: e.List == "off"})
		if err != nil {
			return err
		}
		s, lister = table, table.Lister()
	}
	k.ports = executor.Ports{Log: s, Attempts: s, Timers: s, Lister: lister, Scanner: s, Keys: s, Rates: s}
	return nil
}

// setQueue sets the port of the queues; nil is SQS.
func (k *kept) setQueue(q queue.Queue, e *environment, c aws.Config) {
	if q == nil {
		q = sqs.New(awssqs.NewFromConfig(c), sqs.Options{URLs: e.urls})
	}
	k.ports, k.extend = k.ports.Over(q), q.Extend
	if e.Redrive == "off" {
		k.ports.Redriver = nil
	}
	if _, own := q.(*sqs.Queue); own && e.QueueUnreadable == "" {
		k.ports.Keeper = nil
	}
}

// pathStyle puts the bucket into the path if the endpoint is configured: such an endpoint has no
// host name for each bucket.
func pathStyle(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil }
