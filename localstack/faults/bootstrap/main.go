// Command bootstrap is every Lambda function of the test of faults in one program, as functions/all
// is: WEFT_ROLE says which of them it is.
package main

import (
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/localstack/faults"
)

func main() {
	registrations := examples.All()
	adapter.Main(adapter.FromEnvironment(), append(registrations, faults.Registrations()...)...)
}
