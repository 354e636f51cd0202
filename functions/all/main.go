// Command all is every Lambda function in one program, with the example workflows: WEFT_ROLE says
// which of them it is. A program of yours is alike, with your workflows: see package adapter.
package main

import (
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
)

func main() {
	adapter.Main(adapter.FromEnvironment(), examples.All()...)
}
