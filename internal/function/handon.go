package function

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
)

// rawBatch is a batch of messages in their original JSON.
type rawBatch struct{ Records []json.RawMessage }

// handOn is the part of a batch that another build has to handle.
type handOn struct {
	name string // of the queue
	destination
	part  []worker.Away
	batch []events.SQSMessage
	raw   []json.RawMessage
}

// destination is a build that has to handle messages. soft says that this one can, too.
type destination struct {
	build string
	soft  bool
}

// event returns an event with only the messages of the part, in their order and unchanged. ids has
// the ids of the messages, by their receipts.
func (h *handOn) event() (event []byte, ids map[string]string, err error) {
	ids = map[string]string{}
	for _, d := range h.part {
		ids[d.Receipt] = ""
	}
	var some rawBatch
	for i, r := range h.batch {
		if _, ok := ids[r.ReceiptHandle]; ok {
			ids[r.ReceiptHandle] = r.MessageId
			some.Records = append(some.Records, h.raw[i])
		}
	}
	event, err = json.Marshal(some)
	return event, ids, err
}

// handOn forwards messages to the version of the function that has their build, and records in done
// those that it has finished. If no version can have begun, this process handles the messages of a
// soft destination. Others wait, and do not become dead letters. Otherwise the queue redelivers
// them.
func (f *Function) handOn(ctx context.Context, a allowance, h *handOn, done map[string]bool) {
	event, ids, err := h.event()
	var answer []byte
	if err == nil {
		answer, err = f.forward(ctx, a, h.build, event)
	}
	var again map[string]bool
	if err == nil {
		again, err = notDone(answer, ids)
	}
	if h.soft && notBegun(err) {
		f.handleHere(ctx, a, h, done)
		return
	}
	if err != nil {
		f.log.WarnContext(ctx, "messages of another build were not forwarded", "queue", h.name, "build", h.build, "messages", len(h.part), "error", err)
		f.postpone(ctx, a, h, err, done)
		return
	}
	for receipt, id := range ids {
		done[receipt] = !again[id]
	}
}

// handleHere handles messages that the build which owns their runs did not get.
func (f *Function) handleHere(ctx context.Context, a allowance, h *handOn, done map[string]bool) {
	deliveries := make([]queue.Delivery, len(h.part))
	for i, one := range h.part {
		deliveries[i] = one.Delivery
	}
	here, _ := f.handle(executor.Anywhere(ctx), a, h.name, worker.Split(h.name, deliveries)) // what is pinned elsewhere meanwhile is redelivered
	maps.Copy(done, here)
}

// notDone returns the messages that a version has not finished. It fails if the answer has no list
// of them, or lists a message that was not sent: then it is unknown which are finished. AWS takes
// an answer without a list for success, but a version of this function always sends one.
func notDone(answer []byte, ids map[string]string) (map[string]bool, error) {
	var got struct {
		Failed *[]events.SQSBatchItemFailure `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, err
	}
	if got.Failed == nil {
		return nil, errors.New("the answer has no batchItemFailures")
	}
	handed, again := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		handed[id] = true
	}
	for _, one := range *got.Failed {
		if !handed[one.ItemIdentifier] {
			return nil, errors.New("the answer names a message that was not forwarded")
		}
		again[one.ItemIdentifier] = true
	}
	return again, nil
}

// postpone lets messages wait if no version has begun with them.
func (f *Function) postpone(ctx context.Context, a allowance, h *handOn, err error, done map[string]bool) {
	gone := errors.Is(err, ErrNoVersion)
	if !gone && !errors.Is(err, ErrNotForwarded) {
		return
	}
	for _, receipt := range f.handler(a).Wait(ctx, h.part, gone) {
		done[receipt] = true
	}
}
