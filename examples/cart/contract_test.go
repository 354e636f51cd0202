package cart_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/weftest"
)

// A change of what the program takes and returns shows in review, as a change of contract.json.
func TestContract(t *testing.T) {
	t.Parallel()
	weftest.Contract(t, "contract.json", cart.Registrations()...)
}
