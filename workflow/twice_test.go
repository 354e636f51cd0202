package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/where"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

func here() string { return where.Caller() }

// A handler that is set twice fails the task, and the message names both places.
func TestHandlerSetTwice(t *testing.T) {
	t.Parallel()
	handle := func(workflow.Context, none) (none, error) { return none{}, nil }
	answer := func(none) (none, error) { return none{}, nil }
	var places []string
	for name, set := range map[string]func(workflow.Context){
		`update "call"`: func(ctx workflow.Context) {
			places = append(places, here())
			call.Handle(ctx, handle) // here returns the line before this one
		},
		`query "ask"`: func(ctx workflow.Context) {
			places = append(places, here())
			ask.Handle(ctx, answer) // here returns the line before this one
		},
	} {
		places = nil
		s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
			set(ctx)
			set(ctx)
			return none{}, nil
		}, none{})
		want := regexp.MustCompile(fmt.Sprintf(`the handler of %s is set twice: at workflow/twice_test.go:(\d+) and at workflow/twice_test.go:(\d+)`, name))
		var misuse *failure.OtherError
		if !errors.As(s.Stuck(), &misuse) || misuse.Kind != failure.KindMisuse || !want.MatchString(misuse.Message) {
			t.Errorf("%v, want a misuse that names both places", s.Stuck())
			continue
		}
		for _, line := range want.FindStringSubmatch(misuse.Message)[1:] {
			if got := "workflow/twice_test.go:" + line; after(t, places[0]) != got {
				t.Errorf("%s, want the line after %s", got, places[0])
			}
		}
	}
}

// after returns the place one line after another place.
func after(t *testing.T, place string) string {
	t.Helper()
	file, text, _ := strings.Cut(place, ":")
	var line int
	if _, err := fmt.Sscan(text, &line); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s:%d", file, line+1)
}

func TestRegisteredTwice(t *testing.T) {
	t.Parallel()
	code := func(workflow.Context, none) (none, error) { return none{}, nil }
	typ := workflow.NewWorkflow[none, none]("twin")
	for what, pair := range map[string][2]workflow.Registration{
		`workflow type "twin"`: {
			workflow.Bind(typ, code),
			workflow.Bind(typ, code),
		},
		`activity type "echo"`: {
			echo,
			activity.New("echo", func(_ context.Context, _ none) (none, error) { return none{}, nil }),
		},
	} {
		r := &engine.Registry{}
		if err := bridge.Register(r, pair[0]); err != nil {
			t.Fatal(err)
		}
		err := bridge.Register(r, pair[1])
		want := regexp.MustCompile(regexp.QuoteMeta(what) + ` is registered twice: at (workflow/\w+\.go:\d+) and at (workflow/\w+\.go:\d+)$`)
		if err == nil || !want.MatchString(err.Error()) {
			t.Errorf("%v, want an error that names both places", err)
			continue
		}
		if m := want.FindStringSubmatch(err.Error()); m[1] == m[2] {
			t.Errorf("%v: both places are the same", err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	code := func(workflow.Context, none) (none, error) { return none{}, nil }
	for name, ok := range map[string]bool{
		"cart": true, "cart/of ada": true, "Wägen": true, strings.Repeat("a", 255): true,
		"": false, strings.Repeat("a", 256): false, "a\xff": false,
	} {
		err := bridge.Register(&engine.Registry{}, workflow.Bind(workflow.NewWorkflow[none, none](name), code))
		if ok != (err == nil) || !ok && !strings.Contains(err.Error(), "twice_test.go:") {
			t.Errorf("workflow type %q: %v, want that it is valid: %v", name, err, ok)
		}
	}
	for what, got := range map[string]string{
		"workflow": workflow.NewWorkflow[none, none]("a").Name(), "update": workflow.NewUpdate[none, none]("a").Name(),
		"query": workflow.NewQuery[none, none]("a").Name(), "signal": workflow.NewSignal[none]("a").Name(),
	} {
		if got != "a" {
			t.Errorf("the name of the %s is %q", what, got)
		}
	}
}
