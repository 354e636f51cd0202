// Command dead is the Lambda function that sends messages again that were received too often. It
// runs no code of workflows or activities, so you can deploy it unchanged.
package main

import "github.com/seed-41655fb1/weft/functions/adapter"

func main() { adapter.Main(adapter.Dead) }
