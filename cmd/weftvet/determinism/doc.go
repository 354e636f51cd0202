// Package determinism is the analyzer of weftvet, for go vet, golangci-lint and programs of your
// own that run analyzers.
//
// # What is workflow code
//
// A function is workflow code if it takes a workflow.Context or uses one, and so are the function
// literals in it. Validators, query handlers and conditions take none: the analyzer knows them by
// the function that they are passed to (Validate, Query.Handle, Await, AwaitFor, OnCondition). They
// have a rule of their own, [Readonly]. A literal that takes a context.Context, or that is passed
// to activity.New, is an activity's code, and is not checked.
//
// # How it looks
//
//	summarize   of each function of each package, dependencies first: what it does that workflow
//	            code must not, itself or through the functions that it mentions. What other
//	            packages must know of it is a fact.
//	report      of each function that is workflow code: what it does itself, where it does it;
//	            what a function does that is not workflow code, where it is mentioned, with the
//	            way there.
//
// The rule [Names] follows code from a binding instead. It collects the declarations whose names
// the code handles, through parameters and variables, and compares them with those that the binding
// names.
//
// The standard library is not followed: a table lists its functions by rule. Weft's own packages
// are not followed either. Functions of other modules are followed for the rules time, random,
// goroutine and io. The analyzer does not report that a library locks a mutex or fills a cache.
//
// The analyzer sees names and types, and no values. So it does not follow calls through an
// interface or a variable that holds a function, except a local variable that is set once to a
// function literal. [Rules] says what each rule misses.
//
// # What it does not report
//
// A comment silences a rule, on its own line and the next, or in the comment of a function for the
// whole function. It needs a reason, and the analyzer reports a comment that silences nothing:
//
//	//weftvet:ignore global set once in main, before weft.Main
//	region := Region
package determinism
