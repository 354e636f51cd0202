package sqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/internal/awstry"
	"github.com/seed-41655fb1/weft/queue"
)

// Options are the options of a queue.
type Options struct {
	// URLs has the URLs of the queues by the port's names. A URL that ends in .fifo is that of a
	// FIFO queue, as in SQS. Calls for any other name return ErrInvalid.
	URLs map[string]string
	// MaxMessage is the largest text of a message that the queues take (their MaximumMessageSize),
	// and the largest sum of a batch's texts, in bytes; 0 means SQS's limit of 1 MiB. The largest
	// body is three quarters of it.
	MaxMessage int
	// TryTimeout is how long one try of a request, including its answer, may take before the
	// request is sent again on another connection. It doubles, up to fourfold, while consecutive
	// requests get no answer. 0 means 3 s. A poll has 20 s more.
	TryTimeout time.Duration
}

// tryTimeout is the default of Options.TryTimeout.
const tryTimeout = 3 * time.Second

// limit returns the timeout of one try.
func (o *Options) limit(r *http.Request) time.Duration {
	d := cmp.Or(o.TryTimeout, tryTimeout)
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ReceiveMessage") {
		d += pollSeconds * time.Second
	}
	return d
}

// Queue holds the queues of a deployment. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	queues map[string]target
	max    int
	// dead has the targets of dead letters by the names of their queues, as they were found.
	dead sync.Map
}

// target is the destination of one queue's messages.
type target struct {
	url  string
	fifo bool
	arn  string // of dead letters
}

var (
	_ queue.Sender   = (*Queue)(nil)
	_ queue.Receiver = (*Queue)(nil)
)

// New returns the queues that the client reaches. It makes no request: a wrong URL is detected at
// its first use.
func New(client *sqs.Client, o Options) *Queue {
	client = sqs.New(client.Options(), func(c *sqs.Options) { c.HTTPClient = awstry.Wrap(c.HTTPClient, o.limit) })
	q := &Queue{client: client, queues: map[string]target{}, max: o.MaxMessage}
	if q.max == 0 {
		q.max = maxRequest
	}
	for name, url := range o.URLs {
		q.queues[name] = target{url: url, fifo: IsFIFO(url)}
	}
	return q
}

// IsFIFO reports whether a queue's URL, ARN or name is that of a FIFO queue.
func IsFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

func (q *Queue) target(name string) (target, error) {
	t, ok := q.queues[name]
	if !ok {
		return t, fmt.Errorf("%w: there is no queue %q: give its URL", queue.ErrInvalid, name)
	}
	return t, nil
}

// wrap adds the failed operation to an error. It returns errors that callers can branch on: the
// context's error, whatever the SDK made of it, and ErrInvalid if the queue does not exist.
func wrap(ctx context.Context, what, name string, err error) error {
	var missing *types.QueueDoesNotExist
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w: %w", what, name, ctx.Err(), err)
	case errors.As(err, &missing):
		return fmt.Errorf("%w: %s %s: %w", queue.ErrInvalid, what, name, err)
	}
	return fmt.Errorf("%s %s: %w", what, name, err)
}

// entryError returns the error of a batch's failed entries. It reports the first one.
func entryError(class error, failed []types.BatchResultErrorEntry, of int) error {
	return fmt.Errorf("%w: %d of %d, the first because of %w", class, len(failed), of, (*entryFailure)(&failed[0]))
}

// entryFailure is why SQS refused an entry of a batch.
type entryFailure types.BatchResultErrorEntry

// Error has SQS's code and text.
func (e *entryFailure) Error() string { return e.ErrorCode() + ": " + aws.ToString(e.Message) }

// ErrorCode returns SQS's code, as the errors of the SDK do.
func (e *entryFailure) ErrorCode() string { return aws.ToString(e.Code) }
