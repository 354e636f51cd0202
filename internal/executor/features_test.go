package executor_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
)

// features are what a deployment can do besides updates: each is a script in testdata/features. The
// first one, which LocalStack plays too, sleeps little: there every minute of sleep takes a sweep's
// reads.
var features = []string{"shown", "outside", "delete", "children", "local", "taskqueues", "rates"}

// TestFeatures plays the scripts. Rewrite them like those of TestUpdateCases.
func TestFeatures(t *testing.T) {
	t.Parallel()
	for _, name := range features {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { play(t, filepath.Join("testdata", "features", name)) })
		})
	}
}
