// Package across calls what is in other packages and other modules.
package across

import (
	"example.com/lib"
	"example.com/shop/across/clock"
	"github.com/seed-41655fb1/weft/workflow"
)

func run(ctx workflow.Context, in int) (int, error) {
	_ = clock.Stamp()            // want `workflow code calls clock.Stamp, which calls clock.now, which calls time.Now \(clock.go:\d+\): use workflow.Now`
	_ = clock.Of[int]{}.Stamp()  // want `calls clock.Of.Stamp, which calls time.Now`
	_ = (&clock.Watch{}).Stamp() // want `calls clock.Watch.Stamp, which calls time.Now`
	_ = clock.Default.Stamp()    // want `calls clock.hidden.Stamp, which calls time.Now`
	clock.Checked(ctx)           // reported there

	lib.Now()    // want `workflow code calls lib.Now, which calls time.Now \(lib.go:\d+\)`
	lib.Third()  // want `calls lib.Third, which calls lib.second, which calls lib.Now, which calls time.Now`
	lib.Fourth() // too far down
	lib.Locked() // its own business
	lib.Cached.Add(1)
	return len(lib.Keys(nil)), nil
}
