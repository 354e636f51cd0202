// Package determinism is the analyzer of weftvet, for go vet, golangci-lint and programs of your own that run analyzers.
//
// # What is workflow code
//
// A function is workflow code if it takes a workflow.Context or uses one, and so are the function literals in it. Validators, query
// handlers and conditions take none: they are known by where they are given to Weft (Validate, Query.Handle, Await, AwaitFor,
// OnCondition), and have a rule of their own, [Readonly]. A literal that takes a context.Context, or that is given to activity.New, is
// an activity's code, and is not looked at.
//
// # How it looks
//
//	summarize   of each function of each package, dependencies first: what it does that workflow code must not, itself or
//	            through the functions that it mentions. What other packages must know of it is a fact.
//	report      of each function that is workflow code: what it does itself, where it does it; what a function does that is
//	            not workflow code, where it is mentioned, with the way there.
//
// The standard library is not followed: a table says which of its functions do what. Weft's own packages are not followed either.
// Functions of other modules are, for what is plain there (the rules time, random, goroutine and io); that a library locks a mutex or
// fills a cache is its own business.
//
// It sees names and types, and no values. So it does not follow what is called through an interface or a variable that holds
// a function, except a local variable that is set once to a function literal. What each rule misses stands with the rule, in [Rules].
//
// # What it does not report
//
// A comment silences a rule, on its own line and the next, or in the comment of a function for all of it. A reason is demanded, and a
// comment that silences nothing is reported:
//
//	//weftvet:ignore global set once in main, before weft.Main
//	region := Region
package determinism
