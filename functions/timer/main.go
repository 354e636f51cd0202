// Command timer is the Lambda function that sends the long timers that have become near, each
// minute. It runs no code of workflows or activities, so that a program of yours can deploy it as
// it is.
package main

import "github.com/seed-41655fb1/weft/functions/adapter"

func main() { adapter.Main(adapter.Timer) }
