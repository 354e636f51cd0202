package limits_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// parse reads a command line.
func parse(t *testing.T, args ...string) (engine.Limits, error) {
	t.Helper()
	var program struct {
		settings.Updates
	}
	parser, err := kong.New(&program)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return settings.EngineLimits(program.Updates), err
}

// environment reads variables.
func environment(get func(string) string) (engine.Limits, error) {
	var u settings.Updates
	err := settings.Read(get, &u)
	return settings.EngineLimits(u), err
}

// A flag that is not given is 0, for which a service uses its default. The declaration of a
// setting has the default of the executor.
func TestDefaults(t *testing.T) {
	if got, err := parse(t); err != nil || got != (engine.Limits{}) {
		t.Errorf("%+v, %v; want nothing", got, err)
	}
	defaults := executor.Defaults()
	limit := func(n int) string {
		if n == 0 {
			return "none"
		}
		return strconv.Itoa(n)
	}
	want := map[string]string{
		"UpdatesInFlight": limit(defaults.Engine.Limits.UpdatesInFlight), "UpdateBytesInFlight": limit(defaults.Engine.Limits.UpdateBytesInFlight), "UpdatesInTotal": limit(defaults.Engine.Limits.UpdatesInTotal),
		"Retention": strconv.Itoa(int(defaults.Retention.Hours())) + "h", "RetentionDays": strconv.Itoa(int(defaults.Retention.Hours() / 24)),
		"LongTimer": strconv.Itoa(int(defaults.LongTimer.Minutes())) + "m", "Grace": strconv.Itoa(int(defaults.Grace.Minutes())) + "m", "CheckCommits": strconv.Itoa(defaults.CheckAtOnce),
	}
	for _, s := range append(settings.Of[settings.Server](), settings.Of[settings.Function]()...) {
		if value, ok := want[s.Field]; ok && s.Default != value {
			t.Errorf("the declaration of %s has the default %s, and the executor has %s", s.Field, s.Default, value)
		}
	}
	if got, err := environment(func(string) string { return "" }); err != nil || got != (engine.Limits{}) {
		t.Errorf("an empty environment: %+v, %v", got, err)
	}
}

// Flags and the environment accept the same values, and refuse the same with an error that says
// what to give.
func TestLimits(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "20": 20, "none": -1, "0": 0, "-1": 0, "10MB": 0, "": 0, "9999999999999999999": 0} {
		got, err := parse(t, "--updates-in-flight="+text, "--update-bytes-in-flight="+text, "--updates-in-total="+text)
		check(t, "flags "+text, got, err, want)
		if text != "" {
			got, err = environment(func(string) string { return text })
			check(t, "environment "+text, got, err, want)
		}
	}
}

func check(t *testing.T, what string, got engine.Limits, err error, want int) {
	t.Helper()
	if want == 0 {
		if err == nil || !strings.Contains(err.Error(), "give a number above 0, or none") {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		return
	}
	if all := (engine.Limits{UpdatesInFlight: want, UpdateBytesInFlight: want, UpdatesInTotal: want}); err != nil || got != all {
		t.Errorf("%s: %+v, %v; want %+v", what, got, err, all)
	}
}

// Every error in the environment is reported, with its variable's name.
func TestEnvironmentIsWrong(t *testing.T) {
	_, err := environment(func(name string) string { return name })
	for _, name := range []string{"WEFT_UPDATES_IN_FLIGHT", "WEFT_UPDATE_BYTES_IN_FLIGHT", "WEFT_UPDATES_IN_TOTAL"} {
		if err == nil || !strings.Contains(err.Error(), name+" is") {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"512MiB": 512 << 20, "2GiB": 2 << 30, "1000": 1000, "5B": 5, "1KiB": 1 << 10, "1MB": -1, "-1": -1, "": -1, "9999999TiB": -1} {
		var s limits.Size
		if err := s.UnmarshalText([]byte(text)); (err == nil) != (want >= 0) || err == nil && int64(s) != want {
			t.Errorf("%q: %d, %v", text, s, err)
		}
	}
}
