// Package fanout shows work in parallel. Fifty activities are in flight at once, and the result is
// in order, although they end in any order. Look at Run: each coroutine writes to its own place.
// Nothing needs a lock, because only one coroutine of a workflow runs at a time.
package fanout

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow translates the pages of a book.
var (
	Workflow  = workflow.NewWorkflow[[]string, Book]("fanout")
	Translate = activity.New("fanout.translate", translate)
)

// Book is a translated book.
type Book struct {
	Pages []string `json:"pages"`
	// Order is the order in which the pages were ready.
	Order []int `json:"order"`
}

// Run translates all pages at once.
func Run(ctx workflow.Context, pages []string) (Book, error) {
	book := Book{Pages: make([]string, len(pages))}
	failed := make([]error, len(pages))
	var group workflow.WaitGroup
	for i, page := range pages {
		group.Go(ctx, func(ctx workflow.Context) {
			book.Pages[i], failed[i] = Translate.Run(ctx, page)
			book.Order = append(book.Order, i)
		})
	}
	if err := group.Wait(ctx); err != nil {
		return Book{}, err
	}
	return book, errors.Join(failed...)
}

// translate takes longer for a shorter page, because short pages are hard.
func translate(ctx context.Context, page string) (string, error) {
	select {
	case <-time.After(max(0, 10*time.Second-time.Duration(len(page))*100*time.Millisecond)):
		return strings.ToUpper(page), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Translate}
}
