// Command activity is the Lambda function that runs activities, with the example activities. A
// program of yours looks the same, with your own: see package adapter.
package main

import (
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
)

func main() {
	adapter.Main(adapter.Activity, examples.All()...)
}
