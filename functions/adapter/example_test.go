package adapter_test

import (
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/weftotel"
	"github.com/seed-41655fb1/weft/workflow"
)

// A program that is deployed as every function, with WEFT_ROLE in the environment of each.
func Example() {
	adapter.Main(adapter.FromEnvironment(), workflow.Bind(cart.Workflow, cart.Run), cart.Reserve, cart.Charge, cart.Ship, cart.Remind)
}

// A program with the rights of activities, and without workflow code: results go to the workflow
// queue.
func Example_activitiesSeparate() {
	adapter.Main(adapter.Activity, cart.Reserve, cart.Charge, cart.Ship, cart.Remind)
}

// A program that exports traces by OTLP, where OTEL_EXPORTER_OTLP_ENDPOINT says to where.
func ExampleSettings() {
	adapter.Settings{Telemetry: weftotel.Open}.Main(adapter.FromEnvironment(), workflow.Bind(cart.Workflow, cart.Run), cart.Reserve, cart.Charge, cart.Ship, cart.Remind)
}
