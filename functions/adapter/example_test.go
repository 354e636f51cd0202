package adapter_test

import (
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/weftotel"
	"github.com/seed-41655fb1/weft/workflow"
)

// One program that is deployed as every function, with WEFT_ROLE in each function's environment.
func Example() {
	adapter.Main(adapter.FromEnvironment(), workflow.Bind(cart.Workflow, cart.Run, cart.Names), cart.Reserve, cart.Charge, cart.Ship, cart.Remind)
}

// A program with the permissions of activities and without workflow code. Its results pass through
// the workflow queue.
func Example_activitiesSeparate() {
	adapter.Main(adapter.Activity, cart.Reserve, cart.Charge, cart.Ship, cart.Remind)
}

// A program that exports traces by OTLP to OTEL_EXPORTER_OTLP_ENDPOINT.
func ExampleSettings() {
	adapter.Settings{Telemetry: weftotel.Open}.Main(adapter.FromEnvironment(), workflow.Bind(cart.Workflow, cart.Run, cart.Names), cart.Reserve, cart.Charge, cart.Ship, cart.Remind)
}
