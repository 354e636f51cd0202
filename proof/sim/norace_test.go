//go:build !race

package sim

import (
	"fmt"
	"testing"
)

// defaultSeeds is the number of fixed seeds that `make test` plays. CI also runs `make sim-fixed`,
// which plays a thousand.
const defaultSeeds = 100

// TestSeedsKept plays every seed that has ever failed.
func TestSeedsKept(t *testing.T) {
	t.Parallel()
	for _, k := range keptSeeds(t) {
		t.Run(fmt.Sprint(k.game.test, " ", k.seed), func(t *testing.T) {
			t.Parallel()
			s := &simulation{seed: k.seed, plain: k.plain}
			if k.game.play(s); len(s.wrong) > 0 {
				t.Error(k.game.explain(failing{seed: k.seed, plain: k.plain, number: 1, kind: s.kind, wrong: s.wrong[0]}))
			}
		})
	}
}
