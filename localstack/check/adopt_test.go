//go:build deploycheck

package check

import "testing"

// leftOpen is an order that is open when everything but the table, the key and the bucket goes. It
// waits to be paid. Its timer is in the table: that of a quarter of an hour or less is a message,
// which goes with its queue, and the slow check would send it again only after a day.
const leftOpen = "left-open"

// TestLeave begins the order, with the deployment that goes.
func TestLeave(t *testing.T) {
	ctx, c := shop(t)
	begin(ctx, t, c, leftOpen, 3600)
	if cents, err := add.Call(ctx, c, leftOpen, line{"tea", 1, 100}); err != nil || cents != 100 {
		t.Fatalf("%d, %v", cents, err)
	}
}

// TestAdopted continues the order, with the deployment that has taken over what was left.
func TestAdopted(t *testing.T) {
	ctx, c := shop(t)
	if cents, err := add.Call(ctx, c, leftOpen, line{"tea", 1, 50}); err != nil || cents != 150 {
		t.Fatalf("an update of an order that was left: %d, %v; want 150", cents, err)
	}
	finish(ctx, t, c, leftOpen, orders.Get(c, leftOpen), 150)
}
