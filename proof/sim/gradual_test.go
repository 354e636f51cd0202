package sim

import "testing"

// TestRollouts plays gradual deploys: see gradual.go. A failure prints its seed; replay it with
//
//	go test ./proof/sim -run 'TestRollouts$' -seed=N -seeds=1
func TestRollouts(t *testing.T) {
	t.Parallel()
	q := &search{t: t, game: rollouts, demandsFaults: true}
	q.run()
}
