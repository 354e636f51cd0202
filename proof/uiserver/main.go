// Command uiserver is the local server that the tests of the web page drive (ui/test). Its
// workflows bring runs into each state that the page shows. The examples do not: none of them
// panics.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflows: an order that waits for everything, an import of many events, and a subscription
// that is stuck.
var (
	order        = workflow.NewWorkflow[purchase, string]("order")
	shipment     = workflow.NewWorkflow[parcel, string]("shipment")
	bulkImport   = workflow.NewWorkflow[int, int]("import")
	subscription = workflow.NewWorkflow[string, string]("subscription")

	addItem = workflow.NewUpdate[item, int]("addItem")
	approve = workflow.NewUpdate[string, string]("approve")
	paid    = workflow.NewSignal[string]("paid")
	deliver = workflow.NewSignal[string]("delivered")
	other   = workflow.NewSignal[int]("other") // no code receives it
	status  = workflow.NewQuery[workflow.None, string]("status")

	cents = workflow.NewAttribute[int64]("Cents")
)

// The activities. A price lookup is local, and a charge fails as often as its input says.
var (
	lookUp = activity.NewLocal("lookUpPrice", func(_ context.Context, sku string) (int, error) {
		if price, ok := map[string]int{"tea": 450, "cup": 1200, "pot": 3900}[sku]; ok {
			return price, nil
		}
		return 0, errUnknownSKU
	}, activity.LocalOptions{Retry: activity.Retry{NonRetryable: []*activity.Error{errUnknownSKU}}})
	reserve = activity.New("reserveStock", func(context.Context, string) (string, error) {
		return "reservation-81", nil
	})
	charge = activity.New("chargeCard", func(ctx context.Context, failures int) (string, error) {
		if attempt := activity.InfoOf(ctx).Attempt; attempt <= failures {
			return "", errGateway
		}
		return "payment-4711", nil
	}, activity.Options{Retry: activity.Retry{InitialInterval: 300 * time.Millisecond, MaxInterval: 20 * time.Second}})
	notify = activity.New("sendReceipt", func(context.Context, string) (bool, error) { return false, errMailbox },
		activity.Options{Retry: activity.Retry{InitialInterval: 200 * time.Millisecond, MaxAttempts: 3}})
	book = activity.New("bookCarrier", func(_ context.Context, p parcel) (string, error) { return "carrier for " + p.To, nil })
	row  = activity.New("importRow", func(_ context.Context, n int) (int, error) { return n, nil })

	errUnknownSKU = activity.NewError("unknownSKU", "there is no such article")
	errGateway    = activity.NewError("gateway", "the payment gateway answered 502 Bad Gateway")
	errMailbox    = activity.NewError("mailboxFull", "ada@example.com: the mailbox is full")
	errQuantity   = workflow.NewError("badQuantity", "the quantity must be between 1 and 99")
)

// purchase is the input of an order. Hold makes it wait in the end; Failures is how often its
// charge fails.
type purchase struct {
	Buyer    string   `json:"buyer"`
	Items    []item   `json:"items"`
	Failures int      `json:"failures"`
	Hold     bool     `json:"hold"`
	Notes    []string `json:"notes,omitempty"`
}

type item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// parcel is the input of a shipment. Legs is how many shipments follow, each a child of the one
// before.
type parcel struct {
	To   string `json:"to"`
	Legs int    `json:"legs"`
	Hold bool   `json:"hold"`
}

// runOrder prices, reserves, charges and ships, and then waits for a payment, an approval, or a
// time.
func runOrder(ctx workflow.Context, in purchase) (string, error) {
	approved, waiting := "", false
	addItem.Handle(ctx, func(_ workflow.Context, it item) (int, error) {
		in.Items = append(in.Items, it)
		return len(in.Items), nil
	}, workflow.Validate(func(it item) error {
		if it.Quantity < 1 || it.Quantity > 99 {
			return errQuantity
		}
		return nil
	}))
	approve.Handle(ctx, func(ctx workflow.Context, by string) (string, error) {
		waiting = true
		if err := workflow.Await(ctx, func() bool { return approved != "" }); err != nil {
			return "", err
		}
		return by + " after " + approved, nil
	})
	total := 0
	for _, it := range in.Items {
		price, err := lookUp.Run(ctx, it.SKU)
		if err != nil {
			return "", err
		}
		total += price * it.Quantity
	}
	workflow.UpsertSearchAttributes(ctx, cents.Set(int64(total)))
	if _, err := reserve.Run(ctx, in.Buyer); err != nil {
		return "", err
	}
	payment := charge.Start(ctx, in.Failures)
	if err := workflow.Sleep(ctx, 400*time.Millisecond); err != nil {
		return "", err
	}
	if _, err := payment.Get(ctx); err != nil {
		return "", err
	}
	if _, err := notify.Run(ctx, in.Buyer); err == nil {
		return "", errors.New("the mailbox took the receipt")
	}
	shipped := shipment.StartChild(ctx, parcel{in.Buyer, 2, in.Hold}, workflow.ChildOptions{WorkflowID: workflow.InfoOf(ctx).WorkflowID + "-shipment"})
	if in.Hold {
		settle := charge.Start(ctx, 1000)
		err := workflow.Select(ctx,
			workflow.OnSignal(paid, func(how string) { approved = how }),
			workflow.OnTimeout(48*time.Hour, func() {}),
			workflow.OnFuture(settle, func(string, error) {}))
		if err != nil {
			return "", err
		}
	}
	if waiting {
		approved = "the end"
	}
	if _, err := shipped.Get(ctx); err != nil {
		return "", err
	}
	return "shipped", workflow.AwaitHandlers(ctx)
}

// runShipment books a carrier and the next leg.
func runShipment(ctx workflow.Context, in parcel) (string, error) {
	carrier, err := book.Run(ctx, in)
	if err != nil {
		return "", err
	}
	if in.Legs > 0 {
		next := shipment.StartChild(ctx, parcel{in.To, in.Legs - 1, in.Hold}, workflow.ChildOptions{WorkflowID: workflow.InfoOf(ctx).WorkflowID + "-leg"})
		if _, err := next.Get(ctx); err != nil {
			return "", err
		}
	}
	if in.Hold {
		if _, err := deliver.Receive(ctx); err != nil {
			return "", err
		}
	}
	return carrier, nil
}

// runImport imports rows, a hundred at once, and then waits for a signal.
func runImport(ctx workflow.Context, rows int) (int, error) {
	done := 0
	status.Handle(ctx, func(workflow.None) (string, error) {
		if done < rows {
			return "importing", nil
		}
		return "waiting for the delivery", nil
	})
	for done < rows {
		var batch []workflow.Future[int]
		for range min(100, rows-done) {
			batch = append(batch, row.Start(ctx, done+len(batch)))
		}
		for _, f := range batch {
			if _, err := f.Get(ctx); err != nil {
				return done, err
			}
			done++
		}
	}
	_, err := deliver.Receive(ctx)
	return done, err
}

// runSubscription panics once it has reserved something.
func runSubscription(ctx workflow.Context, plan string) (string, error) {
	if _, err := reserve.Run(ctx, plan); err != nil {
		return "", err
	}
	prices := pricesOf(plan)
	prices[plan] = renew(plan) // a nil map, as in somebody's code
	return plan, nil
}

// pricesOf has no prices for any plan.
func pricesOf(string) map[string]int { return nil }

func renew(plan string) int { return len(plan) }

// registrations returns the workflows and the activities.
func registrations() []workflow.Registration {
	return []workflow.Registration{
		//weftvet:ignore names callers send signals that nothing receives
		workflow.Bind(order, runOrder, workflow.Names(addItem, approve, paid, cents)), workflow.Bind(shipment, runShipment, workflow.Names(deliver)), workflow.Bind(bulkImport, runImport, workflow.Names(status, deliver, other)), workflow.Bind(subscription, runSubscription),
		lookUp, reserve, charge, notify, book, row,
	}
}

func main() {
	ahead, err := time.ParseDuration(cmp.Or(os.Getenv(aheadBy), "0s"))
	switch {
	case err != nil:
	case ahead == 0:
		weft.Main(weft.Register(registrations()...))
		return
	default:
		err = serveLater(ahead)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
