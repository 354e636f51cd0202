// Command second is the other code that check/terraform deploys: the examples, as functions/all has
// them, and what runs of the shop that goes before them go on with.
package main

import (
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/localstack/check/parcels"
)

func main() {
	adapter.Main(adapter.FromEnvironment(), append(examples.All(), parcels.Second()...)...)
}
