package queuetest

import (
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var invalidTests = []test{
	{"messages that a queue does not take", invalidMessages},
	{"batches that are too large", invalidBatches},
	{"queues that do not exist", invalidQueues},
}

func (f *fixture) invalid(what string, err error) {
	f.Helper()
	if !errors.Is(err, queue.ErrInvalid) {
		f.Errorf("%s: %v, want ErrInvalid", what, err)
	}
}

func invalidMessages(f *fixture) {
	body := []byte("message")
	good := map[string]queue.Message{tasks: {Body: body}, orders: {Body: body, Group: "group"}}
	for _, c := range []struct {
		what string
		name string
		bad  queue.Message
	}{
		{"a delay that is too long", tasks, queue.Message{Body: body, Delay: queue.MaxDelay + 1}},
		{"a group in a standard queue", tasks, queue.Message{Body: body, Group: "group"}},
		{"no group in a FIFO queue", orders, queue.Message{Body: body}},
		{"a delay in a FIFO queue", orders, queue.Message{Body: body, Group: "group", Delay: time.Second}},
	} {
		f.invalid(c.what, f.queue.Send(f.Context(), c.name, c.bad))
		f.invalid(c.what+", after a good message", f.queue.Send(f.Context(), c.name, good[c.name], c.bad))
		f.invalid(c.what+", before a good message", f.queue.Send(f.Context(), c.name, c.bad, good[c.name]))
		f.quiet(c.name, time.Time{})
	}
	due := f.clock.Now().Add(queue.MaxDelay)
	f.sendAll(tasks, queue.Message{Body: body, Delay: queue.MaxDelay}) // the longest delay is valid
	f.quiet(tasks, due)
}

func invalidBatches(f *fixture) {
	const tooMany = queue.MaxBatch + 1
	var messages, grouped []queue.Message
	for range tooMany {
		messages = append(messages, queue.Message{Body: []byte("message")})
		grouped = append(grouped, queue.Message{Body: []byte("message"), Group: "group"})
	}
	f.invalid("a Send of too many messages", f.queue.Send(f.Context(), tasks, messages...))
	f.quiet(tasks, time.Time{})
	f.invalid("a Send of too many messages to a FIFO queue", f.queue.Send(f.Context(), orders, grouped...))
	f.quiet(orders, time.Time{})

	f.send(tasks, "", numbered("message", tooMany)...)
	for _, limit := range []int{0, tooMany} {
		_, err := f.queue.Receive(f.Context(), tasks, limit)
		f.invalid("a Receive of none or too many", err)
	}
	taken := f.expect(tasks, 1, numbered("message", tooMany)...)
	f.invalid("a Delete of too many messages", f.queue.Delete(f.Context(), tasks, receipts(taken)...))
	f.giveBack(tasks, taken...)
	f.expect(tasks, 2, numbered("message", tooMany)...) // none of them was deleted
}

func invalidQueues(f *fixture) {
	f.send(tasks, "", "message")
	d := f.expect(tasks, 1, "message")[0]
	for _, name := range []string{"", "nobody", "Tasks", "tasks-dead-dead"} {
		f.invalid("Send", f.queue.Send(f.Context(), name, queue.Message{Body: []byte("message")}))
		_, err := f.queue.Receive(f.Context(), name, 1)
		f.invalid("Receive", err)
		f.invalid("Delete", f.queue.Delete(f.Context(), name, d.Receipt))
		f.invalid("Extend", f.queue.Extend(f.Context(), name, d.Receipt, 0))
	}
	f.quiet(tasks, f.in(0.5))
}
