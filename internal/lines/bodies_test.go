package lines

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// keeper is a journal that stores the bodies of messages.
type keeper struct {
	bodies map[uint64][]byte
	read   int // the number of bodies read
}

func (k *keeper) Sent(_ string, messages []Kept) error {
	for _, m := range messages {
		k.bodies[m.ID] = m.Body
	}
	return nil
}

func (k *keeper) Received(string, map[uint64]int, bool) error { return nil }

func (k *keeper) Deleted(ids []uint64) error {
	maps.DeleteFunc(k.bodies, func(id uint64, _ []byte) bool { return slices.Contains(ids, id) })
	return nil
}

func (k *keeper) Bodies(ids []uint64) (map[uint64][]byte, error) {
	found := map[uint64][]byte{}
	for _, id := range ids {
		if body := k.bodies[id]; body != nil {
			k.read++
			found[id] = body
		}
	}
	return found, nil
}

func (k *keeper) Moved(id uint64, _ string, m Kept) error {
	k.bodies[m.ID] = k.bodies[id]
	delete(k.bodies, id)
	return nil
}

// Bodies beyond the budget are not in memory, and are still delivered in order. A deletion makes
// room for others.
func TestBodiesAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	const size, budget, messages = 1000, 10_500, 100
	k := &keeper{bodies: map[uint64][]byte{}}
	q, ctx := New(settingsOf(true), Options{Journal: k, BodyBytes: budget}), t.Context()
	for round := 1; round <= 2; round++ {
		var sent []string
		for i := range messages {
			body := fmt.Sprintf("%0*d", size, i)
			sent = append(sent, body)
			if err := q.Send(ctx, "q", queue.Message{Group: fmt.Sprint(i % 3), Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
			if q.bodies > budget {
				t.Fatalf("bodies of %d bytes are in memory, want at most %d", q.bodies, budget)
			}
		}
		if q.bodies < budget-size {
			t.Errorf("bodies of %d bytes are in memory, and there is room for %d", q.bodies, budget)
		}
		last := map[string]string{}
		var got []string
		for range messages {
			d, err := q.Receive(ctx, "q", 1)
			if err != nil {
				t.Fatal(err)
			}
			body := string(d[0].Body)
			if body <= last[d[0].Group] {
				t.Errorf("the order in the group %s is wrong", d[0].Group)
			}
			last[d[0].Group], got = body, append(got, body)
			if err := q.Delete(ctx, "q", d[0].Receipt); err != nil {
				t.Fatal(err)
			}
		}
		if slices.Sort(got); !slices.Equal(got, sent) {
			t.Error("the bodies that were delivered are not those that were sent")
		}
		if want := round * (messages - budget/size); k.read != want || q.bodies != 0 {
			t.Errorf("%d bodies were read from the journal, want %d; %d bytes are in memory at the end", k.read, want, q.bodies)
		}
	}
}

// If the journal cannot read a message's body, the message and those after it in its group are not
// delivered. Others are. The message moves to the dead letters.
func TestBodiesThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{bodies: map[uint64][]byte{}}
		q := New(settingsOf(true), Options{Journal: k, BodyBytes: 1})
		for i, group := range []string{"a", "a", "a", "b"} {
			if err := q.Send(t.Context(), "q", queue.Message{Group: group, Body: fmt.Appendf(nil, "body %d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		delete(k.bodies, 2)
		d, err := q.Receive(t.Context(), "q", 10)
		if got := bodies(d); err != nil || !slices.Equal(got, []string{"body 0", "body 3"}) {
			t.Fatalf("%q, %v; want the bodies in front of the one that cannot be read, and those of the other group", got, err)
		}
		for _, m := range d {
			if err := q.Delete(t.Context(), "q", m.Receipt); err != nil {
				t.Fatal(err)
			}
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Hour) // in the bubble
		defer cancel()
		if d, err := q.Receive(limited, "q", 10); err == nil {
			t.Errorf("%q was delivered; want nothing: both messages were received as often as they may", bodies(d))
		}
		if dead := q.Len(queue.DeadLetters("q")); dead != 2 || q.Len("q") != 0 {
			t.Errorf("%d dead letters and %d messages, want 2 and none", dead, q.Len("q"))
		}
	})
}
