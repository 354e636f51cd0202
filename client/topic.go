package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// TopicItem is an item that a workflow has published on a topic.
type TopicItem = schema.TopicItem

// TopicActivity is an attempt at an activity that has published items.
type TopicActivity = schema.TopicActivity

// TopicItems are items of a topic, in order.
type TopicItems = schema.TopicResponse

// TopicSummary says what a topic holds.
type TopicSummary = schema.TopicSummary

// Topics returns the topics of the latest run, or of the run with runID.
func (c *Client) Topics(ctx context.Context, workflowID, runID string) ([]TopicSummary, error) {
	var answer schema.TopicsResponse
	_, err := c.do(ctx, request{Request: Request{"topics", workflowID, ""}, method: http.MethodGet, path: path(workflowID, "topics"), query: runQuery(runID), answer: &answer})
	if err == nil && answer.Topics == nil {
		err = errForm("list of topics")
	}
	return answer.Topics, err
}

// Topic returns the items of a topic from an offset on, as many as one answer holds (1,000, and
// about 1 MiB). It does not wait for items. Give the RunID and the Next of an answer to go on,
// until it is Closed; NewRunID is then the run that goes on with the topic. Without a runID the
// latest run is meant, and the items of the runs that it continues are there, too. A negative
// offset is the oldest item.
func (c *Client) Topic(ctx context.Context, workflowID, runID, topic string, from int64) (*TopicItems, error) {
	return c.topic(ctx, workflowID, topic, topicQuery(runID, from), nil)
}

// WaitTopic is Topic, and waits if there is no item yet, until there is one or the run has closed.
// The context bounds the wait.
//
// On a local server it is a request for each 20 s of the wait. On AWS it is one for each pause that
// the function asks for: of five seconds at most, and of a read at least.
func (c *Client) WaitTopic(ctx context.Context, workflowID, runID, topic string, from int64) (*TopicItems, error) {
	q := topicQuery(runID, from)
	w := c.waiter(q)
	for {
		page, err := c.topic(ctx, workflowID, topic, q, w)
		if err != nil || len(page.Items) > 0 || page.More || page.Closed || page.Withdrawn != nil {
			return page, err
		}
		q.Set("runId", string(page.RunID)) // the same run, even if another one is started
		q.Set("from", strconv.FormatInt(page.Next, 10))
		if err := w.pause(ctx, page.RetryAfter); err != nil {
			return nil, err
		}
	}
}

func topicQuery(runID string, from int64) url.Values {
	q := runQuery(runID)
	if from >= 0 {
		q.Set("from", strconv.FormatInt(from, 10))
	}
	return q
}

func (c *Client) topic(ctx context.Context, workflowID, topic string, q url.Values, w *waiter) (*TopicItems, error) {
	var page TopicItems
	_, err := c.do(ctx, request{
		Request: Request{"topic", workflowID, topic}, method: http.MethodGet, path: path(workflowID, "topics", url.PathEscape(topic)), query: q, waiter: w, answer: &page,
	})
	if err == nil && (page.RunID == "" || page.Items == nil) {
		err = errForm("request for a topic")
	}
	if err != nil {
		return nil, err
	}
	return &page, nil
}

// ReadOptions tunes the reading of a topic. The zero value is the default.
type ReadOptions struct {
	// RunID is the run to begin with; empty is the latest. The items of the runs that it continues
	// are there, too.
	RunID string
	// NoWait ends at the last item that there is. Otherwise the reader waits for the next one.
	NoWait bool
	// Withdrawn is called when a reset has withdrawn items, which the reader may have returned
	// before: those from an offset on, before another one. It is called before the next item is
	// returned. Nil ignores that.
	Withdrawn func(from, before int64)
}

// ReadTopic returns the items of a topic from an offset on, in order, and waits for the next one.
// It follows the runs that go on with the topic. It ends when no run does, when ctx ends, or with
// an error. A negative offset is the oldest item.
//
// It repeats requests that fail for a while, so a broken connection loses nothing and repeats
// nothing. A reader that begins again gives the offset of its last item, plus 1.
func (c *Client) ReadTopic(ctx context.Context, workflowID, topic string, from int64, o ReadOptions) iter.Seq2[TopicItem, error] {
	return func(yield func(TopicItem, error) bool) {
		runID, waits := o.RunID, false // the first look is at what there is
		for {
			ask := c.Topic
			if waits && !o.NoWait {
				ask = c.WaitTopic
			}
			page, err := ask(ctx, workflowID, runID, topic, from)
			if err != nil {
				yield(TopicItem{}, err)
				return
			}
			if page.Next < from {
				yield(TopicItem{}, errForm("request for a topic"))
				return
			}
			if w := page.Withdrawn; w != nil && o.Withdrawn != nil {
				o.Withdrawn(w.From, w.Before) // before the items: whoever leaves at one has been told
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			runID, from, waits = string(page.RunID), page.Next, !page.More
			switch {
			case page.NewRunID != "":
				runID, waits = string(page.NewRunID), false
			case page.Closed, o.NoWait && !page.More:
				return
			}
		}
	}
}
