// Shop is the program of every Lambda function of a shop. WEFT_ROLE names the function.
package main

import (
	"github.com/seed-41655fb1/weft/functions/adapter"

	"example.com/shop/orders"
)

func main() {
	adapter.Main(adapter.FromEnvironment(), orders.Registrations()...)
}
