// Package client talks to workflows from outside, over Weft's HTTP API: it starts, signals, queries, updates, cancels
// and lists them. Most programs use the typed handles of package workflow, which take a Client:
//
//	c := client.New("http://127.0.0.1:8080")
//	run, err := cart.Workflow.Start(ctx, c, "cart-42", cart.Start{Owner: "ada"})
//	total, err := cart.AddItem.Call(ctx, c, "cart-42", cart.Item{SKU: "tea", Quantity: 2})
//
// Every request carries an id, made here where the caller gives none, and is sent again with it when the answer says
// busy or outcome unknown, or is lost: the engine recognises it. What was acknowledged is durable.
//
// # Errors
//
// A refusal is a *[Problem], and an update that its validator refused is a *[Rejected]: nothing was written. What workflow code returned
// comes back as the error that it was, as far as it travels: errors.Is finds the sentinel errors made by activity.NewError and
// workflow.NewError.
//
// What Weft itself reports has one sentinel for each condition ([ErrNotFound], [ErrAlreadyStarted], ...), which errors.Is finds here, in
// workflow code and in activities. A run that failed of such an error has it in its chain, too: a *Problem in the chain says that it was
// this request that was refused.
package client
