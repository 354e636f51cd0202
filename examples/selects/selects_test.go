package selects_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/selects"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

func TestSelects(t *testing.T) {
	for name, test := range map[string]struct {
		ride selects.Ride
		say  string
		tip  int
		want []string
	}{
		"the first driver to answer drives": {
			ride: selects.Ride{Ann: 7 * time.Second, Bob: 4 * time.Second, Miles: 2}, say: "left", tip: 3,
			want: []string{"mile 1", "bob hears: left", "mile 2", "3 coins for bob"},
		},
		"nothing is said, nothing is given": {
			ride: selects.Ride{Bob: time.Hour, Miles: 1},
			want: []string{"mile 1", "no tip for ann"},
		},
		"nobody answers": {
			ride: selects.Ride{Ann: 20 * time.Second, Bob: 15 * time.Second},
			want: []string{"nobody answers"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if log, err := ride(t, test.ride, test.say, test.tip); err != nil || !slices.Equal(log, test.want) {
					t.Errorf("%q, %v; want %q", log, err, test.want)
				}
			})
		})
	}
}

// ride takes a ride, says something in its second mile, and gives a tip.
func ride(t *testing.T, in selects.Ride, say string, tip int) ([]string, error) {
	t.Helper()
	ctx, p := t.Context(), testbed.One(t, selects.Registrations()...)
	run, err := selects.Workflow.Start(ctx, p.Client, "ride-1", in)
	if err != nil {
		t.Fatal(err)
	}
	if say != "" {
		time.Sleep(90 * time.Second)
		if err := selects.Say.Send(ctx, p.Client, "ride-1", say); err != nil {
			t.Error(err)
		}
	}
	if tip > 0 {
		if err := selects.Tip.Send(ctx, p.Client, "ride-1", tip); err != nil {
			t.Error(err)
		}
	}
	return run.Result(ctx)
}
