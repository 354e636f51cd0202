// Hello is a program of its own, as yours would be. It has a workflow with an update, an activity,
// and the whole server in one line of main. README.md runs it.
package main

import (
	"fmt"
	"io"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/workflow"
)

func main() {
	weft.Main(weft.Register(workflow.Bind(hello, run, workflow.Names(meet)), greet), weft.Options{Greeting: greeting})
}

// greeting prints what to do next. Without a Greeting, a program prints how to start its first
// workflow.
func greeting(out io.Writer, url string) {
	_, _ = fmt.Fprintf(out, `Weft is at %[1]s. Stop it with Ctrl-C.

Start a workflow. It waits for the update "meet":
  curl -i %[1]s/v1/workflows -d '{"workflowId":"hello-1","type":"hello","input":"Ada"}'
Send the update, and get the result:
  curl -i %[1]s/v1/workflows/hello-1/updates/meet -d '{"updateId":"meet-1","input":"Bob"}'
  curl -i '%[1]s/v1/workflows/hello-1/result?wait=20s'
`, url)
}
