// Command activity is the Lambda function that makes attempts at activities, with the example
// workflows. A program of yours is alike, with your workflows: see package adapter.
package main

import (
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
)

func main() {
	adapter.Main(adapter.Activity, examples.All()...)
}
