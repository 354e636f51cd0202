package weft

import (
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// Flags are the flags and environment variables of a local server, for kong. Main parses them. A
// program with a command line of its own can embed them. docs/settings.md lists them. No flag has a
// default here: a field is empty if it was not given, and Over then leaves the option alone.
type Flags struct{ settings.Server }

// Duration is a time as an operator gives it: 90s, 10m, 48h. The zero Duration was not given.
type Duration = limits.Duration

// BeforeReset removes empty variables of flags from the environment: they count as not given, but
// kong would parse them.
func (f *Flags) BeforeReset(c *kong.Context) error {
	for _, flag := range c.Flags() {
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

// Over returns o with each option replaced that was given on the command line or in the
// environment. A number or a size that was given as 0 sets 0. An empty text, list or variable, and
// a duration of 0, count as not given. Of a rate or a task queue only the given parts replace those
// of o.
func (f *Flags) Over(o Options) Options {
	replaceAll(reflect.ValueOf(&o).Elem(), reflect.ValueOf(f.Server))
	given := settings.EngineLimits(f.Updates)
	replace(&o.Limits.UpdatesInFlight, given.UpdatesInFlight)
	replace(&o.Limits.UpdateBytesInFlight, given.UpdateBytesInFlight)
	replace(&o.Limits.UpdatesInTotal, given.UpdatesInTotal)
	o.Isolate = isolate.ReplaceLimits(o.Isolate, f.Isolate, f.IsolateMemory, f.IsolateCPUs)
	if f.Auth != nil {
		o.Auth, o.NoAuth = *f.Auth, !*f.Auth
	}
	o.Compress = settings.Compresses(f.Compression, o.Compress)
	if f.LargePayloads != nil {
		o.SmallPayloads = !*f.LargePayloads
	}
	o.Rate = options.Merge(o.Rate, f.Rate)
	if len(f.TaskQueues) > 0 {
		all := map[string]TaskQueue{}
		maps.Copy(all, o.TaskQueues)
		for name, given := range f.TaskQueues {
			all[name] = options.Merge(all[name], given)
		}
		o.TaskQueues = all
	}
	return o
}

// replace sets an option if a value was given.
func replace[T comparable](option *T, given T) {
	var none T
	if given != none {
		*option = given
	}
}

// replaceAll sets each option in all from the given flag of the same name, if the types match.
func replaceAll(all, flags reflect.Value) {
	for i := range flags.NumField() {
		field, given := flags.Type().Field(i), flags.Field(i)
		if field.Anonymous {
			replaceAll(all, given)
			continue
		}
		option := all.FieldByName(field.Name)
		none := given.IsZero() || given.Kind() == reflect.Slice && given.Len() == 0
		given = reflect.Indirect(given)
		if none || !option.IsValid() || given.Kind() == reflect.Map || given.Kind() == reflect.Struct {
			continue // it was not given, or Over merges it
		}
		if given.CanConvert(option.Type()) {
			option.Set(given.Convert(option.Type()))
		}
	}
}
