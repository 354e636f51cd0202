// Command dead is the Lambda function that does what is left to do for messages that were received too often, with the example workflows. A program of
// yours is alike, with your workflows: see package adapter.
package main

import (
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
)

func main() {
	adapter.Main(adapter.Dead, slices.Concat(slices.Collect(maps.Values(examples.Registrations()))...)...)
}
