//go:build aws

package localstack_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/examples/conditions"
	"github.com/seed-41655fb1/weft/examples/fanout"
	"github.com/seed-41655fb1/weft/workflow"
)

// A cart through API Gateway, from its start to its receipt: three activities over the queue.
func TestCart(t *testing.T) {
	t.Parallel()
	ctx, d := deployed(t)
	run, err := cart.Workflow.Start(ctx, d.client, "cart-1", cart.Start{Owner: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cart.AddItem.Call(ctx, d.client, "cart-1", cart.Item{SKU: "tea", Quantity: 100})
	var refused *client.Rejected
	if !errors.As(err, &refused) || !errors.Is(err, cart.ErrQuantity) {
		t.Errorf("an invalid update: %v, want a rejection that is %v", err, cart.ErrQuantity)
	}
	total, err := cart.AddItem.Call(ctx, d.client, "cart-1", cart.Item{SKU: "tea", Quantity: 2})
	if err != nil || total != (cart.Total{Items: 2, Cents: 900}) {
		t.Fatalf("a valid update: %v, %v", total, err)
	}
	contents, err := cart.Contents.Ask(ctx, d.client, "cart-1", workflow.None{})
	if err != nil || contents.Total != total {
		t.Errorf("query: %+v, %v", contents, err)
	}
	receipt, err := cart.Checkout.Call(ctx, d.client, "cart-1", workflow.None{})
	if err != nil || receipt.Cents != 900 || receipt.Parcel == "" {
		t.Fatalf("checkout: %+v, %v", receipt, err)
	}
	if result, err := run.Result(ctx); err != nil || result != receipt {
		t.Errorf("result %+v, %v; want the receipt %+v", result, err, receipt)
	}
}

// Fifty activities at once, whose results arrive together through the workflow queue.
func TestFanOut(t *testing.T) {
	t.Parallel()
	ctx, d := deployed(t)
	var pages, want []string
	for i := range 50 {
		page := fmt.Sprintf("%d %s", i, strings.Repeat("a", 100)) // long pages are translated at once
		pages, want = append(pages, page), append(want, strings.ToUpper(page))
	}
	run, err := fanout.Workflow.Start(ctx, d.client, "book-1", pages)
	if err != nil {
		t.Fatal(err)
	}
	book, err := run.Result(ctx)
	if err != nil || !slices.Equal(book.Pages, want) || len(book.Order) != len(pages) {
		t.Errorf("%+v, %v; want each page once", book, err)
	}
}

// A short timer is a delayed message, which wakes the workflow function.
func TestTimer(t *testing.T) {
	t.Parallel()
	ctx, d := deployed(t)
	begun := time.Now()
	const wait = 2 * time.Second
	run, err := conditions.Workflow.Start(ctx, d.client, "dinner-short", conditions.Plan{Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	dinner, err := run.Result(ctx)
	if err != nil || !dinner.Cold {
		t.Errorf("%+v, %v; want that the timer fired", dinner, err)
	}
	if took := time.Since(begun); took < wait {
		t.Errorf("a timer of %v fired after %v", wait, took)
	}
}

// A long timer waits in the table until the rule, which fires each minute, starts the sweep, which
// moves the timer to the queue.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx, d := deployed(t)
	var run workflow.Run[conditions.Dinner]
	attempt := 0
	// If the sweep runs between the start and the check, there is nothing to see. The next try has
	// a minute.
	until(ctx, t, "a timer waits in the table", func() (bool, error) {
		attempt++
		var err error
		id := fmt.Sprintf("dinner-long-%d", attempt)
		if run, err = conditions.Workflow.Start(ctx, d.client, id, conditions.Plan{Wait: 2 * longTimer}); err != nil {
			return false, err
		}
		return d.timersWait(ctx, t)
	})
	if dinner, err := run.Result(ctx); err != nil || !dinner.Cold {
		t.Errorf("%+v, %v; want that the timer fired", dinner, err)
	}
	until(ctx, t, "no timer is left in the table", func() (bool, error) {
		some, err := d.timersWait(ctx, t)
		return err == nil && !some, err
	})
}

// timersWait reports whether timers that are due within the hour wait in the table: an open cart
// has one that is due in a day. Package dynamo has the form of the keys, whose order is that of the
// moments.
func (d *deployment) timersWait(ctx context.Context, t *testing.T) (bool, error) {
	t.Helper()
	out, err := dynamodb.NewFromConfig(d.server.Config).Scan(ctx, &dynamodb.ScanInput{
		TableName: aws.String(d.table(ctx, t)), ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("begins_with(pk, :timers) AND sk < :soon"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":timers": &types.AttributeValueMemberS{Value: d.stack + "/t/"},
			":soon":   &types.AttributeValueMemberS{Value: fmt.Sprintf("%016x", uint64(time.Now().Add(time.Hour).UnixMicro())^1<<63)},
		},
	})
	if err != nil {
		return false, err
	}
	return out.Count > 0, nil
}
