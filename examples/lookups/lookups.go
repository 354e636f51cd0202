// Package lookups shows local activities, which are short functions that do I/O within the
// workflow's own task. Looking up three prices costs neither a message nor a write: the results are
// part of the task's commit. Look at how Run starts them together, and at the options of Rate,
// which an update runs before its acceptance is recorded.
package lookups

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow quotes a basket, and holds the quote until it is taken.
var Workflow = workflow.NewWorkflow[[]string, Quote]("lookups")

// Take takes the quote in a currency. The rate is looked up within the request.
var Take = workflow.NewUpdate[string, Quote]("take")

// Price is the price of an article. It is retried within the task, after 100 ms, 200 ms and so on.
// A wait of more than a second is a timer.
var Price = activity.NewLocal("lookups.price", price, activity.LocalOptions{
	StartToClose: 2 * time.Second,
	Retry:        activity.Retry{NonRetryable: []*activity.Error{ErrUnknownArticle}},
})

// Rate is the price of a euro in a currency. It only looks something up, so it may run for an
// update that is refused in the end. It is speculative, and the update costs one write.
var Rate = activity.NewLocal("lookups.rate", rate, activity.LocalOptions{Speculative: true})

// The reasons why there is no quote.
var (
	ErrUnknownArticle = activity.NewError("unknownArticle", "there is no such article")
	ErrTaken          = workflow.NewError("taken", "the quote has been taken")
)

// Quote is what a basket costs, in cents.
type Quote struct {
	Cents    int    `json:"cents"`
	Currency string `json:"currency"`
}

// Run looks up all prices at once, and waits until the quote is taken.
func Run(ctx workflow.Context, articles []string) (Quote, error) {
	quote, taken, quoted := Quote{Currency: "EUR"}, false, false
	Take.Handle(ctx, func(ctx workflow.Context, currency string) (Quote, error) {
		taken = true
		if err := workflow.Await(ctx, func() bool { return quoted }); err != nil {
			return quote, err
		}
		percent, err := Rate.Run(ctx, currency)
		if err == nil {
			quote = Quote{Cents: quote.Cents * percent / 100, Currency: currency}
		}
		return quote, err
	}, workflow.Validate(func(string) error {
		if taken {
			return ErrTaken
		}
		return nil
	}))
	var prices []workflow.Future[int]
	for _, article := range articles {
		prices = append(prices, Price.Start(ctx, article))
	}
	for _, found := range prices {
		cents, err := found.Get(ctx)
		if err != nil {
			return quote, err
		}
		quote.Cents += cents
	}
	quoted = true
	err := workflow.Await(ctx, func() bool { return taken })
	if err == nil {
		err = workflow.AwaitHandlers(ctx)
	}
	return quote, err
}

func price(_ context.Context, article string) (cents int, err error) {
	switch article {
	case "tea":
		return 450, nil
	case "cake":
		return 320, nil
	}
	return 0, ErrUnknownArticle
}

func rate(_ context.Context, currency string) (percent int, err error) {
	if currency == "CHF" {
		return 94, nil
	}
	return 100, nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Take)), Price, Rate}
}
