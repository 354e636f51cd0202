// Command workflow is the Lambda function that commits the results of activities and fires timers,
// with the example workflows. A program of yours looks the same, with your workflows: see package
// adapter.
package main

import (
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
)

func main() {
	adapter.Main(adapter.Workflow, examples.All()...)
}
