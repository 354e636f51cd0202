package executor_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
)

// features are what a deployment can do besides updates. Each is a script in testdata/features.
// LocalStack plays the first one, too, so that one sleeps little: on LocalStack a sweep reads in
// every minute of sleep.
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
