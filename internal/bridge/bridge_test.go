package bridge_test

import (
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
)

// Registering a zero activity fails with an error that says so.
func TestZeroValue(t *testing.T) {
	t.Parallel()
	var none activity.Activity[int, int]
	if err := bridge.Register(&engine.Registry{}, none); err == nil || !strings.Contains(err.Error(), "zero value") {
		t.Errorf("%v", err)
	}
}

// An activity is registered with its last options, not with those that it was declared with.
func TestLastOptionsAreRegistered(t *testing.T) {
	t.Parallel()
	a := activity.New[int, int]("a", nil, activity.Options{TaskQueue: "first"}).With(activity.Options{TaskQueue: "second"}).On("third")
	types := &engine.Registry{}
	if err := bridge.Register(types, a); err != nil {
		t.Fatal(err)
	}
	if got := types.Activity("a").TaskQueue; got != "third" {
		t.Errorf("it is registered on task queue %q", got)
	}
}
