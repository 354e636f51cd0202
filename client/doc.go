// Package client calls workflows from outside, over Weft's HTTP API: it starts, signals, queries,
// updates, cancels and lists them. Most programs use the typed handles of package workflow, which
// take a Client:
//
//	c := client.New("http://127.0.0.1:8080")
//	run, err := cart.Workflow.Start(ctx, c, "cart-42", cart.Start{Owner: "ada"})
//	total, err := cart.AddItem.Call(ctx, c, "cart-42", cart.Item{SKU: "tea", Quantity: 2})
//
// Every request has an id, which the client creates if the caller gives none. The client retries a
// request with the same id if the response is lost, or says busy or outcome unknown, and the engine
// recognises it. What was acknowledged is durable.
//
// # Errors
//
// A refusal is a *[Problem], and an update that its validator refused is a *[Rejected]: nothing was
// written. An error of workflow code keeps its text, its type and its details: errors.Is finds the
// sentinel errors that activity.NewError and workflow.NewError return.
//
// What Weft itself reports has one sentinel for each condition ([ErrNotFound], [ErrAlreadyStarted],
// ...), which errors.Is finds here, in workflow code and in activities. If a run failed of such an
// error, its failure has the sentinel in its chain, too. A *Problem in the chain says that this
// request was refused.
package client
