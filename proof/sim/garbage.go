package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// garbage is what was sent to the queues of dead letters and is no message, by its body.
type garbage struct {
	// sent has the queue of each, and kept how many times it was kept.
	sent map[string]string
	kept map[string]int
	// random decides what happens to what is kept.
	random *rand.Rand
}

// startGarbage sends garbage to queues of dead letters in some seeds. It draws from a random stream
// of its own.
func (s *simulation) startGarbage() {
	r := rand.New(rand.NewPCG(s.seed, 0x6a7ba6e))
	s.garbage = garbage{sent: map[string]string{}, kept: map[string]int{}, random: r}
	if r.IntN(8) > 0 {
		return
	}
	s.spawn("sender of garbage", nil, func() {
		all := queue.All(taskQueues...)
		for i := range 1 + r.IntN(4) {
			s.pause(wait{until: s.now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)})
			name := all[r.IntN(len(all))]
			m := queue.Message{Body: fmt.Appendf(nil, "\x01garbage %d", i)}
			if name == queue.Workflow {
				m.Group = "noise"
			}
			s.count("garbage is sent")
			s.garbage.sent[string(m.Body)] = name
			s.must(s.queue.Send(context.Background(), queue.DeadLetters(name), m))
		}
	})
}

// Keep implements queue.Keeper: it keeps a message, and may answer that it failed, whether it did
// or not.
func (t *ports) Keep(_ context.Context, name string, d queue.Delivery, _ string) error {
	s := t.s
	g := &s.garbage
	t.point("before a letter is kept")
	if from := g.sent[string(d.Body)]; from != name {
		s.fail("garbage %q of %s is kept as that of %s", d.Body, from, name)
	}
	if !s.quiet() && g.random.IntN(3) == 0 {
		s.count("garbage is not kept")
		return errors.New("AccessDenied")
	}
	g.kept[string(d.Body)]++
	t.point("after a letter is kept")
	if !s.quiet() && g.random.IntN(3) == 0 {
		s.count("garbage is kept twice")
		return errors.New("the answer is lost")
	}
	return nil
}

// checkGarbage demands that all garbage was kept: it has left its queue.
func (s *simulation) checkGarbage() {
	if s.restore.done || s.maintenance.purged {
		return // it may be gone with its queue
	}
	for _, body := range slices.Sorted(maps.Keys(s.garbage.sent)) {
		if s.garbage.kept[body] == 0 {
			s.fail("garbage %q of the dead letters of %s is in no queue", body, s.garbage.sent[body])
		}
	}
}
