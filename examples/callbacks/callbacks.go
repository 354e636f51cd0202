// Package callbacks shows an activity that continues outside. It requests a payment from a
// provider, passes a token on, and returns. Days later, the provider's webhook ends the activity
// with that token. Look at Ask, which takes the token, and at Paid.
package callbacks

import (
	"context"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is an invoice. Its result is the receipt.
var Workflow = workflow.NewWorkflow[Invoice, Receipt]("callbacks")

// Ask requests a payment. A customer has a week, and is then asked once more.
var Ask = activity.New("callbacks.ask", ask, activity.Options{
	Pending: 7 * 24 * time.Hour,
	Retry:   activity.Retry{MaxAttempts: 2, NonRetryable: []*activity.Error{ErrRefused}},
})

// ErrRefused says that a customer will not pay.
var ErrRefused = activity.NewError("refused", "the customer will not pay")

// Invoice is what is to be paid.
type Invoice struct {
	Number string `json:"number"`
	Cents  int    `json:"cents"`
}

// Receipt is what was paid, and how.
type Receipt struct {
	Cents int    `json:"cents"`
	By    string `json:"by"`
}

// Run waits until the invoice is paid.
func Run(ctx workflow.Context, invoice Invoice) (Receipt, error) { return Ask.Run(ctx, invoice) }

// ask returns at once. The provider has to send the token back. Complete checks at compile time
// that its result has the type of this function's result.
func ask(ctx context.Context, invoice Invoice) (Receipt, error) {
	token, err := activity.Token(ctx)
	if err != nil {
		return Receipt{}, err
	}
	Provider.Open(invoice.Number, token)
	return Receipt{}, activity.ErrPending
}

// Paid is the provider's webhook. It has the token, and does not need to know which workflow waits.
func Paid(ctx context.Context, c *client.Client, token string, receipt Receipt) error {
	return Ask.Complete(ctx, c, token, receipt)
}

// Refused is the webhook for a customer who will not pay.
func Refused(ctx context.Context, c *client.Client, token string) error {
	return Ask.Fail(ctx, c, token, ErrRefused)
}

// Provider simulates the payment provider. It keeps tokens as secret as passwords.
var Provider = &provider{tokens: map[string]string{}}

type provider struct {
	mu     sync.Mutex
	tokens map[string]string // by invoice
}

// Open records an invoice to be paid. If an invoice is opened again, it gets the token of the later
// attempt.
func (p *provider) Open(invoice, token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens[invoice] = token
}

// Token returns the token that the provider has for an invoice, or an empty text.
func (p *provider) Token(invoice string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens[invoice]
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Ask}
}
