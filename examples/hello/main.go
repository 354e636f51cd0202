// Hello is a program of its own, as yours would be: a workflow with an update, an activity, and the whole server in one
// line of main. Run it with `go run .`: it says how to go on.
package main

import (
	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/workflow"
)

func main() {
	weft.Main(weft.Register(workflow.Bind(hello, run), greet))
}
