// Package attempt carries what an activity can read about its own attempt through a
// context.Context.
package attempt

import (
	"context"
	"errors"
)

// ErrPending is the error of an attempt that goes on outside of its process.
var ErrPending = errors.New("activity: the attempt goes on outside of this process")

// Info is what an activity can read about its attempt.
type Info struct {
	WorkflowID   string
	RunID        string
	ActivityType string
	// EventID is the id of the activity's ActivityTaskScheduled event. With the run's id it names
	// the activity, the same in each attempt: use both as an idempotency key. It is 0 in a local
	// activity, which has no such event: make its key from its input.
	EventID int64
	// Attempt counts from 1.
	Attempt int
	// Local says that the activity is a local one.
	Local bool
}

// Heartbeater records the heartbeats of an attempt, and returns its token.
type Heartbeater interface {
	// RecordHeartbeat records that the attempt is alive, and keeps details. It returns an error if
	// the attempt should end.
	RecordHeartbeat(ctx context.Context, details []byte) error
	// Details are the last details of the earlier attempts; nil if they recorded none.
	Details() []byte
	// Token returns the name of the attempt for callers that end it, or send its heartbeats, from
	// outside.
	Token(ctx context.Context) (string, error)
}

// Publisher publishes items of an attempt on topics of its workflow.
type Publisher interface {
	// Publish commits items as one batch, after those that were collected before.
	Publish(ctx context.Context, topic string, items [][]byte) error
	// Collect adds an item to the next batch, which is committed within a second.
	Collect(ctx context.Context, topic string, item []byte) error
	// Flush commits what was collected.
	Flush(ctx context.Context) error
}

type carried struct {
	info        Info
	heartbeater Heartbeater
	publisher   Publisher
}

type key struct{}

// With returns a context that carries the info and the heartbeater.
func With(ctx context.Context, info Info, heartbeater Heartbeater) context.Context {
	return context.WithValue(ctx, key{}, carried{info: info, heartbeater: heartbeater})
}

// WithPublisher returns a context of With that also carries a publisher.
func WithPublisher(ctx context.Context, p Publisher) context.Context {
	c, _ := ctx.Value(key{}).(carried)
	c.publisher = p
	return context.WithValue(ctx, key{}, c)
}

// PublisherOf returns the publisher that WithPublisher put into the context, or nil.
func PublisherOf(ctx context.Context) Publisher {
	c, _ := ctx.Value(key{}).(carried)
	return c.publisher
}

// From returns the info that With put into the context, or the zero value.
func From(ctx context.Context) Info {
	c, _ := ctx.Value(key{}).(carried)
	return c.info
}

// HeartbeaterOf returns the heartbeater that With put into the context, or nil.
func HeartbeaterOf(ctx context.Context) Heartbeater {
	c, _ := ctx.Value(key{}).(carried)
	return c.heartbeater
}
