// Command timer is the Lambda function that each minute sends the long timers that are nearly due.
// It runs no code of workflows or activities, so you can deploy it unchanged.
package main

import "github.com/seed-41655fb1/weft/functions/adapter"

func main() { adapter.Main(adapter.Timer) }
