package workflow

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Topic is a stream of items that a workflow publishes. Callers read it from an offset on, while
// the workflow runs and afterwards. It has a name and the type of its items.
type Topic[T any] struct {
	name, where string
	by          Converter
}

// NewTopic declares a topic. Declare each once, as a package variable. Several sets of options are
// merged.
//
//	var Progress = workflow.NewTopic[Step]("progress")
//
//go:noinline
func NewTopic[T any](name string, sets ...DeclareOptions) Topic[T] {
	return Topic[T]{name, where.Caller(), converterOf("topic", name, sets)}
}

// Name returns the topic's name.
func (t Topic[T]) Name() string { return t.name }

// Publish publishes an item. The item is in the commit that the task writes anyway, so it costs no
// write. Readers get it from then on, in the order of the calls, exactly once. Its offset is one
// more than that of the item before it. All items of a topic that one task publishes are one event.
//
// Publish waits only if the commit of the task is full, and then for the next task. An item that
// JSON cannot hold, or that has more than 256 KiB, fails the task. So does the 101st topic of a
// run. A validator and a query handler cannot publish.
//
// A run that continues this one goes on with the offsets. So does one that a reset opens: the items
// that this run published after the task of the reset are withdrawn, and no offset is used twice.
func (t Topic[T]) Publish(ctx Context, item T) {
	ctx.instance().Publish(t.name, func() history.Payload { return payload.MustEncodeBy(t.by, item) })
}

// Next returns the offset that the next item gets. It is how many items the topic has had, in all
// runs that this one continues.
func (t Topic[T]) Next(ctx Context) int64 { return ctx.instance().TopicNext(t.name) }

// Truncate hides the items before an offset from readers. Their bytes stay in the history until the
// run is deleted.
//
//	Progress.Truncate(ctx, Progress.Next(ctx)-100) // keeps the last hundred
func (t Topic[T]) Truncate(ctx Context, before int64) { ctx.instance().Truncate(t.name, before) }

// Item is an item of a topic.
type Item[T any] struct {
	// Offset is its place in the topic, and At is when it was published.
	Offset int64
	At     time.Time
	Value  T
	// Activity is the attempt at an activity that has published the item; nil if the workflow's
	// code has. If items of another execution of the same activity follow, it has started over:
	// drop those of the one before. RunID and ScheduledEventID identify the activity.
	Activity *client.TopicActivity
}

// ReadOptions tunes the reading of a topic. [client.ReadOptions] documents its fields. The zero
// value is the default.
type ReadOptions = client.ReadOptions

// Read returns the items of a workflow's topic from an offset on, in order, and waits for the next
// one. It follows the runs that go on with the topic: after continue-as-new, retries, cron and
// resets. It ends when no run goes on, when ctx ends, or with an error. An item whose value does
// not decode has an error of its own, after which a caller may go on.
//
//	for item, err := range Progress.Read(ctx, c, "agent-1", 0) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(item.Offset, item.Value)
//	}
//
// A reader that begins again gives the offset of its last item, plus 1: nothing is lost, and
// nothing repeated. Items that were truncated are left out.
func (t Topic[T]) Read(ctx context.Context, c *client.Client, workflowID string, from int64, sets ...ReadOptions) iter.Seq2[Item[T], error] {
	return func(yield func(Item[T], error) bool) {
		for item, err := range c.ReadTopic(ctx, workflowID, t.name, from, options.Of(sets)) {
			got := Item[T]{Offset: item.Offset, At: item.At, Activity: item.Activity}
			if err == nil {
				if got.Value, err = payload.DecodeOrZeroBy[T](t.by, item.Value); err != nil {
					err = fmt.Errorf("item %d of topic %q does not decode: %w", item.Offset, t.name, err)
				}
			}
			if !yield(got, err) {
				return
			}
		}
	}
}

func (t Topic[T]) declared() *engine.Name {
	return &engine.Name{Kind: engine.TopicName, Name: t.name, Where: t.where, Input: payload.ValueBy[T](t.by)}
}
