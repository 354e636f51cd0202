//go:build aws

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/approval"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/examples/fanout"
	"github.com/seed-41655fb1/weft/localstack/faults"
	"github.com/seed-41655fb1/weft/workflow"
)

// talk is a conversation with one workflow, and the answers that the client got.
type talk struct {
	client *client.Client
	chance *chance
	id     string
	run    string
	// accepted and refused are the ids of updates; signals how many were acknowledged.
	accepted, refused []string
	signals           int
	// again is how often a checkout had to be repeated, because its charge had used up its
	// attempts.
	again int
	// status is the expected outcome of the workflow, and check checks its result.
	status history.Status
	check  func(ctx context.Context) error
}

// shapes has the conversations, with the number of each in 100.
var shapes = []struct {
	name   string
	weight int
	hold   func(ctx context.Context, t *talk) error
}{
	{"cart", 25, shop},
	{"fanout", 5, translate},
	{"naps", 12, nap},
	{"chain", 12, chain},
	{"flaky", 8, stumble},
	{"relay", 8, relay},
	{"inbox", 15, write},
	{"approval", 14, approve},
	{"buried", 1, bury},
}

// begin starts the workflow, and sets the check of its result.
func begin[In, Out any](ctx context.Context, t *talk, w workflow.Type[In, Out], in In, right func(Out) bool, options ...client.StartOptions) error {
	run, err := w.Start(ctx, t.client, t.id, in, options...)
	t.run, t.status = run.RunID, history.Completed
	t.check = func(ctx context.Context) error {
		got, err := w.Get(t.client, t.id).Result(ctx)
		if err == nil && !right(got) {
			err = fmt.Errorf("the result is %+v", got)
		}
		return err
	}
	return err
}

// is returns a check for one known result.
func is[T any](want T) func(T) bool { return func(got T) bool { return reflect.DeepEqual(got, want) } }

// update sends an update and waits for its outcome.
func update[In, Out any](ctx context.Context, t *talk, u workflow.Update[In, Out], in In) (Out, error) {
	id := fmt.Sprintf("u%d", len(t.accepted)+len(t.refused))
	handle, err := u.Send(ctx, t.client, t.id, in, client.UpdateOptions{ID: id})
	t.recordUpdate(id, err)
	if err != nil {
		var none Out
		return none, err
	}
	return handle.Get(ctx)
}

// recordUpdate keeps the outcome of an update. If the client never learned it (ctx has ended), the
// test fails elsewhere.
func (t *talk) recordUpdate(id string, err error) {
	if client.AsRejected(err) != nil {
		t.refused = append(t.refused, id)
	} else {
		t.accepted = append(t.accepted, id)
	}
}

func send[In any](ctx context.Context, t *talk, s workflow.Signal[In], in In) error {
	err := s.Send(ctx, t.client, t.id, in)
	if err == nil {
		t.signals++
	}
	return err
}

// shop fills a cart, with some items that are refused, and checks it out. One card in ten is
// declined: its cart is canceled.
func shop(ctx context.Context, t *talk) error {
	receipt, owner := cart.Receipt{}, "ada"
	if t.chance.intN(10) == 0 {
		owner = "mallory"
	}
	err := begin(ctx, t, cart.Workflow, cart.Start{Owner: owner}, func(got cart.Receipt) bool { return got == receipt })
	if err != nil {
		return err
	}
	if _, err := update(ctx, t, cart.Checkout, workflow.None{}); !errors.Is(err, cart.ErrEmpty) {
		return fmt.Errorf("checkout of an empty cart: %w", err)
	}
	total := cart.Total{}
	for i := range 1 + t.chance.intN(3) {
		if t.chance.intN(2) == 0 {
			if _, err := update(ctx, t, cart.AddItem, cart.Item{SKU: "unicorn", Quantity: 1}); !errors.Is(err, cart.ErrUnknownSKU) {
				return fmt.Errorf("an unknown item: %w", err)
			}
		}
		total.Items, total.Cents = total.Items+2, total.Cents+900
		if got, err := update(ctx, t, cart.AddItem, cart.Item{SKU: "tea", Quantity: 2}); err != nil || got != total {
			return fmt.Errorf("item %d: the total is %+v, %w; want %+v", i, got, err, total)
		}
	}
	if err := send(ctx, t, cart.Note, "for "+t.id); err != nil {
		return err
	}
	contents, err := cart.Contents.Ask(ctx, t.client, t.id, workflow.None{})
	if err != nil || contents.Total != total || len(contents.Notes) != 1 {
		return fmt.Errorf("the cart holds %+v, %w; want %+v and a note", contents, err, total)
	}
	if owner == "mallory" {
		return t.decline(ctx)
	}
	receipt, err = checkOut(ctx, t)
	if err == nil && (receipt.Items != total.Items || receipt.Cents != total.Cents || receipt.Owner != owner) {
		err = fmt.Errorf("the receipt is %+v, want %+v", receipt, total)
	}
	return err
}

// checkOut checks a cart out. A charge has five attempts, and those that a fault interrupts count.
// When they are used up, the cart is open again.
func checkOut(ctx context.Context, t *talk) (receipt cart.Receipt, err error) {
	for range 5 {
		receipt, err = update(ctx, t, cart.Checkout, workflow.None{})
		var late *workflow.ActivityError
		if !errors.As(err, &late) || errors.Is(err, cart.ErrDeclined) {
			break
		}
		t.again++
	}
	return receipt, err
}

func (t *talk) decline(ctx context.Context) error {
	if _, err := checkOut(ctx, t); !errors.Is(err, cart.ErrDeclined) {
		return fmt.Errorf("checkout with a bad card: %w", err)
	}
	t.status = history.Canceled
	t.check = func(ctx context.Context) error {
		if _, err := cart.Workflow.Get(t.client, t.id).Result(ctx); !errors.Is(err, workflow.ErrCanceled) {
			return fmt.Errorf("the result of a cart that was canceled: %w", err)
		}
		return nil
	}
	return cart.Workflow.Get(t.client, t.id).Cancel(ctx, "the card was declined")
}

// translate has pages translated side by side. They are long, because the example takes its time
// for short ones.
func translate(ctx context.Context, t *talk) error {
	var pages, upper []string
	for i := range 5 + t.chance.intN(15) {
		page := fmt.Sprintf("page %d %s", i, strings.Repeat("x", 100))
		pages, upper = append(pages, page), append(upper, strings.ToUpper(page))
	}
	return begin(ctx, t, fanout.Workflow, pages, func(got fanout.Book) bool {
		return slices.Equal(got.Pages, upper) && len(got.Order) == len(pages)
	})
}

// nap sleeps for times on both sides of longTimer.
func nap(ctx context.Context, t *talk) error {
	var naps []time.Duration
	for range 1 + t.chance.intN(3) {
		naps = append(naps, time.Duration(t.chance.intN(int(2*longTimer/time.Millisecond)))*time.Millisecond)
	}
	return begin(ctx, t, faults.Naps, naps, is(len(naps)), client.StartOptions{RunTimeout: time.Hour})
}

func chain(ctx context.Context, t *talk) error {
	var squares []int
	for i := range 1 + t.chance.intN(6) {
		squares = append(squares, i*i)
	}
	return begin(ctx, t, faults.Chain, len(squares), is(squares), client.StartOptions{StartDelay: time.Duration(t.chance.intN(2)) * time.Second})
}

func stumble(ctx context.Context, t *talk) error {
	failures := t.chance.intN(3)
	return begin(ctx, t, faults.Flaky, failures, func(attempt int) bool { return attempt > failures })
}

func relay(ctx context.Context, t *talk) error {
	sum, laps := 0, 1+t.chance.intN(3)
	for i := range laps + 1 {
		sum += i * i
	}
	return begin(ctx, t, faults.Relay, faults.Lap{Left: laps}, is(sum))
}

// write sends signals, each after the acknowledgement of the one before.
func write(ctx context.Context, t *talk) error {
	var letters []int
	for i := range 1 + t.chance.intN(5) {
		letters = append(letters, i)
	}
	if err := begin(ctx, t, faults.Inbox, len(letters), is(letters)); err != nil {
		return err
	}
	for _, n := range letters {
		if err := send(ctx, t, faults.Letter, n); err != nil {
			return err
		}
	}
	return nil
}

// approve submits expenses, which are accepted at once, answers them, and then asks for their
// outcomes.
func approve(ctx context.Context, t *talk) error {
	approved := 0
	if err := begin(ctx, t, approval.Workflow, workflow.None{}, func(got int) bool { return got == approved }); err != nil {
		return err
	}
	if _, err := update(ctx, t, approval.HandIn, approval.Expense{Who: "ada"}); !errors.Is(err, approval.ErrNothing) {
		return fmt.Errorf("an expense of nothing: %w", err)
	}
	for i := range 1 + t.chance.intN(2) {
		id := fmt.Sprint("expense-", i)
		handle, err := approval.HandIn.Send(ctx, t.client, t.id, approval.Expense{Who: "ada", Cents: 100 + i}, client.UpdateOptions{ID: id})
		if err != nil {
			return err
		}
		t.recordUpdate(id, nil)
		want := approval.Decision{Approved: t.chance.intN(2) == 0, Why: id}
		if err := send(ctx, t, approval.Answer, want); err != nil {
			return err
		}
		if got, err := handle.Get(ctx); err != nil || got != want {
			return fmt.Errorf("%s was decided %+v, %w; want %+v", id, got, err, want)
		}
		if want.Approved {
			approved++
		}
	}
	return send(ctx, t, approval.Retire, workflow.None{})
}

// bury runs an activity that kills its process. Its workflow gets that failure.
func bury(ctx context.Context, t *talk) error {
	return begin(ctx, t, faults.Buried, workflow.None{}, is("interrupted"))
}
