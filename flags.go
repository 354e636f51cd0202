package weft

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// Flags are the flags and environment variables of a local server, for kong. Main parses them. A
// program with a command line of its own can embed them. docs/settings.md lists them. No flag has a
// default here: a field is empty if it was not given, and Over then leaves the option alone.
type Flags struct{ settings.Server }

// Duration is a time as an operator gives it: 90s, 10m, 48h. The zero Duration was not given.
type Duration = limits.Duration

// BeforeReset adds the defaults to the help of the flags. It removes empty variables of flags from
// the environment: they count as not given, but kong would parse them.
func (f *Flags) BeforeReset(c *kong.Context) error {
	helps := map[string]string{}
	for _, s := range settings.Of[settings.Server]() {
		helps[s.Flag] = s.Help()
	}
	for _, flag := range c.Flags() {
		if help, ok := helps[flag.Name]; ok {
			flag.Help = help
		}
		for _, name := range flag.Envs {
			if os.Getenv(name) == "" {
				if err := os.Unsetenv(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// AfterApply returns an error if --auth and --no-auth are both given, because only the last would
// hold. Either replaces WEFT_AUTH.
func (f *Flags) AfterApply(c *kong.Context) error {
	auth := slices.ContainsFunc(c.Args, func(arg string) bool { return arg == "--auth" || strings.HasPrefix(arg, "--auth=") })
	if auth && slices.Contains(c.Args, "--no-auth") {
		return errors.New("--auth and --no-auth are both given: choose one")
	}
	return nil
}
