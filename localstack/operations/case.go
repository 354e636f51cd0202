package operations

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/proof/alarms"
)

// Case is a fault of a deployment, with the alarm whose page an operator reads.
type Case struct {
	Name string
	// Alarm and those of Also have to begin before the page's commands run. Those of Allowed may
	// begin as well. The names are without that of the deployment. One of Allowed that ends with a
	// star stands for all that begin like it.
	Alarm         string
	Also, Allowed []string
	// Break causes the fault.
	Break func(context.Context) error
	// Repair does what the page demands and no command can do: correct the code, for example. nil
	// does nothing. The page's commands run afterwards.
	Repair func(context.Context) error
}

// World is a deployment under load.
type World interface {
	// Minute waits for a minute of the alarms, in which callers send updates.
	Minute(context.Context) error
	// States returns the states of all alarms, by their names without that of the deployment.
	States(context.Context) (map[string]alarms.State, error)
	// Doctor returns what weft doctor says of the deployment.
	Doctor(context.Context) (string, error)
	// Run runs commands of a page.
	Run(ctx context.Context, commands string) error
	// Audit returns an error if a run was lost, or an update that was acknowledged.
	Audit(context.Context) error
}

// How many minutes a case takes at most: periods have five.
const (
	period  = 5
	healthy = 3 * period  // so long no alarm may be on before the break
	calm    = 20 * period // so long alarms may take to end before the break
	begin   = 20 * period // so long the alarm may take to begin
	end     = 30 * period // so long all alarms may take to end: an alarm ends when its evaluation range is over
)

// Play plays a case with the page of its alarm. The error says which demand does not hold.
func (c Case) Play(ctx context.Context, w World, page Page) error {
	if page.Alarm != c.Alarm || len(page.Commands) == 0 {
		return fmt.Errorf("docs/operations.md has no commands for the alarm %s", c.Alarm)
	}
	if err := c.before(ctx, w); err != nil {
		return err
	}
	if err := c.Break(ctx); err != nil {
		return fmt.Errorf("the fault: %w", err)
	}
	missing, named := append([]string{c.Alarm}, c.Also...), []string(nil)
	if err := c.until(ctx, w, begin, func(on []string) bool {
		named = on
		missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(on, name) })
		return len(missing) == 0
	}); err != nil {
		return fmt.Errorf("the alarm %s does not begin: %w", strings.Join(missing, ", "), err)
	}
	said, err := w.Doctor(ctx)
	if err != nil {
		return fmt.Errorf("the doctor: %w", err)
	}
	for _, name := range named {
		if !strings.Contains(said, name) {
			return fmt.Errorf("the doctor does not name the alarm %s:\n%s", name, said)
		}
	}
	if c.Repair != nil {
		if err := c.Repair(ctx); err != nil {
			return fmt.Errorf("the repair: %w", err)
		}
	}
	for _, commands := range page.Commands {
		if err := w.Run(ctx, commands); err != nil {
			return fmt.Errorf("the commands of the page: %w\n%s", err, commands)
		}
	}
	if err := c.until(ctx, w, end, func(on []string) bool { return len(on) == 0 }); err != nil {
		return fmt.Errorf("after the steps of the page: %w", err)
	}
	if err := w.Audit(ctx); err != nil {
		return fmt.Errorf("after the steps of the page: %w", err)
	}
	return nil
}

// before waits until no alarm has been on for some periods.
func (c Case) before(ctx context.Context, w World) error {
	quiet := 0
	var last []string
	for range calm {
		on, err := minute(ctx, w)
		if err != nil {
			return err
		}
		if quiet++; len(on) > 0 {
			quiet, last = 0, on
		}
		if quiet == healthy {
			return nil
		}
	}
	return fmt.Errorf("the deployment is not healthy before the fault: %s", strings.Join(last, ", "))
}

// until waits until a condition on the alarms that are on holds. It returns an error if it does not
// hold in time, or if an alarm begins that the case does not allow.
func (c Case) until(ctx context.Context, w World, minutes int, holds func(on []string) bool) error {
	var on []string
	for range minutes {
		var err error
		if on, err = minute(ctx, w); err != nil {
			return err
		}
		for _, name := range on {
			if !c.allows(name) {
				return fmt.Errorf("the alarm %s begins, too", name)
			}
		}
		if holds(on) {
			return nil
		}
	}
	return fmt.Errorf("too late: after %d minutes these alarms are on: [%s]", minutes, strings.Join(on, ", "))
}

// allows reports whether an alarm may be on during the case.
func (c Case) allows(name string) bool {
	return name == c.Alarm || slices.Contains(c.Also, name) || slices.ContainsFunc(c.Allowed, func(pattern string) bool {
		prefix, all := strings.CutSuffix(pattern, "*")
		return name == pattern || all && strings.HasPrefix(name, prefix)
	})
}

// minute waits for a minute and returns the alarms that are on then, sorted.
func minute(ctx context.Context, w World) (on []string, err error) {
	if err := w.Minute(ctx); err != nil {
		return nil, err
	}
	states, err := w.States(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		if states[name] != alarms.OK {
			on = append(on, name)
		}
	}
	return on, nil
}
