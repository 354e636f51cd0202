// Command all is every Lambda function in one program, with the example workflows. WEFT_ROLE
// selects the function. A program of yours looks the same, with your workflows: see package
// adapter.
package main

import (
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
)

func main() {
	adapter.Main(adapter.FromEnvironment(), examples.All()...)
}
